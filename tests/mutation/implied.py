"""Mutants that cannot change anything, each with the reason."""

from __future__ import annotations

IMPLIED: dict[str, str] = {}
"""By description. A mutant listed here that some test notices is a fault, as is one that does not exist."""
