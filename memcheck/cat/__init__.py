"""The cat language, in which models are written: text to `Model`."""

from memcheck.cat.elaborate import parse_model
from memcheck.cat.options import OPTIONS

__all__ = ["OPTIONS", "parse_model"]
