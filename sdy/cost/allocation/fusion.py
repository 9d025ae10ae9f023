"""The values that a compiler does not store, because it computes them where they are read.

XLA fuses an elementwise op, a broadcast, a slice and the like into the ops that read its result, if all of these can
take it in. It repeats cheap arithmetic in several kernels, but computes an expensive function once. A reshape gives
the memory of its operand another shape, and a contraction reads a transposed operand as it is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation

from sdy.cost.tensor_bytes import tensor_bytes
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.shape import (
    BroadcastInDimOp,
    BroadcastOp,
    ConstantOp,
    IotaOp,
    ReshapeOp,
    ReverseOp,
    TransposeOp,
)
from sdy.dialects.stablehlo.slicing import ConcatenateOp, DynamicSliceOp, DynamicUpdateSliceOp, PadOp, SliceOp

_FUSIBLE = frozenset(
    (
        *elementwise.OPS,
        BroadcastInDimOp,
        BroadcastOp,
        ConstantOp,
        DynamicSliceOp,
        GatherOp,
        IotaOp,
        PadOp,
        ReverseOp,
        SliceOp,
        TransposeOp,
    )
)
_KERNELS = _FUSIBLE | {ReduceOp, ConcatenateOp, DynamicUpdateSliceOp}  # ops that other ops are fused into
_CONTRACTIONS = frozenset((DotGeneralOp, DotOp))
# As XLA's `InstructionFusion::IsExpensive`: a second computation would cost more than memory accesses.
_EXPENSIVE = frozenset(
    (
        elementwise.Atan2Op,
        elementwise.CbrtOp,
        elementwise.CosineOp,
        elementwise.ExponentialMinusOneOp,
        elementwise.ExponentialOp,
        elementwise.LogOp,
        elementwise.LogPlusOneOp,
        elementwise.LogisticOp,
        elementwise.PowerOp,
        elementwise.RsqrtOp,
        elementwise.SineOp,
        elementwise.SqrtOp,
        elementwise.TanOp,
        elementwise.TanhOp,
    )
)
_VIEWS = frozenset((BroadcastInDimOp, BroadcastOp, ReshapeOp))  # if they repeat nothing
# The results of these ops may be stored in the memory of an operand.
IN_PLACE = frozenset((*elementwise.OPS, DynamicUpdateSliceOp, ScatterOp))


class Fusion:
    """Finds the ops whose results are not stored, block by block when first requested."""

    def __init__(self) -> None:
        self._of_blocks: dict[Block, frozenset[Operation]] = {}

    def is_fused(self, op: Operation) -> bool:
        """Return whether the results of an op are never stored: ops that read them read the operands instead."""
        block = op.parent
        if block is None:
            return False
        found = self._of_blocks.get(block)
        if found is None:
            found = self._of_blocks[block] = _fused_ops(block)
        return op in found


def _fused_ops(block: Block) -> frozenset[Operation]:
    kernels = _Kernels()
    for op in reversed(list(block.ops)):
        kernels.add(op)
    return frozenset(kernels.fused)


@dataclass(slots=True)
class _Kernels:
    """The kernel that computes each op of a block. Ops are added after their readers."""

    fused: set[Operation] = field(default_factory=set[Operation])
    _takes_in: set[Operation] = field(default_factory=set[Operation])  # the ops that others are fused into
    _kernel: dict[Operation, Operation | None] = field(default_factory=dict[Operation, Operation | None])

    def add(self, op: Operation) -> None:
        """Find out whether an op is fused, and whether others are fused into it."""
        kind = type(op)
        is_view = kind in _VIEWS and _is_view(op)
        if kind not in _KERNELS and not is_view:
            self._kernel[op] = op
            return
        readers = {use.operation for result in op.results for use in result.uses}
        is_taken_in = all(reader in self._takes_in for reader in readers)
        kernels = {self._kernel.get(reader) for reader in readers}
        kernel = kernels.pop() if len(kernels) == 1 else None
        if is_view:
            is_fused, takes_in = True, is_taken_in and bool(readers)
        elif kind is TransposeOp and any(type(reader) in _CONTRACTIONS for reader in readers):
            is_fused = all(reader in self._takes_in or type(reader) in _CONTRACTIONS for reader in readers)
            takes_in = not is_fused
        else:
            is_once = kind not in _EXPENSIVE or kernel is not None
            is_fused, takes_in = kind in _FUSIBLE and is_taken_in and is_once and bool(readers), True
        self._kernel[op] = kernel if is_fused else op
        if is_fused:
            self.fused.add(op)
        if takes_in:
            self._takes_in.add(op)


def _is_view(op: Operation) -> bool:
    """Return whether an op of `_VIEWS` repeats no element, so that the result has the memory of the operand."""
    if isinstance(op, (BroadcastInDimOp, BroadcastOp)):
        return tensor_bytes(op.operand.type) == tensor_bytes(op.result.type)
    return True
