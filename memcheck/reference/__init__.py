"""Brute force: all executions of a test, enumerated from the words of PTX ISA chapter 8 over plain sets of pairs."""
