"""Move reshards of values that a loop does not change to before the loop, so that they run once.

    before  while(%arg = %0) [{"x"}, {}]                after   %1 = sdy.reshard %0 <@m, [{}, {}]>
              %1 = sdy.reshard %arg <@m, [{}, {}]>              while(%arg = %1) [{}, {}]
              "f"(%1)                                             "f"(%arg)
              return %arg                                         return %arg

The elements of a scanned array are the usual case: `jax.lax.scan` slices them in a function that the body calls, so
reshards at the entry of a function move to its calls first.

Requires: explicit reshards. Ensures: no value is resharded more often than before.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.symbols import calls_by_callee, main_function
from sdy.dialects.ir.walk import nested_first, ops_of
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo.control import WhileOp
from sdy.model.axis_list import is_strict_list_prefix
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.call_graph import call_sites, callees_first
from sdy.passes.rewriting.insertion import insert, location_of, replace_by


class HoistReshardsPass(ModulePass):
    """Move reshards out of loops."""

    name = "sdy-hoist-reshards"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit functions before their callers, and inner loops before outer ones."""
        main = main_function(op)
        sites = call_sites(op)
        calls_of = calls_by_callee(op)
        for func in callees_first(op, sites):
            for loop in nested_first(ops_of(func, WhileOp)):
                for index in range(len(loop.operands)):
                    _hoist_from_loop(loop, index)
            if func is not main:
                for argument in func.body.block.args:
                    _hoist_from_function(argument, calls_of.get(func.sym_name.data, []))


def _hoist_from_function(argument: BlockArgument, calls: Iterable[CallOp]) -> None:
    """Move the reshards of an argument of a function to the calls, if all its uses are equal reshards."""
    reshards, others = _uses_in(argument.block, argument.uses)
    target = _common_target(sharding_of(argument), reshards)
    if others or target is None:
        return
    for call in calls:
        _reshard_operand(call, argument.index, target)
    set_sharding(argument, target)
    _remove(reshards, argument)


def _hoist_from_loop(loop: WhileOp, index: int) -> None:
    """Let a loop carry a value that it does not change in the sharding that its body reshards it to.

    Other uses get slices, which send nothing, or nothing changes.
    """
    argument, tested, result = loop.body.block.args[index], loop.cond.block.args[index], loop.results[index]
    returned, source = loop.body.block.last_op, sharding_of(result)
    if returned is None or returned.operands[index] is not argument:
        return
    uses = [use for use in argument.uses if (use.operation, use.index) != (returned, index)]
    reshards, others = _uses_in(argument.block, uses)
    target = _common_target(source, reshards)
    sliced = [(value, own) for value, own in ((argument, others), (tested, [*tested.uses])) if own]
    if source is None or target is None or (sliced and not _is_sliced(target, source)):
        return
    replace_uses(result, loop.operands[index])  # the loop does not change the value
    _reshard_operand(loop, index, target)
    set_sharding(result, target)
    for value, own in sliced:
        again = insert(ReshardOp(value, source), InsertPoint.at_start(value.block), loop.location)
        for use in own:
            use.operation.operands[use.index] = again.result
    _remove(reshards, argument)


def _uses_in(block: Block, uses: Iterable[Use]) -> tuple[list[ReshardOp], list[Use]]:
    """Return the reshards that always run with the block, and the other uses."""
    reshards: list[ReshardOp] = []
    others: list[Use] = []
    for use in uses:
        op: Operation = use.operation
        if isinstance(op, ReshardOp) and op.parent is block:
            reshards.append(op)
        else:
            others.append(use)
    return reshards, others


def _common_target(source: TensorSharding | None, reshards: Iterable[ReshardOp]) -> TensorSharding | None:
    """Return the one target of reshards, which must be on the mesh of the source, both without partial values."""
    targets = {op.sharding.data for op in reshards}
    if source is None or source.unreduced or len(targets) != 1:
        return None
    (target,) = targets
    return None if target.unreduced or target.mesh != source.mesh else target


def _is_sliced(source: TensorSharding, target: TensorSharding) -> bool:
    """Return whether each shard of the target is a part of a shard of the source on the same device."""
    return all(
        before.axes == after.axes or is_strict_list_prefix(before.axes, after.axes)
        for before, after in zip(source.dims, target.dims, strict=True)
    )


def _reshard_operand(op: Operation, index: int, target: TensorSharding) -> None:
    operand = op.operands[index]
    op.operands[index] = insert(ReshardOp(operand, target), InsertPoint.before(op), location_of(operand)).result


def _remove(reshards: Iterable[ReshardOp], value: SSAValue) -> None:
    for op in reshards:
        replace_by(op, value)
