"""Rules on what devices store or compute more often than needed.

SDY-S401 finds arguments and results that could be sharded further, SDY-S402 axes that nothing uses, SDY-S411 dims that
are padded because the axes do not divide them, SDY-S413 ops that every device computes in full, SDY-S414 donations
without effect, and SDY-S416 arguments that are updated, such as the moments of Adam, but sharded less than their
weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.advice.edits import Edit, with_axis
from sdy.advice.lint.finding import Candidate, Fix, and_others
from sdy.advice.lint.linted_program import LintedProgram, Target, cost_of, divisible_dims, uses_axis
from sdy.advice.lint.price import Cost
from sdy.advice.partition_summary import axes_of_dims
from sdy.cost.allocation.buffers import aliased_results
from sdy.dialects.facts.traits import is_elementwise, passes_through
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sdy.collectives import AllGatherOp, CollectiveOp
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.sharded_types import static_shape, tensor_bytes
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.model.axis import AxisRef, overlaps
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import MeshAxis
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.rules.all import sharding_rule

MAX_DIMS = 2  # of the largest tensor, before other tensors are tried for an unused axis


# SDY-S401


def replicated_boundary(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the arguments and results that are replicated along an axis that could shard one of their dims.

    An axis that nothing uses is the subject of SDY-S402.
    """
    for axis in linted.mesh.axes:
        if axis.size == 1 or axis.name not in linted.used_axes:
            continue
        found = [each for target in linted.boundary_axes for each in _replicated(linted, target, axis)]
        yield from found
        results = [each for each in found if isinstance(each.fixes[0].changes[0].target, int)]
        if len(results) > 1:
            yield _together(results, axis)


def _replicated(linted: LintedProgram, target: Target, axis: MeshAxis) -> Iterator[Candidate]:
    fixes = list(_sharded_along(linted, target, AxisRef(axis.name)))
    if fixes:
        wasted = linted.local_bytes(target, linted.boundary_axes[target]) * (1 - 1 / axis.size)
        name, span = linted.name(target), linted.span(target)
        yield Candidate(
            "SDY-S401",
            f"{name} is replicated along {AxisRef(axis.name)}, which could shard it",
            Cost(memory=wasted),
            fixes,
            needs_fix=True,
            span=span,
            subject=f"boundary {name}",
        )


def _sharded_along(linted: LintedProgram, target: Target, axis: AxisRef) -> Iterator[Fix]:
    """Yield a fix per dim of an argument or result that can be sharded along an axis."""
    final, shape = linted.boundary_axes[target], static_shape(linted.type(target))
    base = linted.annotation(target) or final
    if shape is None or uses_axis(final, axis) or uses_axis(base, axis):
        return
    for dim in divisible_dims(shape, final, axis, linted.mesh):
        yield linted.fix(Edit(target, with_axis(_with_axes_of(base, final), dim, axis)))


def _with_axes_of(annotation: TensorSharding, final: TensorSharding) -> TensorSharding:
    """Return an annotation whose dims have the axes that propagation gave them, so that one more axis is minor."""
    pairs = zip(annotation.dims, final.dims, strict=True)
    return replace(annotation, dims=tuple(replace(own, axes=dim.axes) for own, dim in pairs))


def _together(results: list[Candidate], axis: MeshAxis) -> Candidate:
    """Return one candidate for all results that are replicated along an axis, each sharded in its first dim."""
    cost = Cost(memory=sum(each.cost.memory for each in results))
    return replace(
        results[0],
        message=f"{len(results)} results are replicated along {AxisRef(axis.name)}, which could shard them",
        cost=cost,
        fixes=[_combined([each.fixes[0] for each in results])],
        subject=f"results along {axis.name}",
    )


def _combined(fixes: Sequence[Fix]) -> Fix:
    """Return one fix of all changes."""
    parts = tuple(part for fix in fixes for part in fix.parts)
    return Fix(parts, tuple(change for fix in fixes for change in fix.changes))


# SDY-S402


