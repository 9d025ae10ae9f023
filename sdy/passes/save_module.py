"""Write a module to a file between passes. Source: docs/spec/04, 3.2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, Severity
from sdy.dialects.ir.context import emit
from sdy.dialects.module_text import print_module


def save_module(ctx: Context, module: ModuleOp, directory: str, name: str, index: int = 0) -> None:
    """Write the module to `<directory>/<index>.<name>.mlir`. Emit a warning if that fails."""
    file = Path(directory) / f"{index:02}.{name}.mlir"
    try:
        file.write_text(print_module(module) + "\n", encoding="utf-8")
    except OSError as error:
        message = f"cannot write {file}: {error.strerror}"
        emit(ctx, Diagnostic("SDY-T001", message, severity=Severity.WARNING))


@dataclass(frozen=True)
class SaveModulePass(ModulePass):
    """Write the module to a file at a stage of a pipeline. Command lines use `--dump-dir` instead."""

    name = "sdy-save-module"

    directory: str
    file_name: str
    index: int

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Leave the module as it is."""
        save_module(ctx, op, self.directory, self.file_name, self.index)
