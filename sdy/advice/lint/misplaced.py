"""SDY-S415: an axis shards a dim of an argument or a constraint, where another dim would cost less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from sdy.advice.edits import Edit, with_axis
from sdy.advice.lint.finding import Candidate, Fix, and_others
from sdy.advice.lint.linted_program import LintedProgram, cost_of, divisible_dims
from sdy.advice.lint.price import Cost
from sdy.advice.lint.uses import fix_of
from sdy.dialects.sharded_types import static_shape
from sdy.model.axis import AxisRef
from sdy.model.sharding import TensorSharding
from sdy.report.similar_entries import without_names

LEAST_SHARE = 1 / 3  # of the communication along an axis that a better dim for it avoids


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
            name, sent = linted.names.name(first), cost_of(collectives)
            named = and_others(name, len(targets) - 1)
            dim = next(index for index, own in enumerate(sharding.dims) if ref in own.axes)
            yield Candidate(
                "SDY-S415",
                f"{ref} shards dim {dim} of {named}, where another dim costs less",
                Cost(sent.bytes_sent, sent.seconds, len(targets) * linted.local_bytes(first, sharding)),
                fixes,
                needs_fix=True,
                least_saved=sent.times(LEAST_SHARE),
                span=linted.names.span(first),
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
        name, is_argument = linted.names.name(target), target in linted.boundary
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
            yield fix_of(linted, *(Edit(target, moved) for target in targets))
