"""Generates docs/reference/passes.md and docs/reference/ops.md from the code."""

from __future__ import annotations

import sys
from pathlib import Path

from sdy.report.reference.ops import ops_page
from sdy.report.reference.passes import passes_page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGES = {"passes.md": passes_page, "ops.md": ops_page}


def main() -> int:
    """Write both pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
