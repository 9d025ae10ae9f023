"""The context for parsing and passes: the loaded dialects, and the diagnostics emitted so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import BlockArgument, Operation

from sdy.diagnostics.diagnostic import Diagnostic, Severity
from sdy.dialects.ir.op_location import span_of

OpLookup = Callable[[str], "type[Operation] | None"]


class NamedLocations(Protocol):
    """The locations that a text names for its ops and arguments: `loc("params['w']")`."""

    def of_op(self, op: Operation) -> LocationAttr:
        """Return the location of an op."""
        ...

    def of_argument(self, argument: BlockArgument) -> LocationAttr:
        """Return the location of a block argument."""
        ...


class SdyContext(Context):
    """A context that collects the warnings and remarks of passes, in order.

    `emitted_keys` identifies the diagnostics that are emitted only once. Contexts for parts of one job share it.
    `find_op` returns ops by name whose dialect is registered, but perhaps not loaded as a whole. `locations` are those
    that the text of the program names, for messages of passes.
    """

    def __init__(self, allow_unregistered: bool = False, find_op: OpLookup | None = None) -> None:
        super().__init__(allow_unregistered)
        self.diagnostics: list[Diagnostic] = []
        self.emitted_keys: set[str] = set()
        self.locations: NamedLocations | None = None
        self._find_op = find_op

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        found = None if self._find_op is None else self._find_op(name)
        return found or super().get_optional_op(name, dialect_stack=dialect_stack)


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
