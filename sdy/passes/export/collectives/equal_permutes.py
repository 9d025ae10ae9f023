"""Share equal permutes: a device sends a value once, although several ops need it.

The convolutions of a layer with several kernels each receive the same rows of the neighboring shards. What is received
is kept until its last use, but only where the peak memory of the block hardly grows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from sdy.cost.memory import PeakFinder, bytes_of_tensor
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, SliceOp
from sdy.passes.export.collectives.free_memory import FreeMemory
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import op_order


def share_equal_permutes(module: ModuleOp) -> list[CollectivePermuteOp]:
    """Replace permutes by equal ones before them in their blocks, and return those that have replaced others."""
    alike = _equal_permutes(module)
    if not alike:
        return []
    peaks = PeakFinder(module, bytes_of_tensor, is_compiled=False)
    memories = {block: FreeMemory(block, peaks) for block, _ in alike}
    return [kept for block, permutes in alike for kept in _share(permutes, memories[block])]


def _equal_permutes(module: ModuleOp) -> list[tuple[Block, list[CollectivePermuteOp]]]:
    """Return groups of equal permutes of one block, each with its block."""
    keys = _ValueKeys()
    groups: defaultdict[tuple[Block, Hashable], list[CollectivePermuteOp]] = defaultdict(list)
    for permute in op_order(module).of(CollectivePermuteOp):
        block = permute.parent
        assert block is not None  # in a function
        groups[block, keys.of(permute.result)].append(permute)
    return [(block, permutes) for (block, _), permutes in groups.items() if len(permutes) > 1]


def _share(permutes: list[CollectivePermuteOp], memory: FreeMemory) -> list[CollectivePermuteOp]:
    """Share permutes of one key, in their order; the first one that memory does not allow replaces those after it."""
    kept, replacing = permutes[0], dict[CollectivePermuteOp, None]()
    for permute in permutes[1:]:
        if memory.keep(kept.result, permute):
            permute.result.replace_all_uses_with(kept.result)
            operand = permute.operand.owner
            erase(permute)
            if isinstance(operand, SliceOp) and operand.result.first_use is None:
                erase(operand)
            replacing[kept] = None
        else:
            kept = permute
    return [*replacing]


class _ValueKeys:
    """Keys of values that are equal if permutes, slices and concatenations make them in the same way."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Hashable] = {}

    def of(self, value: SSAValue) -> Hashable:
        """Return the key of a value."""
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._compute(value)
        return found

    def _compute(self, value: SSAValue) -> Hashable:
        match value.owner:
            case CollectivePermuteOp() as op:
                return op.name, has_channel(op), op.source_target_pairs, self.of(op.operand)
            case SliceOp() as op:
                return op.name, op.start_indices, op.limit_indices, op.strides, self.of(op.operand)
            case ConcatenateOp() as op:
                return op.name, op.dimension, *map(self.of, op.inputs)
            case _:
                return value
