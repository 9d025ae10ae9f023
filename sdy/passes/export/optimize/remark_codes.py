"""The codes of the remarks of the communication optimizer."""

from __future__ import annotations

REWRITE = "SDY-L120"  # an op has other shardings than propagation chose
SAVINGS = (REWRITE, "SDY-L121", "SDY-L122", "SDY-L126")
