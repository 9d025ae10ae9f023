"""Kernels of control flow: branches, loops, calls, tokens."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.func import CallOp
from xdsl.ir import Block

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.stablehlo import calls, control, tokens
from sdy.interpreter.arrays.element_types import TOKEN_DTYPE, Array
from sdy.interpreter.arrays.field_types import has_field
from sdy.interpreter.control_flow import Repetition, Split, decision_of
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, operand_count

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


@KERNELS.of(CallOp)
def call(op: CallOp) -> Kernel:
    """Call the function."""
    callee = op.callee.string_value()
    return lambda context, arrays: context.runner.call(context, callee, arrays)


@KERNELS.of(calls.CompositeOp)
def composite(op: calls.CompositeOp) -> Kernel:
    """Call the decomposition of the composite."""
    callee = op.decomposition.string_value()
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
