"""Writing a module to a file between passes. Source: spec of import and export, section 3.2."""

from __future__ import annotations

from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic, Severity
from sdy.dialects.context import emit
from sdy.dialects.module_text import print_module


def save_module(ctx: Context, module: ModuleOp, directory: str, name: str, index: int = 0) -> None:
    """Write the module to `<directory>/<index>.<name>.mlir`. Where that fails, a warning is given."""
    file = Path(directory) / f"{index:02}.{name}.mlir"
    try:
        file.write_text(print_module(module) + "\n", encoding="utf-8")
    except OSError as error:
        message = f"cannot write {file}: {error.strerror}"
        emit(ctx, Diagnostic("SDY-T001", message, severity=Severity.WARNING))
