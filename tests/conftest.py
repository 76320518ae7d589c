"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

os.environ["MEMCHECK_RAISE"] = "1"  # an internal error is a failing test, not a line of text

# speed is the benchmark's business: a loaded machine fails no test
settings.register_profile("memcheck", deadline=None)
settings.load_profile("memcheck")

pytest_plugins = ["pytester"]
