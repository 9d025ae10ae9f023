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
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import nested_first, ops_of
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo.control import WhileOp
from sdy.model.axis_list import is_strict_list_prefix
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.call_graph import call_sites, callee_name, callees_first
from sdy.passes.rewriting.insertion import erase, insert, location_of, reshard


class HoistReshardsPass(ModulePass):
    """Move reshards out of loops."""

    name = "sdy-hoist-reshards"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit functions before their callers, and inner loops before outer ones."""
        main = main_function(op)
        sites = call_sites(op)
        calls_of: dict[str, list[CallOp]] = {}
        for call in (call for calls in sites.values() for call in calls):
            calls_of.setdefault(callee_name(call), []).append(call)
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
    targets = {op.sharding.data for op in reshards}
    source = sharding_of(argument)
    if others or len(targets) != 1 or source is None or not _can_replace(source, next(iter(targets))):
        return
    (target,) = targets
    func = argument.block.parent_op()
    assert isinstance(func, FuncOp)
    for call in calls:
        operand = call.operands[argument.index]
        call.operands[argument.index] = insert(
            reshard(operand, target), InsertPoint.before(call), location_of(operand)
        ).result
    set_sharding(argument, target)
    _remove(reshards, argument)


def _hoist_from_loop(loop: WhileOp, index: int) -> None:
    """Let a loop carry a value that it does not change in the sharding that its body reshards it to."""
    body, argument, source = loop.body.block, loop.body.block.args[index], sharding_of(loop.results[index])
    returned = body.last_op
    if returned is None or returned.operands[index] is not argument or source is None:
        return
    others_than_return = [use for use in argument.uses if (use.operation, use.index) != (returned, index)]
    reshards, others = _uses_in(body, others_than_return)
    tested = loop.cond.block.args[index]
    unchanged = [source] if others or tested.first_use is not None else []
    target = _common_prefix_target([op.sharding.data for op in reshards], unchanged)
    if target is None or not _can_replace(source, target):
        return
    operand = loop.operands[index]
    replace_uses(loop.results[index], operand)  # the loop does not change the value
    loop.operands[index] = insert(reshard(operand, target), InsertPoint.before(loop), location_of(operand)).result
    set_sharding(loop.results[index], target)
    for value, uses in ((argument, others), (tested, list(tested.uses))):
        if uses:
            again = insert(reshard(value, source), InsertPoint.at_start(value.block), loop.location)
            for use in uses:
                use.operation.operands[use.index] = again.result
    _remove((op for op in reshards if op.sharding.data == target), argument)


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


def _common_prefix_target(
    targets: Iterable[TensorSharding], unchanged: Iterable[TensorSharding]
) -> TensorSharding | None:
    """Return the target from which all other targets, and `unchanged`, are sliced without communication."""
    needed = list(dict.fromkeys((*targets, *unchanged)))
    return next((target for target in dict.fromkeys(targets) if all(_is_sliced(target, each) for each in needed)), None)


def _is_sliced(source: TensorSharding, target: TensorSharding) -> bool:
    """Return whether each shard of the target is a part of a shard of the source on the same device."""
    return _can_replace(source, target) and all(
        before.axes == after.axes or is_strict_list_prefix(before.axes, after.axes)
        for before, after in zip(source.dims, target.dims, strict=True)
    )


def _can_replace(source: TensorSharding, target: TensorSharding) -> bool:
    """Return whether a value may have the sharding `target` instead: on the same mesh, and without partial values."""
    return source.mesh == target.mesh and not source.unreduced and not target.unreduced


def _remove(reshards: Iterable[ReshardOp], value: SSAValue) -> None:
    for op in reshards:
        replace_uses(op.result, value)
        erase(op)
