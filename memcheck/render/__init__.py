"""Reports as text: a page for a person, a line in a list, JSON, herd's log."""
