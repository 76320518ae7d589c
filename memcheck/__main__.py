"""`python -m memcheck`."""

from __future__ import annotations

import sys

from memcheck.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
