"""What the arguments of a program decide: where slices begin, or how often loops run."""

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
    """`indexed_sizes` are those of the dims in which the argument may say where a slice begins."""

    indexed_sizes: set[int] = field(default_factory=set[int])
    ends_loops: bool = False


def argument_uses(module: ModuleOp) -> list[ArgumentUse]:
    """What each argument of the main function decides, directly or through other ops."""
    flow = _Flow(module)
    return [flow.use_of(argument) for argument in main_function(module).body.block.args]


class _Flow:
    """Follows values to what depends on them."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._functions = functions_of(module)

    def use_of(self, value: SSAValue) -> ArgumentUse:
        """What the value decides."""
        found = ArgumentUse()
        seen = {value}
        pending = [value]
        while pending:
            for use in pending.pop().uses:
                _note(use, found)
                new = [target for target in self._targets(use) if target not in seen]
                seen.update(new)
                pending += new
        return found

    def _targets(self, use: Use) -> Iterator[SSAValue]:
        """The values that depend on this operand."""
        op, parent = use.operation, use.operation.parent_op()
        match op:
            case WhileOp():
                yield from _of_loop(op, use.index)
            case CallOp():
                yield from self._functions[op.callee.string_value()].body.block.args[use.index : use.index + 1]
            case ReturnOp() if isinstance(parent, FuncOp):
                yield from (call.results[use.index] for call in calls_of(self._module, parent))
            case _ if op.has_trait(IsTerminator):
                yield from _of_terminator(op, parent, use.index)
            case _:
                yield from op.results
                yield from _arguments_of(op.regions)


def _of_loop(op: WhileOp, index: int) -> Sequence[SSAValue]:
    """What the value is called in the condition, in the body, and afterwards."""
    return (op.cond.block.args[index], op.body.block.args[index], op.result[index])


def _of_terminator(op: Operation, parent: Operation | None, index: int) -> Sequence[SSAValue]:
    if parent is None or isinstance(parent, FuncOp):
        return ()
    if isinstance(parent, WhileOp):
        return _of_loop(parent, index) if op.parent is parent.body.block else ()
    return parent.results


def _arguments_of(regions: Sequence[Region]) -> Iterator[SSAValue]:
    return (argument for region in regions for block in region.blocks for argument in block.args)


def _note(use: Use, found: ArgumentUse) -> None:
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
