"""Pad uneven dims, and give windows the sizes of shards, if that makes the local program cheaper.

Copies of the module are partitioned both ways: with padding, and without the axes that do not divide.

Requires and ensures: the same as `sdy-align-windows` and `sdy-pad-uneven-dims`, which it applies or not.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.cost.statistics import Statistics, statistics_of
from sdy.dialects.ir.context import remark
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.module_text import make_context
from sdy.passes.export.uneven.align_windows import AlignWindowsPass, unaligned_windows
from sdy.passes.export.uneven.pad_uneven_dims import PadUnevenDimsPass, padding_plan
from sdy.passes.run import run_passes

_PAD = AlignWindowsPass(), PadUnevenDimsPass()
# If padding sends more bytes: the limit of FLOPs relative to no padding, and the FLOPs that each more byte must save.
# Accelerators compute a few thousand FLOPs in the time in which they send a byte.
MOST_WORK, FLOPS_PER_BYTE = 0.75, 2000


@dataclass(frozen=True)
class PadWhereCheaperPass(ModulePass):
    """Pad uneven dims, and the windows of shards, if devices then send less, or compute much less."""

    name = "sdy-pad-where-cheaper"

    to_shards: tuple[ModulePass, ...]  # the passes from here to the local program

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Compare both programs, if there are uneven dims, or windows that shards cannot compute."""
        has_uneven = padding_plan(op) is not None
        if not has_uneven and not any(unaligned_windows(op)):
            return
        padded, even = (self._statistics(op, passes) for passes in (_PAD, ()))
        if not is_cheaper(padded, even):
            return
        run_passes(ctx, op, _PAD, verify_each=False)
        sent = f"each device sends {padded.bytes_sent:,.0f} bytes instead of {even.bytes_sent:,.0f}"
        held = f"holds {padded.peak_bytes:,} instead of {even.peak_bytes:,}"
        done = "padded uneven dims" if has_uneven else "gave windows the sizes of shards"
        remark(ctx, "SDY-L122", f"{done}: {sent}, and {held}", op)

    def _statistics(self, module: ModuleOp, first: tuple[ModulePass, ...]) -> Statistics:
        local = copy_with_regions(module)
        run_passes(make_context(), local, (*first, *self.to_shards), verify_each=False)
        return statistics_of(local)


def is_cheaper(padded: Statistics, even: Statistics) -> bool:
    """Return whether padding sends less, or the same with no more memory, or computes enough less to be faster."""
    sends_less = (padded.bytes_sent, padded.peak_bytes) <= (even.bytes_sent, even.peak_bytes)
    saved, sent = even.flops - padded.flops, padded.bytes_sent - even.bytes_sent
    return sends_less or (saved > (1 - MOST_WORK) * even.flops and saved >= FLOPS_PER_BYTE * sent)
