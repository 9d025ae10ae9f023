"""Generates the reference pages from the code, which the site shows, and the JSON Schema of the documents.

usage: python -m sdy.tools.make_reference [FOLDER]     default: build/reference, and docs/reference/schema.json
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from sdy.report.reference.ops import ops_page
from sdy.report.reference.passes import passes_page
from sdy.tools.reference.command_line_page import command_line_page
from sdy.tools.reference.diagnostics_page import diagnostics_page
from sdy.tools.reference.json_page import json_page, schema_text
from sdy.tools.reference.rules_page import rules_page

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs" / "reference" / "schema.json"  # in the repository, since it is a promise to users
PAGES = {
    "passes.md": passes_page,
    "ops.md": ops_page,
    "command-line.md": command_line_page,
    "diagnostics.md": diagnostics_page,
    "rules.md": rules_page,
    "json.md": json_page,
}


def main(arguments: Sequence[str]) -> int:
    """Write all pages, and the schema."""
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
