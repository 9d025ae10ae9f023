"""The frame of passes that visit the functions of a module one by one. Source: docs/spec/07, 0.2."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity
from sdy.dialects.ir.context import NamedLocations, SdyContext, emit
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.mpmd.dialect.functions import is_distributed, is_entry_point, is_mpmd

Kind = Callable[[FuncOp], bool]


def any_function(_: FuncOp) -> bool:
    """Accept every function."""
    return True


def is_mpmd_entry_point(func: FuncOp) -> bool:
    """Return whether a function is public and has a topology."""
    return is_mpmd(func) and is_entry_point(func)


class Findings:
    """The diagnostics of one run of a pass: it reports all errors at its end, warnings at once."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.errors: list[Diagnostic] = []

    @property
    def locations(self) -> NamedLocations | None:
        """The locations that the text of the program names, if the program comes from text."""
        return self.ctx.locations if isinstance(self.ctx, SdyContext) else None

    def error(self, op: Operation, code: str, message: str, hint: str | None = None) -> None:
        """Note an error at an op. The pass fails."""
        self.errors.append(Diagnostic(code, message, span_of(op), hint))

    def warn(self, op: Operation, code: str, message: str, severity: Severity = Severity.WARNING) -> None:
        """Emit a warning at an op, or an error after which the pass succeeds, as some of Shardy's do."""
        emit(self.ctx, Diagnostic(code, message, span_of(op), severity=severity))

    def report(self, op: Operation, code: str, message: str, *, fails: bool) -> None:
        """Note an error if it makes the pass fail, or else emit a warning."""
        if fails:
            self.error(op, code, message)
        else:
            self.warn(op, code, message)

    def raise_errors(self) -> None:
        """Raise the errors, if there are any."""
        if self.errors:
            raise SdyError(*self.errors)


class FunctionPass(ModulePass):
    """A pass that visits the functions with a body for which `ON` is true, in order, one by one.

    A function is distributed by default: it has a topology, or it runs on one mesh.
    """

    ON: ClassVar[Kind] = is_distributed

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit the functions. Raises: SdyError with the errors of all functions."""
        findings = Findings(ctx)
        for func in functions_of(op).values():
            if not func.is_declaration and type(self).ON(func):
                self.visit(func, findings)
        findings.raise_errors()

    @abstractmethod
    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Change one function, and note what is wrong with it."""
