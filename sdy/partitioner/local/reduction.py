"""`reduce` on one shard: the initial value counts on one device only of those that the result is combined from.

Where no all-reduce combines by the body, what all devices found is gathered and reduced once more.
Source: docs/spec/06, 8.1 (G15).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.axis import AxisList
from sdy.partitioner.emit.collective_ops import all_gather_stacked
from sdy.partitioner.emit.emitter import Emitter, identity_constant, ints, tensor_of
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.on_shards.combiners import Combiner, combiners_of, may_repeat
from sdy.partitioner.on_shards.reduction_kinds import reduction_kinds

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@CHECKS.of(ReduceOp)
def is_combined(op: ReduceOp) -> Check:
    """Some collective combines what devices find."""
    return lambda lowering: lowering.check_on_shards(op)


@FORMS.of(ReduceOp)
def reduce(op: ReduceOp) -> LocalForm:
    """The same reduction of smaller tensors; all of it, where nothing that follows combines the parts."""
    combiners = combiners_of(op.body)
    is_complete = reduction_kinds(op) is not None
    dims = ints_of(op.dimensions)

    def lower(lowering: Lowering) -> None:
        axes: AxisList = tuple(axis for dim in dims for axis in lowering.dim_axes(op.inputs[0], dim))
        inits = list(op.init_values)
        if axes and combiners is not None:
            for index, combiner in enumerate(combiners):
                op.operands[len(inits) + index] = _counting_once(lowering, op, inits[index], combiner, axes)
        if axes and not is_complete:
            lowering.replace(op, *_reduced_again(lowering, op, inits, combiners, axes))
            return
        for result in tuple(op.results):
            lowering.make_local(result, op)

    return lower


def _reduced_again(
    lowering: Lowering, op: ReduceOp, inits: Sequence[SSAValue], combiners: Sequence[Combiner] | None, axes: AxisList
) -> Sequence[SSAValue]:
    """What the shards of all devices along `axes` are reduced to: one gather of all partial results."""
    sharding = lowering.sharding(op.inputs[0])
    assert sharding is not None  # cut
    emit = lowering.emitter(op)
    types = [lowering.local_type(result.type, lowering.sharding(result), op) for result in op.results]
    partial = emit.op(ReduceOp, op.operands, types, {"dimensions": op.dimensions}, [op.body.clone()])
    partial.attributes.update(op.attributes)
    gathered = all_gather_stacked(emit, partial.results, axes, lowering.on(sharding))
    if combiners is not None:
        inits = [_neutral(emit, *pair) for pair in zip(inits, combiners, strict=True)]
    again = emit.op(ReduceOp, [*gathered, *inits], types, {"dimensions": ints([0])}, [op.detach_region(op.body)])
    return again.results


def _counting_once(lowering: Lowering, op: ReduceOp, init: SSAValue, combiner: Combiner, axes: AxisList) -> SSAValue:
    """The initial value on the first device along `axes` alone, unless it may count several times."""
    if may_repeat(init, combiner):
        return init
    sharding = lowering.sharding(op.inputs[0])
    assert sharding is not None  # cut
    emit = lowering.emitter(op)
    mine = emit.is_first(axes, lowering.mesh(sharding), tensor_of(init))
    return emit.select(mine, init, _neutral(emit, init, combiner))


def _neutral(emit: Emitter, init: SSAValue, combiner: Combiner) -> SSAValue:
    """What changes nothing, or not if `init` counts as well: `init` itself if possible."""
    return init if may_repeat(init, combiner) else identity_constant(emit, combiner, tensor_of(init))
