"""Matches the values of the user's program with the values of the program after import, propagation or partitioning.

The passes in between copy constants, inline functions into their calls and add data-flow edges. Ops are matched by
their location in the text, which passes preserve.
"""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.ops import ConstantOp, DataFlowEdgeOp
from sdy.dialects.sdy.regions import NamedComputationOp

_Location = tuple[str, int, int]  # file, line, column


class Counterparts:
    """Maps the values of the module `written` by the user to those of a `transformed` module, and back."""

    def __init__(self, written: ModuleOp, transformed: ModuleOp) -> None:
        self._functions = functions_of(written)
        self._ops = {location: op for op in pre_order(written) if (location := _location(op)) is not None}
        self._written: dict[SSAValue, SSAValue] = {}
        self._transformed: dict[SSAValue, list[SSAValue]] = {}
        for op in pre_order(transformed):
            self._match(op)

    def written(self, value: SSAValue) -> SSAValue | None:
        """Return the corresponding value of the user's program; for a data-flow edge, that of the edge owner."""
        # Op classes have no subclasses, and `isinstance` is slow for them.
        while type(owner := value.owner) is DataFlowEdgeOp:
            value = owner.input
        return self._written.get(value)

    def transformed(self, value: SSAValue) -> list[SSAValue]:
        """Return the values that correspond to a value of the user's program: none, one, or several copies."""
        return self._transformed.get(value, [])

    def _match(self, op: Operation) -> None:
        location = _location(op)
        original = None if location is None else self._ops.get(location)
        if original is not None and _corresponds(op, original):
            for result, original_result in zip(op.results, original.results, strict=False):
                self._enter(original_result, result)
        arguments_of = original
        if type(op) is NamedComputationOp and type(original) is CallOp:
            arguments_of = self._functions.get(op.computation_name.data)
        if arguments_of is not None:
            for region, original_region in zip(op.regions, arguments_of.regions, strict=False):
                for block, original_block in zip(region.blocks, original_region.blocks, strict=False):
                    for argument, original_argument in zip(block.args, original_block.args, strict=False):
                        self._enter(original_argument, argument)

    def _enter(self, written: SSAValue, transformed: SSAValue) -> None:
        self._written[transformed] = written
        self._transformed.setdefault(written, []).append(transformed)


def _corresponds(op: Operation, original: Operation) -> bool:
    """Return whether `op` was made from `original`, and is not an op that a pass inserted with the same location."""
    if type(op) in (ConstantOp, NamedComputationOp):
        return op.result_types == original.result_types
    return type(op) is type(original)


def _location(op: Operation) -> _Location | None:
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    return location.filename.data, location.line.data, location.column.data
