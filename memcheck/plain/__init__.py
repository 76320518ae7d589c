"""A plain encoding of executions for z3: every choice a variable, every relation a matrix, nothing clever.

It is a second opinion on the fast engine, and the baseline of the benchmark.
"""

from memcheck.plain.solve import solve

__all__ = ["solve"]
