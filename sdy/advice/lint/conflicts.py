"""Rules on axes that propagation or an annotation has in the wrong dims.

SDY-S407 finds missing priorities, SDY-S410 conflicts that communicate, SDY-S415 axes of arguments and constraints that
another dim should have, and SDY-S417 axes that an op loses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import NamedTuple

from xdsl.ir import BlockArgument, OpResult, SSAValue

from sdy.advice.collectives import Collective
from sdy.advice.edits import Edit, sharding_text, with_axis, with_priority
from sdy.advice.lint.finding import Candidate, Fix, and_others
from sdy.advice.lint.linted_program import LintedProgram, cost_of, divisible_dims
from sdy.advice.lint.price import Cost
from sdy.advice.why_not import against_rival, opening
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import rank_of
from sdy.model.axis import AxisRef, overlaps
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_open
from sdy.propagation.conflicts import Conflict, Obstacle
from sdy.propagation.graph import Node, Value
from sdy.propagation.trace import holders_of
from sdy.report.explanation.causes import REDUCTIONS
from sdy.report.similar_entries import without_names

# SDY-S407


def missing_priorities(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the axes that two arguments propagate to different dims of one tensor, where no annotation has a priority.

    This is typical of FSDP: the batch is sharded along the axis along which weights are stored.
    """
    annotated = dict(_annotated_arguments(linted))
    if any(dim.priority is not None for sharding in annotated.values() for dim in sharding.dims):
        return
    for axis in linted.mesh.axes:
        ref = AxisRef(axis.name)
        roots = Counter(root for pair in _rival_arguments(linted, ref) for root in pair)
        collectives = tuple(each for each in linted.facts.collectives if axis.name in each.axis_names)
        for first, _ in roots.most_common(2):
            later = [value for value, own in annotated.items() if value is not first and _dims_along(own, ref)]
            if not later or not collectives:
                continue
            name, span = linted.name(first), linted.span(first)
            yield Candidate(
                "SDY-S407",
                f"{name} and other arguments ({len(later)}) propagate {ref} to different dims, without priorities",
                cost_of(collectives),
                list(_prioritized(linted, ref, later)),
                needs_fix=True,
                span=span,
                subject=f"priorities along {axis.name}",
            )


def _prioritized(linted: LintedProgram, axis: AxisRef, later: Sequence[SSAValue]) -> Iterator[Fix]:
    """Yield the fixes that give an axis of some arguments a later priority.

    First together with the results that are sharded along the axis, as gradients should stay sharded like the weights.
    """
    finals = linted.boundary_axes
    results = [target for target in finals if isinstance(target, int) and _dims_along(finals[target], axis)]
    for targets in ((*later, *results), later):
        edits = tuple(Edit(each, _later(linted.annotation(each) or finals[each], axis)) for each in targets)
        texts = tuple(f"{linted.name(edit.target)} as {sharding_text(edit.sharding)}" for edit in edits)
        yield Fix(texts, edits, intro=f"give {axis} a later priority in these: annotate ")


def _annotated_arguments(linted: LintedProgram) -> Iterator[tuple[SSAValue, TensorSharding]]:
    for argument in linted.main.body.block.args:
        sharding = linted.annotation(argument)
        if sharding is not None:
            yield argument, sharding


def _dims_along(sharding: TensorSharding, axis: AxisRef) -> list[int]:
    return [index for index, dim in enumerate(sharding.dims) if any(overlaps(own, axis) for own in dim.axes)]


def _later(sharding: TensorSharding, axis: AxisRef) -> TensorSharding:
    return reduce(lambda found, dim: with_priority(found, dim, 1), _dims_along(sharding, axis), sharding)


