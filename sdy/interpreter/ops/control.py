"""Kernels of control flow: branches, loops, calls, tokens.

Devices that take different branches run in groups that agree, then results are merged. Only the batch dims along which
the decision varies are split; the other batch dims keep their size.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.stablehlo import calls, control, tokens
from sdy.dialects.stablehlo.control import WhileOp
from sdy.interpreter.arrays.element_types import TOKEN_DTYPE, Array
from sdy.interpreter.arrays.field_types import has_field
from sdy.interpreter.devices.grid import Grid, IntArray
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, leaf_count, operand_count
from sdy.model.shape import StaticShape


class Split:
    """The batch positions of a context, grouped by the integer decision of each position.

    A group runs in a context whose first batch dim counts its positions; the batch dims along which the decision is
    constant follow.
    """

    def __init__(self, context: KernelContext, decisions: Array) -> None:
        leading = context.leading(decisions)
        self.context = context
        self.varying = [axis for axis, size in enumerate(leading) if size > 1]
        self.constant = [axis for axis, size in enumerate(leading) if size == 1]
        self.count = prod(leading)  # positions along the varying dims
        # The other dims have size 1, so the flat order is that of the varying dims.
        flat = decisions.reshape(-1)
        self.positions: dict[int, IntArray] = {int(key): np.flatnonzero(flat == key) for key in np.unique(flat)}

    def context_of(self, key: int) -> KernelContext:
        """Return the context in which the group with decision `key` runs."""
        batch = (len(self.positions[key]), *(self.context.batch[axis] for axis in self.constant))
        grid = self.context.grid
        return replace(self.context, batch=batch, grid=None if grid is None else self._grid_of(grid, key, batch))

    def taken(self, arrays: Arrays, key: int) -> Arrays:
        """Select the values of the group with decision `key`."""
        return tuple(self._taken(array, key) for array in arrays)

    def merged(self, results: Mapping[int, Arrays]) -> Arrays:
        """Merge the values of all groups into values of all positions."""
        keys = list(self.positions)
        return tuple(
            self._merged(dict(zip(keys, parts, strict=True)))
            for parts in zip(*(results[key] for key in keys), strict=True)
        )

    def _grid_of(self, grid: Grid, key: int, batch: StaticShape) -> Grid:
        ids = grid.ids.reshape(grid.sizes).transpose([*self.varying, *self.constant])
        ids = ids.reshape((self.count, *batch[1:]))[self.positions[key]]
        return Grid(batch, grid.replica_count, grid.partition_count, tuple(ids.reshape(-1).tolist()))

    def _taken(self, array: Array, key: int) -> Array:
        rank, local = self.context.rank, self.context.local(array)
        constant_sizes = tuple(array.shape[axis] for axis in self.constant)
        if all(array.shape[axis] == 1 for axis in self.varying):
            return array.reshape((1, *constant_sizes, *local))
        sizes = list(array.shape)
        for axis in self.varying:
            sizes[axis] = self.context.batch[axis]
        ordered = np.broadcast_to(array, sizes).transpose([*self.varying, *self.constant, *range(rank, array.ndim)])
        return ordered.reshape((self.count, *constant_sizes, *local))[self.positions[key]]

    def _merged(self, parts: Mapping[int, Array]) -> Array:
        some = next(iter(parts.values()))
        local = some.shape[1 + len(self.constant) :]
        others = np.broadcast_shapes(*(part.shape[1 : 1 + len(self.constant)] for part in parts.values()))
        merged = np.empty((self.count, *others, *local), some.dtype)
        for key, part in parts.items():
            merged[self.positions[key]] = part
        order = [*self.varying, *self.constant]
        sizes = (*(self.context.batch[axis] for axis in self.varying), *others)
        unfolded = merged.reshape(sizes + local)
        back = [order.index(axis) for axis in range(self.context.rank)]
        return unfolded.transpose([*back, *range(len(order), unfolded.ndim)])


@dataclass(frozen=True, slots=True)
class Decision:
    """The values that a loop carries which decide whether it goes on, and the ops that compute from them."""

    values: Sequence[int]
    ops: Collection[Operation]


def decision_of(loop: WhileOp) -> Decision | None:
    """Return by what a loop decides, in any iteration, whether it goes on.

    The values are all that the condition is computed from, in this iteration or by the body in the one before. Returns
    None if an op with a side effect decides, which may return something else in each iteration, or if there are tuples.
    """
    if any(leaf_count(operand.type) != 1 for operand in loop.operands):
        return None
    found: set[int] = set()
    ops: set[Operation] = set()
    following = _arguments_for(loop.cond.block, terminator_of(loop.cond).operands, ops)
    while following is not None and not following <= found:
        found |= following
        carried = terminator_of(loop.body).operands
        following = _arguments_for(loop.body.block, [carried[index] for index in found], ops)
    return None if following is None else Decision(sorted(found), ops)


def _arguments_for(block: Block, values: Iterable[SSAValue], ops: set[Operation]) -> set[int] | None:
    """Return the arguments of a block from which some of its values are computed; None if ops have side effects.

    The ops that compute them are added to `ops`.
    """
    arguments: set[int] = set()
    pending, seen = list(values), set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument) and value.block is block:
            arguments.add(value.index)
        elif isinstance(value, OpResult) and value.op.parent is block:
            if not is_side_effect_free(value.op):
                return None
            ops.update(value.op.walk())
            pending += [operand for op in value.op.walk() for operand in op.operands]
    return arguments


class Repetition:
    """Tells whether arrays are those of an earlier iteration: a few of these are remembered, so that any cycle ends."""

    def __init__(self) -> None:
        self._remembered: Sequence[Array] | None = None
        self._count, self._next = 0, 1

    def has(self, arrays: Sequence[Array]) -> bool:
        """Return whether the arrays of this iteration are those that are remembered."""
        if self._remembered is not None and all(map(_are_same, arrays, self._remembered)):
            return True
        self._count += 1
        if self._count == self._next:  # 1, 2, 4, ...: a cycle is found once an iteration in it is remembered
            self._remembered, self._next = arrays, 2 * self._next
        return False


def _are_same(one: Array, other: Array) -> bool:
    """Return whether two arrays have the same bits."""
    return one is other or (one.shape == other.shape and one.tobytes() == other.tobytes())


KERNELS = KernelTable()
MOST_ITERATIONS = 40  # of a loop that ends by numbers of a field


@KERNELS.of(control.IfOp)
def branch_on_predicate(op: control.IfOp) -> Kernel:
    """Run the true branch if the predicate holds, else the false branch."""
    blocks = (op.false_branch.block, op.true_branch.block)
    return lambda context, arrays: _branch(context, arrays[0].astype(np.int64), blocks, arrays[1:])


@KERNELS.of(control.CaseOp)
def branch_on_index(op: control.CaseOp) -> Kernel:
    """Run the branch with this index; the last one if the index is out of range."""
    blocks = tuple(region.block for region in op.branches)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        index = arrays[0].astype(np.int64)
        chosen = np.where((index < 0) | (index >= len(blocks)), len(blocks) - 1, index)
        return _branch(context, chosen, blocks, arrays[1:])

    return kernel


def _branch(context: KernelContext, chosen: Array, blocks: Sequence[Block], captured: Arrays) -> Arrays:
    if chosen.size == 1:
        return context.runner.run_block(context, blocks[int(chosen.reshape(()))], (), captured)
    split = Split(context, chosen)
    if len(split.positions) == 1:
        return context.runner.run_block(context, blocks[next(iter(split.positions))], (), captured)
    run = context.runner.run_block
    return split.merged(
        {key: run(split.context_of(key), blocks[key], (), split.taken(captured, key)) for key in split.positions}
    )


@KERNELS.of(control.WhileOp)
def loop(op: control.WhileOp) -> Kernel:
    """Run the body while the condition holds; devices that are done wait for the others.

    If numbers of a field decide, which never converge, the loop ends after `MOST_ITERATIONS`.
    Raises: SdyError SDY-X019 if it holds forever, because the values that decide it repeat on all devices.
    """
    cond, body, count = op.cond.block, op.body.block, operand_count(op)
    decision = decision_of(op)
    is_limited = decision is None or any(map(has_field, decision.ops))

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        run = context.runner.run_block
        state, captured = arrays[:count], arrays[count:]
        waiting: list[tuple[Split, Arrays]] = []
        repetition = Repetition()
        is_short = is_limited and context.field is not None
        for iteration in itertools.count():
            (goes_on,) = run(context, cond, state, captured)
            if not goes_on.any() or (is_short and iteration == MOST_ITERATIONS):
                break
            if not goes_on.all():
                split = Split(context, goes_on)
                waiting.append((split, split.taken(state, False)))
                context, state = split.context_of(True), split.taken(state, True)
                captured = split.taken(captured, True)
            if decision is not None and not is_short and repetition.has([state[index] for index in decision.values]):
                raise _endless(decision.values)
            context.host.count_iteration()
            state = run(context, body, state, captured)
        for split, done in reversed(waiting):
            state = split.merged({False: done, True: state})
        return state

    return kernel


def _endless(deciding: Sequence[int]) -> SdyError:
    """Return the error for a loop, given which of its values decide whether it goes on."""
    message = "its condition depends on no value that the loop changes"
    if deciding:
        numbers = ", ".join(f"#{index}" for index in deciding)
        message = f"the values that its condition depends on ({numbers}) are the same as in an earlier iteration"
    return failure("SDY-X019", f"the loop never ends: {message}", "change them in each iteration of the body")


@KERNELS.of(CallOp, calls.CompositeOp)
def call(op: CallOp | calls.CompositeOp) -> Kernel:
    """Call the function, or the decomposition of the composite."""
    callee = (op.callee if isinstance(op, CallOp) else op.decomposition).string_value()
    return lambda context, arrays: context.runner.call(context, callee, arrays)


@KERNELS.of(tokens.AsyncStartOp)
def async_start(op: tokens.AsyncStartOp) -> Kernel:
    """Run the body at once: its results are ready before `async_done` asks for them."""
    block, count = op.body.block, operand_count(op)
    return lambda context, arrays: context.runner.run_block(context, block, arrays[:count], arrays[count:])


@KERNELS.of(control.OptimizationBarrierOp)
def optimization_barrier(op: control.OptimizationBarrierOp) -> Kernel:
    """Return the operands unchanged."""
    return lambda _, arrays: arrays


@KERNELS.of(tokens.CreateTokenOp, tokens.AfterAllOp)
def token(op: tokens.CreateTokenOp | tokens.AfterAllOp) -> Kernel:
    """Return a token. Ops run in program order, so a token orders nothing."""
    return lambda context, _: (token_value(context),)


def token_value(context: KernelContext) -> Array:
    """Return the array that represents a token."""
    return context.replicated(np.zeros((), TOKEN_DTYPE))
