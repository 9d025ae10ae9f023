"""The context that ops are parsed in and passes run in: which dialects there are, and what was remarked meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context

from sdy.diagnostics.diagnostic import Diagnostic


@dataclass
class SdyContext(Context):
    """A context that keeps the warnings and remarks of passes, in the order given, for whoever runs them."""

    diagnostics: list[Diagnostic] = field(default_factory=lambda: [])


def emit(ctx: Context, diagnostic: Diagnostic) -> None:
    """Give a warning or a remark. Errors are raised."""
    if isinstance(ctx, SdyContext):
        ctx.diagnostics.append(diagnostic)