def _rival_arguments(linted: LintedProgram, axis: AxisRef) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield the pairs of arguments from which an axis came to different dims of one tensor."""
    for conflict in linted.conflicts:
        rival = conflict.rival_axis
        if conflict.obstacle is Obstacle.OTHER_DIM and rival is not None and overlaps(conflict.axis, axis):
            holders = holders_of(conflict.site)
            source = _root(linted, holders[conflict.source], conflict.axis)
            other = _root(linted, holders[conflict.target], rival)
            if source is not None and other is not None and source is not other:
                yield source, other


def _root(linted: LintedProgram, holder: Value | None, axis: AxisRef) -> SSAValue | None:
    """Return the argument of the main function that an axis of a holder comes from; None if it has another origin."""
    explainer = linted.explainer
    if holder is None:
        return None
    found = explainer.values.annotation(explainer.traced.history.path(holder, axis).root)
    if found is None or not isinstance(found[0], BlockArgument) or found[0].owner is not linted.main.body.block:
        return None
    return found[0]


# SDY-S417

MOST_LOSSES = 2  # of each axis: the first ones in the program lead to the others
LEAST_SHARE = 1 / 3  # of the communication along an axis that a fix saves


def lost_axes(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the first ops at which an axis of an operand does not reach the result, as it shards another dim there.

    A typical one is an embedding lookup that loses the axis of the batch to weights, which are sharded along it for
    memory: from there on, activations are sharded by features, and each product reshards or sums them.
    """
    for axis in linted.mesh.axes:
        ref = AxisRef(axis.name)
        collectives = tuple(each for each in linted.facts.collectives if axis.name in each.axis_names)
        losses = _losses(linted, ref) if any(each.kind not in REDUCTIONS for each in collectives) else iter(())
        for loss in islice(losses, MOST_LOSSES):
            edit = Edit(loss.value, with_axis(fully_open(linted.mesh_name, rank_of(loss.value)), loss.dim, ref))
            sent = cost_of(collectives)
            yield Candidate(
                "SDY-S417",
                f"{ref} is lost at {linted.name(loss.value)} = {loss.value.op.name}: an operand is sharded along "
                f"it, but dim {loss.dim} of the result is not, since dim {loss.rival} is",
                sent,
                [linted.fix(edit)],
                needs_fix=True,
                least_saved=sent.times(LEAST_SHARE),
                span=linted.span(loss.value),
                subject=f"axis {axis.name} of activations",
                notes=loss.sentences,
                affected=collectives,
            )


class _Loss(NamedTuple):
    """A result with a dim that an axis of an operand does not reach, its dim that has it, and the conflict in words."""

    value: OpResult
    dim: int
    rival: int
    sentences: tuple[str, ...]


def _losses(linted: LintedProgram, axis: AxisRef) -> Iterator[_Loss]:
    """Yield the results that an axis of an operand does not reach, in program order."""
    sites = {site.line: site for site in linted.explainer.conflict_sites() if site.line is not None}
    by_line = linted.explainer.descriptions.line_number
    found = [(line, each) for each in linted.conflicts if (line := by_line(each.site)) is not None]
    for line, conflict in sorted(found, key=lambda each: each[0]):
        holders, site = holders_of(conflict.site), conflict.site
        operands = len(holders) - (len(site.results) if isinstance(site, Node) else 1)
        holder = holders[conflict.target] if conflict.source < operands <= conflict.target else None
        value = None if holder is None else linted.explainer.values.written(holder)
        dim, rival = (_target_dim(linted, conflict, factor) for factor in (conflict.factor, conflict.rival))
        is_lost = conflict.obstacle is Obstacle.OTHER_DIM and overlaps(conflict.axis, axis)
        if is_lost and isinstance(value, OpResult) and dim is not None and rival is not None:
            yield _Loss(value, dim, rival, sites[line].sentences if line in sites else ())


# SDY-S410


