"""`python -m sdy` is the command `sdy`."""

from __future__ import annotations

import sys

from sdy.tools.main import main

if __name__ == "__main__":
    sys.exit(main())
