"""Generates the pages of docs/reference from the code."""

from __future__ import annotations

import sys
from pathlib import Path

from sdy.report.reference.ops import ops_page
from sdy.report.reference.passes import passes_page
from sdy.tools.reference.command_line_page import command_line_page
from sdy.tools.reference.diagnostics_page import diagnostics_page
from sdy.tools.reference.json_page import json_page, schema_text
from sdy.tools.reference.rules_page import rules_page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGES = {
    "passes.md": passes_page,
    "ops.md": ops_page,
    "command-line.md": command_line_page,
    "diagnostics.md": diagnostics_page,
    "rules.md": rules_page,
    "json.md": json_page,
    "schema.json": schema_text,
}


def main() -> int:
    """Write all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