def costly_conflicts(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the ops with conflicts that communicate.

    The cost leaves out reductions, which combine partial results along a dim that the op reduces. An op whose only
    collectives are reductions is reported only with a fix that is free.
    """
    by_line: dict[int, list[Collective]] = {}
    for each in linted.facts.collectives:
        if each.line is not None:
            by_line.setdefault(each.line, []).append(each)
    conflicts: dict[int, list[Conflict]] = {}
    for conflict in linted.conflicts:
        line = linted.explainer.descriptions.line_number(conflict.site)
        if line is not None:
            conflicts.setdefault(line, []).append(conflict)
    for site in linted.explainer.conflict_sites():
        if site.line in by_line and site.line in conflicts:
            collectives = tuple(by_line[site.line])
            resharding = tuple(each for each in collectives if each.kind not in REDUCTIONS)
            yield Candidate(
                "SDY-S410",
                f"the tensors of {site.op} have conflicting shardings",
                cost_of(resharding or collectives),
                list(_resolutions(linted, conflicts[site.line])),
                needs_fix=not resharding,
                span=collectives[0].span,
                collectives=collectives,
                notes=site.sentences,
            )


def _resolutions(linted: LintedProgram, conflicts: list[Conflict]) -> Iterator[Fix]:
    explainer = linted.explainer
    for conflict in conflicts:
        holder = holders_of(conflict.site)[conflict.target]
        dim = _target_dim(linted, conflict, conflict.factor)
        if holder is None or dim is None:
            continue
        annotated = explainer.values.annotation(holder)
        if annotated is not None:
            yield linted.fix(Edit(annotated[0], with_axis(annotated[1], dim, conflict.axis)))
        for each in (*opening(explainer, holder, dim), *against_rival(explainer, conflict, holder)):
            yield Fix((each.text,), (each.edit,))


def _target_dim(linted: LintedProgram, conflict: Conflict, factor: int | None) -> int | None:
    """Return the dim of the target of a conflict that has a factor."""
    rule = linted.explainer.traced.flat.graph.rules.value(conflict.site.rule)
    dims = (dim for dim, factors in enumerate(rule.tensors[conflict.target]) if factor in factors)
    return next(dims, None)


def misplaced_axes(linted: LintedProgram) -> Iterator[Candidate]:
    """Yield the annotated arguments and constraints with an axis along which devices communicate, to try other dims.

    Arguments that are annotated alike are tried together, as stacked weights, and then those whose names differ only in
    indices, as the weights of equal layers: a layer that is sharded otherwise than the next one would need a reshard.
    A fix must avoid much of the communication along the axis: if it saves less, other changes are better.
    """
    for axis in linted.mesh.axes:
        ref = AxisRef(axis.name)
        collectives = tuple(each for each in linted.facts.collectives if axis.name in each.axis_names)
        for targets in _similar_targets(linted, ref) if collectives else ():
            fixes = list(_moved(linted, targets, ref))
            first, sharding = targets[0], linted.annotation(targets[0])
            if not fixes or sharding is None:
                continue
            name, sent = linted.name(first), cost_of(collectives)
            named = and_others(name, len(targets) - 1)
            dim = next(index for index, own in enumerate(sharding.dims) if ref in own.axes)
            yield Candidate(
                "SDY-S415",
                f"{ref} shards dim {dim} of {named}, where another dim costs less",
                Cost(sent.bytes_sent, sent.seconds, len(targets) * linted.local_bytes(first, sharding)),
                fixes,
                needs_fix=True,
                least_saved=sent.times(LEAST_SHARE),
                span=linted.span(first),
                subject=f"boundary {name}",
            )


def _similar_targets(linted: LintedProgram, axis: AxisRef) -> Iterator[Sequence[SSAValue]]:
    """Yield the arguments and constraint results that a whole axis shards.

    First all arguments that are annotated alike, then those with similar names and types, or each alone.
    """
    alike: dict[TensorSharding, list[SSAValue]] = {}
    named: dict[object, list[SSAValue]] = {}
    for target in (*linted.main.body.block.args, *(op.result for op in linted.constraints)):
        sharding = linted.annotation(target)
        if sharding is None or not linted.is_on_mesh(sharding) or axis not in sharding.axis_refs():
            continue
        name, is_argument = linted.name(target), target in linted.boundary
        if is_argument:
            alike.setdefault(sharding, []).append(target)
        has_own_name = is_argument and not name.startswith("%")
        key = (without_names(name), target.type, sharding) if has_own_name else target
        named.setdefault(key, []).append(target)
    groups = [*alike.values(), *named.values()]
    yield from {tuple(group): group for group in groups}.values()


def _moved(linted: LintedProgram, targets: Sequence[SSAValue], axis: AxisRef) -> Iterator[Fix]:
    """Yield a fix per other dim that an axis may shard instead, in all the targets alike."""
    sharding = linted.annotation(targets[0])
    if sharding is None or not any(axis in dim.axes for dim in sharding.dims):
        return
    shapes = [static_shape(target.type) or () for target in targets]
    for dim, own in enumerate(sharding.dims):
        is_possible = all(dim in divisible_dims(shape, sharding, axis, linted.mesh) for shape in shapes)
        if is_possible and axis not in own.axes:
            moved = with_axis(sharding, dim, axis)
            yield linted.fix(*(Edit(target, moved) for target in targets))
