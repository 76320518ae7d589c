"""Litmus text to Test and back."""
