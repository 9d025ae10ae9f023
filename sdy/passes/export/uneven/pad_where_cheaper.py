"""Pad dims that do not divide where the program of one device gets cheaper by it, and never otherwise.

The module is partitioned both ways, on copies: once padded, and once with uneven dims cut no further than they divide.

Requires and ensures: as `sdy-pad-uneven-dims`, which is what it does if it does anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.cost.statistics import Statistics, statistics_of
from sdy.dialects.ir.context import remark
from sdy.dialects.module_text import make_context
from sdy.passes.export.uneven.pad_uneven_dims import PadUnevenDimsPass, padding_plan
from sdy.passes.run import run_passes

MOST_WORK = 0.75  # of the products without padding, where more bytes are sent


@dataclass(frozen=True)
class PadWhereCheaperPass(ModulePass):
    """Pad uneven dims, if devices send less then, or have much less to compute."""

    name = "sdy-pad-where-cheaper"

    to_shards: tuple[ModulePass, ...]  # from where this pass stands to the program of one device

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Compare, where there is anything to pad."""
        if padding_plan(op) is None:
            return
        padded, even = (self._statistics(op, passes) for passes in ((PadUnevenDimsPass(),), ()))
        if not is_cheaper(padded, even):
            return
        PadUnevenDimsPass().apply(ctx, op)
        sent = f"each device sends {padded.bytes_sent:,.0f} bytes instead of {even.bytes_sent:,.0f}"
        held = f"holds {padded.peak_bytes:,} instead of {even.peak_bytes:,}"
        message = f"dims that do not divide are padded: {sent}, and {held}"
        remark(ctx, "SDY-L122", message, op)

    def _statistics(self, module: ModuleOp, first: tuple[ModulePass, ...]) -> Statistics:
        local = module.clone()
        run_passes(make_context(), local, (*first, *self.to_shards), verify_each=False)
        return statistics_of(local)


def is_cheaper(padded: Statistics, even: Statistics) -> bool:
    """Whether devices send less, or as much while they hold no more; or have much less to compute."""
    sends_less = (padded.bytes_sent, padded.peak_bytes) <= (even.bytes_sent, even.peak_bytes)
    return sends_less or padded.flops < MOST_WORK * even.flops
