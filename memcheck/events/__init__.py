"""A test's event structures: its events, their values and their static relations, before any ordering is chosen."""
