"""Uses, users and positions of ops, in the order on which the results of some passes depend, and sorted blocks.

The last use of a text comes first, as in MLIR. Source: docs/spec/07, 0.3; docs/spec/08, 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from sdy.dialects.ir.fast_ops import redirect_uses
from sdy.dialects.ir.walk import ancestor_in, op_and_nested_ops, ops_of
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.mpmd.dialect.functions import mpmd_functions
from sdy.mpmd.dialect.ops import CallOp
from sdy.passes.rewriting.op_traits import is_erasable

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def uses_of_op(op: Operation) -> list[Use]:
    """Return the uses of all results of an op."""
    return [use for result in op.results for use in result.uses]


def users_of(value: SSAValue) -> list[Operation]:
    """Return the ops that use a value, one per use."""
    return [use.operation for use in value.uses]


def users_of_op(op: Operation) -> list[Operation]:
    """Return the ops that use results of an op, one per use."""
    return [use.operation for use in uses_of_op(op)]


def is_used(op: Operation) -> bool:
    """Return whether a result of an op has a use."""
    return any(result.first_use is not None for result in op.results)


def unused(values: Iterable[SSAValue]) -> list[int]:
    """Return the positions of values without uses."""
    return [index for index, value in enumerate(values) if value.first_use is None]


def distinct(items: Iterable[T]) -> list[T]:
    """Return the items without repetitions, in order of first appearance."""
    return list(dict.fromkeys(items))


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the items by a key, both in order of first appearance."""
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def calls_by_callee(module: ModuleOp) -> dict[str, list[CallOp]]:
    """Return the calls with used results in functions with a topology and in their loops, by the name of the callee."""
    calls = (call for func in mpmd_functions(module) for call in ops_of(func, CallOp) if is_used(call))
    return grouped(calls, lambda call: call.callee_name)


def positions_in(block: Block) -> dict[Operation, int]:
    """Return the ops of a block and their positions, from 0."""
    return {op: index for index, op in enumerate(block.ops)}


def uses_from_last(value: SSAValue, positions: Mapping[Operation, int]) -> list[Use]:
    """Return the uses of a value from the last to the first one in a block."""
    return sorted(value.uses, key=lambda use: (positions.get(use.operation, 0), use.index), reverse=True)


def in_block_order(ops: Iterable[Operation]) -> list[Operation]:
    """Return ops of one block in its order."""
    wanted = set(ops)
    block = next(iter(wanted)).parent if wanted else None
    return [] if block is None else [op for op in block.ops if op in wanted]


def first_user_in_block(op: Operation) -> Operation | None:
    """Return the first op of the block that uses a result of `op`, itself or inside."""
    block = op.parent
    assert block is not None  # passes only ask for ops of a module
    return next(iter(in_block_order(ancestor_in(block, user) for user in users_of_op(op))), None)


def move(op: Operation, point: InsertPoint) -> None:
    """Move an op to a place in a block."""
    if op is not point.insert_before and (op.parent is not point.block or op.next_op is not point.insert_before):
        op.detach()
        Rewriter.insert_op(op, point)


def replace_uses_by(value: SSAValue, replacement: SSAValue, users: Sequence[Operation]) -> None:
    """Replace the uses of a value in some ops."""
    redirect_uses(value, [use for use in value.uses if use.operation in users], replacement)


def is_pure(op: Operation) -> bool:
    """Return whether an op has no effects and can be executed where its results are not needed."""
    return is_erasable(op) and not isinstance(op, CustomCallOp)


def sort_block(block: Block) -> bool:
    """Sort a block, keeping the order where possible; return whether that worked.

    Each sweep over the ops left places those whose operands are all placed. If a sweep places none, there is a cycle,
    and the first op left is placed.
    """
    *rest, end = list(block.ops)
    sources = {op: _sources(op, block) for op in rest}
    waiting = set(rest)
    order: list[Operation] = []
    is_sorted = True
    while rest:
        left: list[Operation] = []
        for op in rest:
            if waiting.isdisjoint(sources[op]):
                waiting.discard(op)
                order.append(op)
            else:
                left.append(op)
        if len(left) == len(rest):
            is_sorted = False
            waiting.discard(left[0])
            order.append(left.pop(0))
        rest = left
    for op in order:
        op.detach()
        block.insert_op_before(op, end)
    return is_sorted


def cycle_in(block: Block) -> list[Operation]:
    """Return ops of a block each of which waits for the next, and the last for the first; nothing if there are none."""
    try:
        TopologicalSorter({op: _sources(op, block) for op in block.ops}).prepare()
    except CycleError as error:
        cycle: list[Operation] = error.args[1]  # each is a source of the next one
        return cycle[:0:-1]
    return []


def _sources(op: Operation, block: Block) -> list[Operation]:
    """Return the other ops of the block that define what an op uses, itself or inside."""
    found = (
        block.find_ancestor_op_in_block(operand.owner)
        for inner in op_and_nested_ops(op)
        for operand in inner.operands
        if isinstance(operand.owner, Operation)
    )
    return distinct(source for source in found if source is not None and source is not op)
