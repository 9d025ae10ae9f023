"""The ops that a program runs, in which order, and how often.

A loop whose trip count is not known statically counts as one trip. All branches of a conditional count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from math import ceil
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.symbols import callers_first, functions_of, main_function, recursion_error
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.elementwise import AddOp, CompareOp
from sdy.dialects.stablehlo.shape import ConstantOp

Execution = tuple[Operation, int]


class Visit(NamedTuple):
    """A visit of an op that runs `times` times.

    An op with inner ops, or a call, is visited once more with `is_left` after these.
    """

    op: Operation
    times: int
    is_left: bool = False


def visits(module: ModuleOp) -> Iterator[Visit]:
    """Yield visits of all ops that the main function runs, including those in called functions and in regions.

    Raises: SdyError SDY-T115 if a function calls itself.
    """
    functions = functions_of(module)

    def visits_of(block: Block, times: int, callers: tuple[str, ...]) -> Iterator[Visit]:
        for op in ops_in(block):
            yield Visit(op, times)
            if type(op) is CallOp:
                name = op.callee.string_value()
                if name in callers:
                    raise recursion_error(functions[name], (*callers[callers.index(name) :], name))
                inside, blocks = (*callers, name), blocks_of(functions[name])
            elif op.regions:
                inside, blocks = callers, blocks_of(op)
            else:
                continue
            for inner in blocks:
                yield from visits_of(inner, times * runs_of_regions(op), inside)
            if blocks:
                yield Visit(op, times, is_left=True)

    main = main_function(module)
    for block in main.body.blocks:
        yield from visits_of(block, 1, (main.sym_name.data,))


def runs_of_regions(op: Operation) -> int:
    """Return how often the regions of an op run when the op runs once."""
    trips = trip_count(op) if isinstance(op, WhileOp) else None
    return 1 if trips is None else trips


def executions(module: ModuleOp) -> Iterator[Execution]:
    """Yield the ops that the main function runs, including those in called functions, with how often each runs."""
    return ((visit.op, visit.times) for visit in visits(module) if not visit.is_left)


def execution_counts(module: ModuleOp) -> Counter[Operation]:
    """Return how often each op runs in one run of the main function. Each function is traversed only once.

    Raises: SdyError SDY-T115 if a function calls itself.
    """
    functions = functions_of(module)
    runs, counts = Counter({main_function(module): 1}), Counter[Operation]()
    for func in callers_first(module):
        for op, times in _executions_inside(func):
            counts[op] = times * runs[func]
            if isinstance(op, CallOp):
                runs[functions[op.callee.string_value()]] += counts[op]
    return counts


def _executions_inside(op: Operation) -> Iterator[Execution]:
    for inner in chain.from_iterable(map(ops_in, blocks_of(op))):
        yield inner, 1
        if inner.regions:
            times = runs_of_regions(inner)
            yield from ((nested, times * runs) for nested, runs in _executions_inside(inner))


def trip_count(loop: WhileOp) -> int | None:
    """Return how often the body runs; None if the loop has no counter with constant bounds.

    The condition must compare the counter with a constant by LT or LE, and the body must add a constant to it.

    Supported are loops like `for i in range(start, stop, step)`, as `jax.lax.scan` and `fori_loop` are lowered.
    """
    compare = terminator_of(loop.cond).operands[0].owner
    if not isinstance(compare, CompareOp) or not isinstance(compare.lhs, BlockArgument):
        return None
    counter = compare.lhs.index
    start = _constant(loop.operands[counter])
    stop = _bound(loop, compare.rhs)
    step = _step(loop, counter)
    if start is None or stop is None or step is None or step <= 0:
        return None
    match compare.comparison_direction.data:
        case ComparisonDirection.LT:
            return max(0, ceil((stop - start) / step))
        case ComparisonDirection.LE:
            return max(0, (stop - start) // step + 1)
        case _:
            return None


def _bound(loop: WhileOp, value: SSAValue) -> int | None:
    """Return a constant, or the initial constant of a value that the loop carries unchanged; otherwise None."""
    if isinstance(value, BlockArgument) and value.owner is loop.cond.block:
        index, following = value.index, terminator_of(loop.body).operands
        return _constant(loop.operands[index]) if following[index] is loop.body.block.args[index] else None
    return _constant(value)


def _step(loop: WhileOp, counter: int) -> int | None:
    add = terminator_of(loop.body).operands[counter].owner
    if not isinstance(add, AddOp):
        return None
    others = [side for side in (add.lhs, add.rhs) if side is not loop.body.block.args[counter]]
    return _constant(others[0]) if len(others) == 1 else None


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if not isinstance(owner, ConstantOp | SdyConstantOp) or shape_of(value) != ():
        return None
    literal = owner.value
    (number,) = literal.get_values() if isinstance(literal, DenseElementsAttr) else (None,)
    return number if isinstance(number, int) else None
