"""The values that are in the memory of the host: what a program offloads, until it moves it back.

A custom call places its result (`annotate_device_placement`), and an argument may be declared there. From then on,
reshapes, slices, barriers, calls and loops keep a value where it is. If a loop fills a stack with elements on the host,
the stack is there too. Source: docs/spec/08, 4.2; XLA's `HostOffloader`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from sdy.dialects.data_flow import owner_of_target, sources_of
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.func_attrs import attribute_of
from sdy.dialects.ir.symbols import calls_by_callee, functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.calls import CustomCallOp, moves_to_other_memory
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ReshapeOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp, DynamicUpdateSliceOp

HOST = "pinned_host"
MEMORY_KIND = "mhlo.memory_kind"
ON_HOST = StringAttr(HOST)
_TRANSPARENT_CALLS = ("Sharding", "SPMDShardToFullShape", "SPMDFullToShardShape")
_MOVES = {"MoveToHost": HOST, "MoveToDevice": "device"}
Calls = tuple[CallOp, ...]


class HostMemory:
    """The values of a module that are in the memory of the host. Each is asked for once."""

    def __init__(self, module: ModuleOp) -> None:
        self._functions = functions_of(module)
        is_declared = any(HOST in _kinds_of_arguments(func) for func in self._functions.values())
        self.is_used = is_declared or any(map(moves_to_other_memory, pre_order(module)))
        self._calls = calls_by_callee(module) if self.is_used else {}
        self._known: dict[tuple[SSAValue, Calls], bool] = {}

    def holds(self, value: SSAValue, calls: Calls = ()) -> bool:
        """Return whether a value is on the host; in a function, during `calls`, or during any call if none is given."""
        if not self.is_used:
            return False
        key = value, calls
        if key not in self._known:
            self._known[key] = False  # what a loop passes on unchanged is where it was before
            placed = _is_placed(value)
            sources = self._sources(value, calls) if placed is None else ()
            self._known[key] = bool(placed) or any(self.holds(*source) for source in sources)
        return self._known[key]

    def is_stack(self, value: SSAValue) -> bool:
        """Return whether a value is the memory in which loops begin to store what they offload."""
        if not self.is_used:
            return False
        uses = list(value.uses)
        return bool(uses) and all(
            isinstance(use.operation, WhileOp) and self.holds(use.operation.results[use.index]) for use in uses
        )

    def _sources(self, value: SSAValue, calls: Calls) -> list[tuple[SSAValue, Calls]]:
        """Return the values in whose memory a value is, if any of them is on the host."""
        owner = owner_of_target(value)  # of loops, conditionals and barriers
        if owner is not None:
            return [(source.value, calls) for source in sources_of(owner)]
        if isinstance(value, BlockArgument):
            return self._sources_of_argument(value, calls)
        assert isinstance(value, OpResult)
        match op := value.op:
            case DynamicUpdateSliceOp():
                return [(op.update, calls)]
            case DynamicSliceOp():
                return [(op.operand, calls)]
            case ReshapeOp() | BroadcastInDimOp() if _without_ones(op.operands[0]) == _without_ones(value):
                return [(op.operands[0], calls)]
            case CustomCallOp() if op.call_target_name.data in _TRANSPARENT_CALLS:
                return [(op.operands[0], calls)]
            case CallOp():
                callee = self._functions.get(op.callee.string_value())
                ends = callee is not None and op not in calls and terminator_of(callee.body).operands
                return [(ends[value.index], (*calls, op))] if ends else []
            case _:
                return []

    def _sources_of_argument(self, argument: BlockArgument, calls: Calls) -> list[tuple[SSAValue, Calls]]:
        around = argument.block.parent_op()
        if not isinstance(around, FuncOp):
            return []
        if calls:
            return [(calls[-1].operands[argument.index], calls[:-1])]
        return [(call.operands[argument.index], ()) for call in self._calls.get(around.sym_name.data, ())]


def _is_placed(value: SSAValue) -> bool | None:
    """Return whether an op or a declaration puts a value on the host; None if it is where its source is."""
    if isinstance(value, BlockArgument):
        func = value.block.parent_op()
        return (isinstance(func, FuncOp) and _kinds_of_arguments(func)[value.index] == HOST) or None
    assert isinstance(value, OpResult)
    computed = _frontend_attribute(value.op, "_xla_compute_type")
    if computed is not None or not isinstance(value.op, CustomCallOp) or not moves_to_other_memory(value.op):
        return None if computed is None else computed == "host"
    kind = _MOVES.get(value.op.call_target_name.data) or _frontend_attribute(value.op, "_xla_buffer_placement")
    return kind == HOST


def _kinds_of_arguments(func: FuncOp) -> list[str | None]:
    found = (attribute_of(func.arg_attrs, index, MEMORY_KIND) for index in range(len(func.function_type.inputs)))
    return [each.data if isinstance(each, StringAttr) else None for each in found]


def _frontend_attribute(op: Operation, key: str) -> str | None:
    attributes = op.attributes.get("mhlo.frontend_attributes")
    found = attributes.data.get(key) if isinstance(attributes, DictionaryAttr) else None
    return found.data if isinstance(found, StringAttr) else None


def _without_ones(value: SSAValue) -> list[int]:
    return [size for size in static_shape(value.type) or () if size != 1]
