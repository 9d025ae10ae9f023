"""`python -m sdy` is the command `sdy`."""

from __future__ import annotations

import sys

from sdy.tools.start import sdy

if __name__ == "__main__":
    sys.exit(sdy())
