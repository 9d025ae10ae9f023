"""The context that ops are parsed in and passes run in: which dialects there are, and what was remarked meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, Severity
from sdy.dialects.ir.op_location import span_of


@dataclass
class SdyContext(Context):
    """A context that keeps the warnings and remarks of passes, in the order given, for whoever runs them.

    `emitted_keys` are the codes of those that are given once. Contexts for the parts of one job share it.
    """

    diagnostics: list[Diagnostic] = field(default_factory=lambda: [])
    emitted_keys: set[str] = field(default_factory=lambda: set())


def emit(ctx: Context, diagnostic: Diagnostic) -> None:
    """Give a warning or a remark. Errors are raised."""
    if isinstance(ctx, SdyContext):
        ctx.diagnostics.append(diagnostic)


def remark(ctx: Context, code: str, message: str, op: Operation) -> None:
    """Remark on an op."""
    emit(ctx, Diagnostic(code, message, span_of(op), severity=Severity.REMARK))


def emit_once(ctx: Context, diagnostic: Diagnostic, what: str = "") -> None:
    """Give a warning or a remark, unless one of its code was given before about `what`."""
    if isinstance(ctx, SdyContext) and (key := f"{diagnostic.code} {what}") not in ctx.emitted_keys:
        ctx.emitted_keys.add(key)
        emit(ctx, diagnostic)
