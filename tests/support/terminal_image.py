"""Draw what the first command of the README prints as the image docs/images/verify.svg.

usage: python -m support.terminal_image
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "docs" / "images" / "verify.svg"
WORDS = ("verify", "sdy/examples/mlp_dp4_tp2.mlir")
COLUMNS = 100


def printed() -> str:
    """Return what the command prints, with colours."""
    command = [sys.executable, "-m", "sdy.tools.main", *WORDS, "--color=always"]
    variables = os.environ | {"COLUMNS": str(COLUMNS)}
    return subprocess.run(command, cwd=ROOT, env=variables, check=True, capture_output=True, text=True).stdout


def drawn(text: str) -> str:
    """Return an SVG image of a terminal with some text, which may have colours."""
    console = Console(file=StringIO(), record=True, width=COLUMNS, force_terminal=True)
    console.print(Text.from_ansi(text), soft_wrap=True)
    return console.export_svg(title=f"sdy {' '.join(WORDS)}")


def lines_of(image: str) -> list[str]:
    """Return the lines of text in such an image, without blanks at their ends."""
    rows: dict[float, str] = {}
    for row, part in re.findall(r'<text [^>]* y="([\d.]+)"[^>]*clip-path[^>]*>([^<]*)</text>', image):
        rows[float(row)] = rows.get(float(row), "") + unescape(part).replace("\N{NO-BREAK SPACE}", " ")
    return [line.rstrip() for _, line in sorted(rows.items()) if line.strip()]


if __name__ == "__main__":
    IMAGE.write_text(drawn(printed()))
