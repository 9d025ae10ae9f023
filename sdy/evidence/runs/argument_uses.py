"""Finds the arguments of a program whose uses restrict their values: indices, loop conditions, square roots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, OpResult, SSAValue, Use

from sdy.dialects.data_flow import index_of, op_of
from sdy.dialects.facts.traits import Contraction, has_fact, is_terminator, moves_elements, terminator_of
from sdy.dialects.ir.symbols import calls_by_callee, functions_of, main_block
from sdy.dialects.ir.walk import pre_order, reached
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.calls import is_ragged_all_to_all
from sdy.dialects.stablehlo.control import CaseOp, WhileOp
from sdy.dialects.stablehlo.gather_scatter import DynamicGatherOp, GatherOp, ScatterOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp, DynamicUpdateSliceOp

# Ops whose result is undefined, or NaN, for negative operands.
_OF_POSITIVE = {ops.SqrtOp, ops.RsqrtOp, ops.LogOp, ops.LogPlusOneOp, ops.PowerOp}
# Ops, beside those that move elements or contract, whose results are positive if all operands are. A subtraction or a
# negation may hide a positive value, and `tanh` and the like bound it.
_KEEPS_SIGN = {ops.AddOp, CallOp, ops.ConvertOp, ops.DivideOp, ops.MaximumOp, ops.MultiplyOp, ReduceOp, WhileOp}


@dataclass(frozen=True, slots=True)
class ArgumentUse:
    """The uses of an argument that restrict its values.

    `indexed_sizes` are the sizes of the dims that it may index, and the numbers of branches that it may choose from;
    `ends_loops` is true if a loop condition depends on it. If there is a `most`, only numbers from 0 to it are allowed.
    """

    indexed_sizes: frozenset[int] = frozenset()
    ends_loops: bool = False
    most: int | None = None

    def merged(self, other: ArgumentUse) -> ArgumentUse:
        """Return the restrictions of both."""
        limits = [each for each in (self.most, other.most) if each is not None]
        ends_loops = self.ends_loops or other.ends_loops
        return ArgumentUse(self.indexed_sizes | other.indexed_sizes, ends_loops, min(limits, default=None))


def argument_uses(module: ModuleOp) -> list[ArgumentUse]:
    """Return how each argument of the main function is used, directly or through other ops."""
    flow = _Flow(module, lambda use: True)
    users: dict[ArgumentUse, set[SSAValue]] = {}
    for op in flow.ops:
        for value, use in _restricted_values(op):
            users.setdefault(use, set()).add(value)
    found = [ArgumentUse() for _ in main_block(module).args]
    for use, values in users.items():
        sources = flow.sources_of(values)
        for index, argument in enumerate(main_block(module).args):
            if argument in sources:
                found[index] = found[index].merged(use)
    return found


def positive_arguments(module: ModuleOp) -> list[bool]:
    """Return for each argument of the main function whether results are undefined unless it is positive.

    These are second moments of an optimizer, whose square root is taken, and counts of steps, which are exponents:
    arguments of which, or of a sum or product with which, a root, a logarithm or a power is computed.
    """
    flow = _Flow(module, _keeps_sign)
    positive = {operand for op in flow.ops if type(op) in _OF_POSITIVE for operand in op.operands}
    sources = flow.sources_of(positive)
    return [argument in sources for argument in main_block(module).args]


class _Flow:
    """The ops of a module, and which values depend on which through uses that are followed."""

    def __init__(self, module: ModuleOp, is_followed: Callable[[Use], bool]) -> None:
        self.ops = pre_order(module)
        self._is_followed = is_followed
        self._functions = functions_of(module)
        self._calls = calls_by_callee(module)

    def sources_of(self, values: set[SSAValue]) -> set[SSAValue]:
        """Return the values, and all on which they depend."""

        def sources(value: SSAValue) -> Iterator[SSAValue]:
            uses = filter(self._is_followed, self._uses_for(value))
            return (use.operation.operands[use.index] for use in uses)

        return set(reached(values, sources))

    def _uses_for(self, value: SSAValue) -> Iterator[Use]:
        """Yield the uses of operands on which a value depends directly."""
        op = op_of(value)
        match op:
            case WhileOp():
                yield Use(op, index_of(value))
                yield Use(terminator_of(op.body), index_of(value))
            case CallOp():
                yield Use(terminator_of(self._functions[op.callee.string_value()].body), index_of(value))
            case FuncOp():
                yield from (Use(call, index_of(value)) for call in self._calls.get(op.sym_name.data, ()))
            case None:
                return
            case _:
                yield from _all_uses(op)
                if isinstance(value, OpResult):
                    ends = (terminator_of(region) for region in op.regions if region.blocks)
                    yield from (use for end in ends for use in _all_uses(end))


def _all_uses(op: Operation) -> Iterator[Use]:
    return (Use(op, index) for index in range(len(op.operands)))


def _restricted_values(op: Operation) -> Iterator[tuple[SSAValue, ArgumentUse]]:
    """Yield the operands of an op whose values are restricted, and how."""
    match op:
        case DynamicSliceOp() | DynamicUpdateSliceOp():
            yield from ((index, ArgumentUse(_sizes(op.operand))) for index in op.start_indices)
        case GatherOp() | DynamicGatherOp():
            yield op.start_indices, ArgumentUse(_sizes(op.operand))
        case ScatterOp():
            yield op.scatter_indices, ArgumentUse(frozenset[int]().union(*map(_sizes, op.inputs)))
        case CaseOp():
            yield op.index, ArgumentUse(frozenset({len(op.branches)}))
        case WhileOp():
            yield from ((value, ArgumentUse(ends_loops=True)) for value in terminator_of(op.cond).operands)
        case _ if is_ragged_all_to_all(op):
            rows, result, *numbers = op.operands
            # Any start and place, and any number of rows, is within range if each is at most half of them.
            most = min(shape_of(value)[0] for value in (rows, result)) // 2
            yield from ((value, ArgumentUse(most=most)) for value in numbers)
        case _:
            pass


def _keeps_sign(use: Use) -> bool:
    """Return whether a result of the op is positive if all operands are, and may be negative if this one is."""
    op = use.operation
    if isinstance(op, ops.MultiplyOp) and op.lhs is op.rhs:  # a square
        return False
    is_known = type(op) in _KEEPS_SIGN or is_terminator(op)
    return is_known or moves_elements(op) or has_fact(type(op), Contraction)


def _sizes(value: SSAValue) -> frozenset[int]:
    return frozenset(static_shape(value.type) or ())
