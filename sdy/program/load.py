"""`sdy.load`: reads a program from a file."""

from __future__ import annotations

from pathlib import Path

from sdy.compile.source_text import source_text
from sdy.diagnostics.user_code import require_type
from sdy.interpreter.arrays.element_types import Array
from sdy.program.program import Program


def load(path: str | Path) -> Program[list[Array]]:
    """Read a program from a file of MLIR text, or of another format that `sdy.compile.source_text` converts.

    Raises: OSError if it cannot be read, SdyError with the first error in its text.
    """
    require_type(path, (str, Path), "sdy.load: path")
    return Program.from_text(source_text(Path(path).read_bytes(), str(path)), str(path))
