"""Finds the arguments of a program whose uses restrict their values: indices, loop conditions, square roots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue, Use
from xdsl.traits import IsTerminator

from sdy.dialects.ir.symbols import functions_of, main_block
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.elementwise import (
    AddOp,
    ConvertOp,
    DivideOp,
    LogOp,
    LogPlusOneOp,
    MaximumOp,
    MultiplyOp,
    PowerOp,
    RsqrtOp,
    SelectOp,
    SqrtOp,
)
from sdy.dialects.stablehlo.gather_scatter import DynamicGatherOp, GatherOp, ScatterOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ReshapeOp, TransposeOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, DynamicSliceOp, DynamicUpdateSliceOp, SliceOp

_OF_POSITIVE = (SqrtOp, RsqrtOp, LogOp, LogPlusOneOp, PowerOp)
_KEEPS_SIGN = (
    AddOp,
    BroadcastInDimOp,
    CallOp,
    ConcatenateOp,
    ConvertOp,
    DivideOp,
    DotGeneralOp,
    DynamicSliceOp,
    MaximumOp,
    MultiplyOp,
    ReduceOp,
    ReshapeOp,
    SelectOp,
    SliceOp,
    TransposeOp,
    WhileOp,
)


@dataclass(slots=True)
class ArgumentUse:
    """The uses of an argument that restrict its values.

    `indexed_sizes` are the sizes of the dims that it may index; `ends_loops` is true if a loop condition depends on it.
    """

    indexed_sizes: set[int] = field(default_factory=set[int])
    ends_loops: bool = False


def argument_uses(module: ModuleOp) -> list[ArgumentUse]:
    """Return how each argument of the main function is used, directly or through other ops."""
    flow = _Flow(module, lambda use: True)
    users: dict[tuple[frozenset[int], bool], set[SSAValue]] = {}
    for use in flow.uses:
        found = ArgumentUse()
        _record(use, found)
        if found.indexed_sizes or found.ends_loops:
            key = (frozenset(found.indexed_sizes), found.ends_loops)
            users.setdefault(key, set()).add(use.operation.operands[use.index])
    arguments = main_block(module).args
    uses = [ArgumentUse() for _ in arguments]
    for (sizes, ends_loops), values in users.items():
        sources = flow.sources_of(values)
        for use, argument in zip(uses, arguments, strict=True):
            if argument in sources:
                use.indexed_sizes |= sizes
                use.ends_loops |= ends_loops
    return uses


def positive_arguments(module: ModuleOp) -> list[bool]:
    """Return for each argument of the main function whether results are undefined unless it is positive.

    These are second moments of an optimizer, whose square root is taken, and counts of steps, which are exponents:
    arguments of which, or of a sum or product with which, a root, a logarithm or a power is computed.
    """
    flow = _Flow(module, _keeps_sign)
    positive = {use.operation.operands[use.index] for use in flow.uses if isinstance(use.operation, _OF_POSITIVE)}
    sources = flow.sources_of(positive)
    return [argument in sources for argument in main_block(module).args]


class _Flow:
    """The uses of all values of a module, and which values depend on which through uses that are followed."""

    def __init__(self, module: ModuleOp, is_followed: Callable[[Use], bool]) -> None:
        self._functions = functions_of(module)
        self._calls: dict[str, list[CallOp]] = {}
        ops = pre_order(module)
        for op in ops:
            if isinstance(op, CallOp):
                self._calls.setdefault(op.callee.string_value(), []).append(op)
        self.uses = [Use(op, index) for op in ops for index in range(len(op.operands))]
        self._sources: dict[SSAValue, list[SSAValue]] = {}
        for use in filter(is_followed, self.uses):
            for target in self._targets(use):
                self._sources.setdefault(target, []).append(use.operation.operands[use.index])

    def sources_of(self, values: set[SSAValue]) -> set[SSAValue]:
        """Return the values, and all on which they depend."""
        seen, pending = set(values), list(values)
        while pending:
            new = [source for source in self._sources.get(pending.pop(), ()) if source not in seen]
            seen.update(new)
            pending += new
        return seen

    def _targets(self, use: Use) -> Iterator[SSAValue]:
        """Return the values that depend on this use of an operand."""
        op, parent = use.operation, use.operation.parent_op()
        match op:
            case WhileOp():
                yield from _loop_values(op, use.index)
            case CallOp():
                yield from self._functions[op.callee.string_value()].body.block.args[use.index : use.index + 1]
            case ReturnOp() if isinstance(parent, FuncOp):
                yield from (call.results[use.index] for call in self._calls.get(parent.sym_name.data, ()))
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


def _keeps_sign(use: Use) -> bool:
    """Return whether a result of the op is positive if all operands are, and may be negative if this one is."""
    op = use.operation
    if isinstance(op, MultiplyOp) and op.lhs is op.rhs:  # a square
        return False
    return isinstance(op, _KEEPS_SIGN) or op.has_trait(IsTerminator)


def _sizes(value: SSAValue) -> tuple[int, ...]:
    return static_shape(value.type) or ()
