"""What all tests share."""

from __future__ import annotations

import os

os.environ["MEMCHECK_RAISE"] = "1"  # an internal error is a failing test, not a line of text

pytest_plugins = ["pytester"]
