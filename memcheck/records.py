"""The standard library's data classes."""

from dataclasses import dataclass, field, replace

__all__ = ["dataclass", "field", "replace"]
