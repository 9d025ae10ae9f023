"""The context for parsing and passes: the loaded dialects, and the diagnostics emitted so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, Severity
from sdy.dialects.ir.op_location import span_of


@dataclass
class SdyContext(Context):
    """A context that collects the warnings and remarks of passes, in order.

    `emitted_keys` identifies the diagnostics that are emitted only once. Contexts for parts of one job share it.
    """

    diagnostics: list[Diagnostic] = field(default_factory=lambda: [])
    emitted_keys: set[str] = field(default_factory=lambda: set())


def load_dialects(ctx: Context) -> None:
    """Load the dialects that the context knows by name only, so that it lists all ops, attributes and types."""
    loaded = {dialect.name for dialect in ctx.loaded_dialects}
    for name in [name for name in ctx.registered_dialect_names if name not in loaded]:
        ctx.load_registered_dialect(name)


def emit(ctx: Context, diagnostic: Diagnostic) -> None:
    """Emit a warning or a remark. (Errors are raised.)"""
    if isinstance(ctx, SdyContext):
        ctx.diagnostics.append(diagnostic)


def remark(ctx: Context, code: str, message: str, op: Operation) -> None:
    """Emit a remark at an op."""
    emit(ctx, Diagnostic(code, message, span_of(op), severity=Severity.REMARK))


def emit_once(ctx: Context, diagnostic: Diagnostic, subject: str = "") -> None:
    """Emit a warning or a remark, unless one with this code and subject was emitted before."""
    if isinstance(ctx, SdyContext) and (key := f"{diagnostic.code} {subject}") not in ctx.emitted_keys:
        ctx.emitted_keys.add(key)
        emit(ctx, diagnostic)
