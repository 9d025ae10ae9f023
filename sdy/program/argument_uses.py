"""Finds the arguments of a program that are used as start indices of slices, or in loop conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue, Use
from xdsl.traits import IsTerminator

from sdy.dialects.ir.symbols import calls_of, functions_of, main_function
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.gather_scatter import DynamicGatherOp, GatherOp, ScatterOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp, DynamicUpdateSliceOp


@dataclass(slots=True)
class ArgumentUse:
    """The uses of an argument that restrict its values.

    `indexed_sizes` are the sizes of the dims that it may index; `ends_loops` is true if a loop condition depends on it.
    """

    indexed_sizes: set[int] = field(default_factory=set[int])
    ends_loops: bool = False


def argument_uses(module: ModuleOp) -> list[ArgumentUse]:
    """Return how each argument of the main function is used, directly or through other ops."""
    flow = _Flow(module)
    return [flow.use_of(argument) for argument in main_function(module).body.block.args]


class _Flow:
    """Follows values to the values that depend on them."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._functions = functions_of(module)

    def use_of(self, value: SSAValue) -> ArgumentUse:
        """Return how the value and all values that depend on it are used."""
        found = ArgumentUse()
        seen = {value}
        pending = [value]
        while pending:
            for use in pending.pop().uses:
                _record(use, found)
                new = [target for target in self._targets(use) if target not in seen]
                seen.update(new)
                pending += new
        return found

    def _targets(self, use: Use) -> Iterator[SSAValue]:
        """Return the values that depend on this use of an operand."""
        op, parent = use.operation, use.operation.parent_op()
        match op:
            case WhileOp():
                yield from _loop_values(op, use.index)
            case CallOp():
                yield from self._functions[op.callee.string_value()].body.block.args[use.index : use.index + 1]
            case ReturnOp() if isinstance(parent, FuncOp):
                yield from (call.results[use.index] for call in calls_of(self._module, parent))
            case _ if op.has_trait(IsTerminator):
                yield from _values_after_terminator(op, parent, use.index)
            case _:
                yield from op.results
                yield from _region_arguments(op.regions)


def _loop_values(op: WhileOp, index: int) -> Sequence[SSAValue]:
    """Return loop variable `index` in the condition, in the body, and after the loop."""
    return (op.cond.block.args[index], op.body.block.args[index], op.result[index])


def _values_after_terminator(op: Operation, parent: Operation | None, index: int) -> Sequence[SSAValue]:
    if parent is None or isinstance(parent, FuncOp):
        return ()
    if isinstance(parent, WhileOp):
        return _loop_values(parent, index) if op.parent is parent.body.block else ()
    return parent.results


def _region_arguments(regions: Sequence[Region]) -> Iterator[SSAValue]:
    return (argument for region in regions for block in region.blocks for argument in block.args)


def _record(use: Use, found: ArgumentUse) -> None:
    op, parent = use.operation, use.operation.parent_op()
    operand = op.operands[use.index]
    match op:
        case DynamicSliceOp() | DynamicUpdateSliceOp() if operand in op.start_indices:
            found.indexed_sizes.update(_sizes(op.operand))
        case GatherOp() | DynamicGatherOp() if operand is op.start_indices:
            found.indexed_sizes.update(_sizes(op.operand))
        case ScatterOp() if operand is op.scatter_indices:
            found.indexed_sizes.update(size for value in op.inputs for size in _sizes(value))
        case _ if op.has_trait(IsTerminator) and isinstance(parent, WhileOp) and op.parent is parent.cond.block:
            found.ends_loops = True
        case _:
            pass


def _sizes(value: SSAValue) -> tuple[int, ...]:
    return static_shape(value.type) or ()