def unused_axes(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the axes of the mesh along which nothing is sharded: the devices along them all compute the same."""
    compute = Cost(seconds=sum(linted.op_seconds.values()))
    for axis in linted.mesh.axes if compute.seconds else ():
        if axis.size == 1 or axis.name in linted.used_axes:
            continue
        ref = AxisRef(axis.name)
        meshes = (op for op in linted.compiled.written.ops if isinstance(op, MeshOp))
        span = next((span_of(op) for op in meshes if op.mesh.data == linted.mesh), None)
        yield Candidate(
            "SDY-S402",
            f"no tensor is sharded along {ref}, so its {axis.size} devices all compute the same",
            compute.times(1 - 1 / axis.size),
            _along_unused(linted, ref),
            span=span,
            subject=f"axis {axis.name}",
        )


def _along_unused(linted: LintedProgram, axis: AxisRef) -> list[Fix]:
    """Return fixes that shard the largest argument or result along an axis, all of them, or another one."""
    largest = sorted(linted.boundary_axes, key=lambda each: -linted.local_bytes(each, linted.boundary_axes[each]))
    each_alone = [found for target in largest if (found := list(_sharded_along(linted, target, axis)))]
    together = [_combined([fixes[0] for fixes in each_alone])] if len(each_alone) > 1 else []
    return [*each_alone[0][:MAX_DIMS], *together, *(fixes[0] for fixes in each_alone[1:])] if each_alone else []


# SDY-S413


def computed_in_full(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the ops that every device computes in full, because an operand is gathered for them."""
    for op in linted.final_ops:
        rule = None if isinstance(op, CollectiveOp) or len(op.results) != 1 else sharding_rule(op)
        if rule is not None:
            for index, operand in enumerate(op.operands):
                gather = operand.owner
                if isinstance(gather, AllGatherOp) and operand.has_one_use():
                    full = Cost(seconds=linted.op_seconds.get((span_of(op), op.name), 0.0))
                    yield from _gathered_for(linted, op, rule, index, gather, full)


def _gathered_for(
    linted: LintedProgram, op: Operation, rule: OpShardingRule, index: int, gather: AllGatherOp, full: Cost
) -> Iterator[Candidate]:
    result, sharding = op.results[0], sharding_of(op.results[0])
    written = linted.written.written(result)
    collectives = linted.collectives_of(gather)
    if sharding is None or written is None or not collectives or not linted.is_on_mesh(sharding):
        return
    for dim, axes in enumerate(gather.gathering_axes.data):
        target = _result_dim(rule, index, dim)
        if not axes or target is None or any(overlaps(axis, own) for axis in axes for own in sharding.axis_refs()):
            continue
        for axis in axes:
            sharding = with_axis(sharding, target, axis)
        edit = Edit(written, sharding)
        name, span = linted.name(written), span_of(op)
        compute = full.times(1 - 1 / sharded_size(axes, linted.mesh))
        listed = ", ".join(map(str, axes))
        yield Candidate(
            "SDY-S413",
            f"every device along {listed} computes {name} in full, after gathering operand {index}",
            cost_of(collectives).plus(compute),
            [linted.fix(edit)],
            needs_fix=True,
            span=span,
            collectives=collectives,
            subject=f"value {name}",
        )
        return


def _result_dim(rule: OpShardingRule, operand: int, dim: int) -> int | None:
    """Return the dim of the result that corresponds to a dim of an operand; None if there is none."""
    for factor in rule.operands[operand][dim][:1]:
        if rule.kind(factor) is FactorKind.PASS_THROUGH:
            return next((number for number, own in enumerate(rule.results[0]) if own[:1] == (factor,)), None)
    return None


# SDY-S411


def uneven_dims(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the arguments and results with a dim that its axes do not divide, so that shards are padded."""
    local = main_function(linted.compiled.local).function_type
    local_types = dict(zip(linted.boundary, (*local.inputs, *local.outputs), strict=True))
    for target in linted.boundary_axes:
        sharding, shape = linted.annotation(target), static_shape(linted.type(target))
        tensor = as_tensor(linted.type(target))
        if sharding is None or shape is None or tensor is None:
            continue
        counts = [sharded_size(dim.axes, linted.mesh) for dim in sharding.dims]
        uneven = [dim for dim, count in enumerate(counts) if shape[dim] % count]
        if not uneven:
            continue
        wasted = tensor_bytes(local_types[target]) - tensor_bytes(tensor) / prod(counts)
        dim, name, span = uneven[0], linted.name(target), linted.span(target)
        yield Candidate(
            "SDY-S411",
            f"dim {dim} of {name} has {shape[dim]} elements for {counts[dim]} shards, so that shards are padded",
            Cost(memory=wasted),
            list(_divisible(linted, target, sharding, dim, shape)),
            span=span,
            subject=f"boundary {name}",
        )


def _divisible(
    linted: LintedProgram, target: Target, sharding: TensorSharding, dim: int, shape: tuple[int, ...]
) -> Iterator[Fix]:
    """Yield the fixes that shard another dim along the minor axis of an uneven dim."""
    axis = sharding.dims[dim].axes[-1]
    for other in divisible_dims(shape, sharding, axis, linted.mesh):
        if other != dim:
            yield linted.fix(Edit(target, with_axis(sharding, other, axis)))


# SDY-S414


def idle_donations(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the donated arguments whose memory cannot be reused, as the result is sharded otherwise."""
    for argument, result in aliased_results(linted.main).items():
        value = linted.main.body.block.args[argument]
        own, other = (linted.boundary_axes.get(target) for target in (value, result))
        if (
            own is None
            or other is None
            or axes_of_dims(own) == axes_of_dims(other)
            or value.type != linted.type(result)
        ):
            continue
        name, result_name, span = linted.name(value), linted.name(result), linted.span(value)
        edits = (Edit(result, linted.closed(own)), Edit(value, linted.closed(other)))
        yield Candidate(
            "SDY-S414",
            f"{name} is donated to {result_name}, but sharded otherwise, so that its memory is not reused",
            Cost(memory=min(linted.local_bytes(value, own), linted.local_bytes(result, other))),
            [linted.fix(edit) for edit in edits],
            span=span,
            subject=f"boundary {result_name}",
        )


# SDY-S416


@dataclass(frozen=True, slots=True)
class _Update:
    """An argument and the result that takes its place in the next step, with the argument that is sharded more."""

    argument: SSAValue
    result: int
    leader: SSAValue


def replicated_states(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield one candidate for all arguments that are updated, and sharded less than an argument they meet elementwise.

    The fix gives the argument and its result, in all layers at once, the sharding of that other argument. Any of these
    alone would need a reshard.
    """
    updates = list(_updates(linted))
    if not updates:
        return
    wasted, edits = 0.0, dict[Target, Edit]()
    for each in updates:
        sharding = linted.closed(linted.boundary_axes[each.leader])
        wasted += linted.local_bytes(each.argument, linted.boundary_axes[each.argument])
        wasted -= linted.local_bytes(each.leader, sharding)
        for target in (each.argument, each.result):
            edits[target] = Edit(target, sharding)
    first = updates[0]
    name, leader = (linted.name(target) for target in (first.argument, first.leader))
    yield Candidate(
        "SDY-S416",
        f"{and_others(name, len(updates) - 1)} is updated together with {leader}, but sharded less",
        Cost(memory=wasted),
        [linted.fix(*edits.values())],
        needs_fix=True,
        span=linted.span(first.argument),
        subject=f"boundary {name}",
    )


def _updates(linted: LintedProgram) -> Iterator[_Update]:
    """Yield the updated arguments that are sharded less than an argument of the same shape, in their order."""
    leaders: dict[int, int] = {}
    arguments, sources = linted.main.body.block.args, _elementwise_sources(linted.final_main)
    for group in sources:
        known = [index for index in group if arguments[index] in linted.boundary_axes]
        if known:
            leader = min(known, key=lambda index: (_shard_bytes(linted, arguments[index]), index))
            for index in known:
                if _shard_bytes(linted, arguments[index]) > _shard_bytes(linted, arguments[leader]):
                    leaders.setdefault(index, leader)
    results = _updated_results(linted, sources)
    for index, leader in sorted(leaders.items()):
        if index in results and results[index] in linted.boundary_axes:
            yield _Update(arguments[index], results[index], arguments[leader])


def _shard_bytes(linted: LintedProgram, target: Target) -> float:
    return linted.local_bytes(target, linted.boundary_axes[target])


def _updated_results(linted: LintedProgram, sources: Sequence[frozenset[int]]) -> dict[int, int]:
    """Return the result that takes the place of each argument: by donation, or the only one that is left by data flow.

    The first moment of Adam depends elementwise on the old one alone; the new weights on the old ones and both moments.
    """
    found = aliased_results(linted.main)
    taken = set(found.values())
    for result in sorted(range(len(sources)), key=lambda result: len(sources[result])):
        left = [index for index in sources[result] if index not in found]
        if result not in taken and len(left) == 1:
            found[left[0]] = result
    return found


def _elementwise_sources(main: FuncOp) -> list[frozenset[int]]:
    """Return, for each result of a function, the arguments of its type that it depends on through elementwise ops."""
    known: dict[SSAValue, frozenset[int]] = {}

    def of(value: SSAValue) -> frozenset[int]:
        return known.get(value, frozenset())

    block = main.body.block
    for argument in block.args:
        known[argument] = frozenset({argument.index})
    for op in block.ops:
        if passes_through(op):
            known.update(zip(op.results, map(of, op.operands), strict=True))
        elif isinstance(op, CollectiveOp) or is_elementwise(op):
            for result in op.results:
                known[result] = frozenset[int]().union(*map(of, op.operands))
    returned = block.last_op.operands if block.last_op is not None else ()
    return [frozenset(index for index in of(value) if block.args[index].type == value.type) for value in returned]
