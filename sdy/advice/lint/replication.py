"""Rules on values that are replicated although they could be sharded: SDY-S401, SDY-S402 and SDY-S413."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.ir import Operation

from sdy.advice.edits import Edit, with_axis
from sdy.advice.lint.finding import Candidate, Fix
from sdy.advice.lint.linted_program import LintedProgram, Target, cost_of, divisible_dims, uses_axis
from sdy.advice.lint.price import Cost
from sdy.advice.lint.uses import fix_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.collectives import AllGatherOp, CollectiveOp
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
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
        name, span = linted.names.name(target), linted.names.span(target)
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
        edit = Edit(target, with_axis(_with_axes_of(base, final), dim, axis))
        yield fix_of(linted, edit)


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
        name, span = linted.names.name(written), span_of(op)
        compute = full.times(1 - 1 / sharded_size(axes, linted.mesh))
        listed = ", ".join(map(str, axes))
        yield Candidate(
            "SDY-S413",
            f"every device along {listed} computes {name} in full, after gathering operand {index}",
            cost_of(collectives).plus(compute),
            [fix_of(linted, edit)],
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
