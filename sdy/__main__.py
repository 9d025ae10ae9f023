"""`python -m sdy` is the command `sdy`."""

from __future__ import annotations

from sdy.tools.start import sdy

if __name__ == "__main__":
    sdy()
