"""Mutants of a model and what it takes to notice them."""
