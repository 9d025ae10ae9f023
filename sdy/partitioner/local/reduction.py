"""Local form of `reduce`: of the devices whose results are combined, only one includes the initial value.

If no all-reduce combines values as the body does, the results of all devices are gathered and reduced again.
Source: docs/spec/06, 8.1 (G15).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from sdy.dialects.facts.traits import combiners_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.axis import AxisList
from sdy.partitioner.emit.collective_ops import all_gather_stacked
from sdy.partitioner.emit.device_position import is_first_device
from sdy.partitioner.emit.emitter import Emitter, identity_constant, ints, tensor_of
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.local.shard_checks import ShardChecks
from sdy.partitioner.on_shards.combiners import CombinerClass, may_repeat
from sdy.partitioner.on_shards.reduction_kinds import reduction_kinds

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[None, [ShardChecks]]()


@CHECKS.of(ReduceOp)
def check_reduce(op: ReduceOp, checks: ShardChecks) -> None:
    """Check that a collective can combine the results of the devices."""
    checks.check_on_shards(op)


@FORMS.of(ReduceOp)
@of_shards
def reduce(op: ReduceOp, lowering: Lowering) -> None:
    """Reduce the shard; if no all-reduce completes the op, also gather and reduce the results of all shards."""
    combiners = combiners_of(op.body.block)
    is_complete = reduction_kinds(op) is not None
    dims = ints_of(op.dimensions)
    axes: AxisList = tuple(axis for dim in dims for axis in lowering.shardings.dim_axes(op.inputs[0], dim))
    inits = list(op.init_values)
    if axes and combiners is not None:
        for index, combiner in enumerate(combiners):
            op.operands[len(inits) + index] = _init_on_first_device(lowering, op, inits[index], combiner, axes)
    if axes and not is_complete:
        lowering.replace(op, *_reduced_over_devices(lowering, op, inits, combiners, axes))
        return
    lowering.make_results_local(op)


def _reduced_over_devices(
    lowering: Lowering,
    op: ReduceOp,
    inits: Sequence[SSAValue],
    combiners: Sequence[CombinerClass] | None,
    axes: AxisList,
) -> Sequence[SSAValue]:
    """Reduce the shard, gather the results of all devices along `axes` by one collective, and reduce them."""
    emit = lowering.emitter(op)
    types = lowering.local_result_types(op)
    partial = emit.op(ReduceOp, op.operands, types, {"dimensions": op.dimensions}, [op.body.clone()])
    partial.attributes.update(op.attributes)
    gathered = all_gather_stacked(emit, partial.results, axes, lowering.shardings.mesh_of(op.inputs[0]))
    if combiners is not None:
        inits = [_repeatable_init(emit, *pair) for pair in zip(inits, combiners, strict=True)]
    reduced = emit.op(ReduceOp, [*gathered, *inits], types, {"dimensions": ints([0])}, [op.detach_region(op.body)])
    return reduced.results


def _init_on_first_device(
    lowering: Lowering, op: ReduceOp, init: SSAValue, combiner: CombinerClass, axes: AxisList
) -> SSAValue:
    """Return `init` on the first device along `axes` and the identity element on others, unless `init` may repeat."""
    if may_repeat(init, combiner):
        return init
    emit = lowering.emitter(op)
    is_first = is_first_device(emit, axes, lowering.shardings.mesh_of(op.inputs[0]).mesh, tensor_of(init))
    return emit.select(is_first, init, _repeatable_init(emit, init, combiner))


def _repeatable_init(emit: Emitter, init: SSAValue, combiner: CombinerClass) -> SSAValue:
    """Return `init` if it may be combined several times, otherwise the identity element."""
    return init if may_repeat(init, combiner) else identity_constant(emit, combiner, tensor_of(init))
