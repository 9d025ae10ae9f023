"""Which values of the program that the user wrote are which of the program that propagation saw.

In between constants were copied, functions became regions of their calls, and data-flow edges were added. What is left
of a value stands at its place in the text.
"""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.ops import ConstantOp, DataFlowEdgeOp
from sdy.dialects.sdy.regions import NamedComputationOp

_Place = tuple[str, int, int]


class Counterparts:
    """Both ways between the values of `written` and those of `seen`."""

    def __init__(self, written: ModuleOp, seen: ModuleOp) -> None:
        self._functions = functions_of(written)
        self._ops = {place: op for op in pre_order(written) if (place := _place(op)) is not None}
        self._written: dict[SSAValue, SSAValue] = {}
        self._seen: dict[SSAValue, list[SSAValue]] = {}
        for op in pre_order(seen):
            self._match(op)

    def written(self, value: SSAValue) -> SSAValue | None:
        """The value in the user's program; that of a data-flow edge is the value which owns the edge."""
        while isinstance(value.owner, DataFlowEdgeOp):
            value = value.owner.input
        return self._written.get(value)

    def seen(self, value: SSAValue) -> list[SSAValue]:
        """What propagation saw in the place of a value of the user's program: nothing, one value, or several copies."""
        return self._seen.get(value, [])

    def _match(self, op: Operation) -> None:
        place = _place(op)
        original = None if place is None else self._ops.get(place)
        if original is not None and _stands_for(op, original):
            for result, own in zip(op.results, original.results, strict=False):
                self._enter(own, result)
        arguments_of = original
        if isinstance(op, NamedComputationOp) and isinstance(original, CallOp):
            arguments_of = self._functions.get(op.computation_name.data)
        if arguments_of is not None:
            for region, own_region in zip(op.regions, arguments_of.regions, strict=False):
                for block, own_block in zip(region.blocks, own_region.blocks, strict=False):
                    for argument, own in zip(block.args, own_block.args, strict=False):
                        self._enter(own, argument)

    def _enter(self, written: SSAValue, seen: SSAValue) -> None:
        self._written[seen] = written
        self._seen.setdefault(written, []).append(seen)


def _stands_for(op: Operation, original: Operation) -> bool:
    """Whether `op` is what has become of `original`, and not something inserted on its behalf."""
    if isinstance(op, ConstantOp | NamedComputationOp):
        return op.result_types == original.result_types
    return type(op) is type(original)


def _place(op: Operation) -> _Place | None:
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    return location.filename.data, location.line.data, location.column.data
