"""Matches the values of the user's program with the values of the program after import, propagation or partitioning.

The passes in between copy constants, inline functions into their calls and add data-flow edges. Ops are matched by
their location in the text, which passes preserve.
"""

from __future__ import annotations

from functools import cached_property

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.ops import ConstantOp, DataFlowEdgeOp
from sdy.dialects.sdy.regions import NamedComputationOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ReshapeOp

_Location = tuple[str, int, int]  # file, line, column


class Counterparts:
    """Maps the values of the module `written` by the user to those of a `transformed` module, and back.

    Values are matched when first requested, so neither module may change.
    """

    def __init__(self, written: ModuleOp, transformed: ModuleOp) -> None:
        self._functions = functions_of(written)
        self._ops = {location: op for op in pre_order(written) if (location := _location(op)) is not None}
        self._module = transformed
        self._written: dict[SSAValue, SSAValue | None] = {}

    def written(self, value: SSAValue) -> SSAValue | None:
        """Return the corresponding value of the user's program; for a data-flow edge, that of the edge owner."""
        # Op classes have no subclasses, and `isinstance` is slow for them.
        while type(owner := value.owner) is DataFlowEdgeOp:
            value = owner.input
        if value not in self._written:
            self._match(owner if isinstance(owner, Operation) else owner.parent_op())
        return self._written.setdefault(value, None)

    def transformed(self, value: SSAValue) -> list[SSAValue]:
        """Return the values that correspond to a value of the user's program: none, one, or several copies."""
        return self._transformed.get(value, [])

    @cached_property
    def _transformed(self) -> dict[SSAValue, list[SSAValue]]:
        found: dict[SSAValue, list[SSAValue]] = {}
        for op in pre_order(self._module):
            for original, value in self._match(op):
                found.setdefault(original, []).append(value)
        return found

    def _match(self, op: Operation | None) -> list[tuple[SSAValue, SSAValue]]:
        """Enter the results of an op and the arguments of its regions; return the pairs of written and other values."""
        location = None if op is None else _location(op)
        original = None if location is None else self._ops.get(location)
        if op is None or original is None:
            return []
        pairs: list[tuple[SSAValue, SSAValue]] = []
        if _corresponds(op, original):
            pairs += zip(original.results, op.results, strict=False)
        arguments_of: Operation | None = original
        if type(op) is NamedComputationOp and type(original) is CallOp:
            arguments_of = self._functions.get(op.computation_name.data)
        if arguments_of is not None and op.regions:
            for region, original_region in zip(op.regions, arguments_of.regions, strict=False):
                for block, original_block in zip(region.blocks, original_region.blocks, strict=False):
                    pairs += zip(original_block.args, block.args, strict=False)
        self._written.update((value, original) for original, value in pairs)
        return pairs


def _corresponds(op: Operation, original: Operation) -> bool:
    """Return whether `op` was made from `original`, and is not an op that a pass inserted with the same location."""
    if type(op) in (ConstantOp, NamedComputationOp) or (type(op), type(original)) == (ReshapeOp, BroadcastInDimOp):
        return op.result_types == original.result_types  # `sdy-reshape-broadcasts` makes reshapes of broadcasts
    return type(op) is type(original)


def _location(op: Operation) -> _Location | None:
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    return location.filename.data, location.line.data, location.column.data
