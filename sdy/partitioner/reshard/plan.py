"""Plan a reshard: the collectives, and the reshapes between them, from one sharding to another.

    mesh <["x"=2, "y"=2]>, tensor<8x8>
    [{"x"}, {}] -> [{}, {"x", "y"}]

    reshape                    8x8 as 8x2x4    [{"x"}, {}, {}]
    all_slice [{}, {}, {"y"}]                  [{"x"}, {}, {"y"}]
    all_to_all [{"x"}: 0->1]                   [{}, {"x"}, {"y"}]
    reshape                    8x2x4 as 8x8    [{}, {"x", "y"}]

The search finds moves between slots (`search`); here they become collectives on as few dims as possible (`dim_split`).
If the two shardings have no common slots, as with axes of sizes 2 and 3 on one dim, or a dim does not divide, the plan
is the fixed schedule, or gathers and slices all axes that differ.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from sdy.model.axis import AxisList, AxisRef
from sdy.model.collective import AllSlice, AxesPerDim, Collective, CollectivePermute
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import digits_of
from sdy.model.shape import Shape, local_shape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.reshard.collective_schedule import gather_and_slice, schedule
from sdy.partitioner.reshard.dim_split import DimSplit, coarsest_split
from sdy.partitioner.reshard.move_sequence import MoveSequence, find_moves, merge_slices, with_permute
from sdy.partitioner.reshard.slot_moves import MoveKind
from sdy.partitioner.reshard.steps import Plan, PlanStep, Reshape, collective_count, elements_received


@lru_cache(maxsize=4096)
def plan(
    source: TensorSharding,
    target: TensorSharding,
    shape: Shape,
    mesh: Mesh,
    target_mesh: Mesh | None = None,
    manual_axes: frozenset[AxisRef] = frozenset(),
) -> Plan:
    """Return the steps that reshard a tensor of `shape`, with the fewest bytes, then the fewest collectives.

    `mesh` is that of the source. `target_mesh` has the same axes, maybe in another device order; None stands for
    `mesh`. `manual_axes` are those of enclosing manual computations, along which devices hold different tensors. A
    dynamic dim is None. No step has larger shards than both the source and the target.
    """
    if target_mesh is None or target_mesh == mesh:
        return _plan_on_one_mesh(source, replace(target, mesh=source.mesh), shape, mesh, manual_axes)
    moved = equivalent_sharding(source, mesh, target.mesh, target_mesh)
    if moved is not None:
        rest = _plan_on_one_mesh(moved, target, shape, target_mesh, manual_axes)
        return (PlanStep(CollectivePermute(), shape, moved), *rest)
    last = equivalent_sharding(target, target_mesh, source.mesh, mesh)
    if last is not None:
        steps = _plan_on_one_mesh(source, last, shape, mesh, manual_axes)
        return (*steps, PlanStep(CollectivePermute(), shape, target))
    sequence = find_moves(source, target, shape, mesh, manual_axes)
    if sequence is None:
        return fixed_schedule(source, target, shape, mesh)
    moves, index = with_permute(sequence)
    meshes = [*[source.mesh] * (index + 1), *[target.mesh] * (len(moves) - index)]
    return tuple(_PlanBuilder(replace(sequence, moves=moves), meshes, target, shape).steps())


def _plan_on_one_mesh(
    source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh, manual_axes: Collection[AxisRef]
) -> Plan:
    sequence = find_moves(source, target, shape, mesh, manual_axes)
    if sequence is None:
        return fixed_schedule(source, target, shape, mesh)
    found = tuple(_PlanBuilder(sequence, [target.mesh] * (len(sequence.moves) + 1), target, shape).steps())
    if not any(isinstance(step.action, CollectivePermute | Reshape) for step in found):
        return found
    # The fixed schedule splits no dims, so it is preferred if it costs the same. Rarely it uses slots that neither
    # sharding has, which the search does not consider, and costs less.
    fixed = fixed_schedule(source, target, shape, mesh)
    return min(fixed, found, key=lambda steps: (elements_received(steps, mesh), collective_count(steps)))


class PlanPrice(NamedTuple):
    """The elements that each device receives by a plan, and the number of its collectives.

    `sliced` are the axes by which the plan slices first, those of adjacent slots together.
    """

    elements: float
    collectives: int
    sliced: AxesPerDim


def plan_price(source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh) -> PlanPrice:
    """Return the price of the plan of a reshard on one mesh. Faster than to plan, since no dims are split."""
    sequence = find_moves(source, target, shape, mesh, ())
    found = None if sequence is None else PlanPrice(*sequence.price(shape), sequence.first_slices())
    if sequence is not None and found is not None:
        permutes = any(move.kind is MoveKind.PERMUTE for move in sequence.moves)
        if not permutes and not _PlanBuilder(sequence, (), target, shape).splits_dims():
            return found
    steps = fixed_schedule(source, target, shape, mesh)
    sliced = steps[0].action.axes if steps and isinstance(steps[0].action, AllSlice) else ()
    fixed = PlanPrice(elements_received(steps, mesh), collective_count(steps), sliced)
    return fixed if found is None or fixed[:2] <= found[:2] else found


def fixed_schedule(source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh) -> Plan:
    """Return the fixed schedule if all its shardings divide the dims; else gather and slice, which is always valid."""
    steps: Plan = ()
    if digits_of([*source.axis_refs(), *target.axis_refs()], mesh) is not None:
        steps = tuple(_without_identities(source, schedule(source, target, shape, mesh)))
    if not steps or any(local_shape(shape, step.sharding, mesh, allow_uneven=False) is None for step in steps):
        steps = gather_and_slice(source, target, shape, mesh)
    return steps


def _without_identities(sharding: TensorSharding, steps: Plan) -> Iterator[PlanStep]:
    """Yield the steps without permutes to the same sharding, which send nothing."""
    for step in steps:
        before, sharding = sharding, step.sharding
        if not isinstance(step.action, CollectivePermute) or replace(before, replicated=()) != sharding:
            yield step


class _PlanBuilder:
    """Converts moves to plan steps. `meshes` has the mesh before the first move, and after each move."""

    def __init__(
        self, sequence: MoveSequence, meshes: Sequence[str | Mesh], target: TensorSharding, shape: Shape
    ) -> None:
        self._sequence = sequence
        self._meshes = meshes
        self._target = target
        self._shape = shape
        self._fillings = (sequence.start, *(move.filling for move in sequence.moves))

    def steps(self) -> Iterator[PlanStep]:
        """Yield the steps; dims are split from the first move that requires it to the last one."""
        unsplit, moves, splitting = DimSplit(self._sequence.slots), self._sequence.moves, self.splits_dims()
        if not splitting:
            yield from self._collectives(unsplit, 0, len(moves))
            return
        first, last = splitting[0], splitting[-1] + 1
        while first and moves[first - 1].kind is moves[first].kind is MoveKind.SLICE:
            first -= 1  # one slice of all dims
        split = coarsest_split(self._sequence.slots, self._fillings[first], moves[first:last], self._sequence.digits)
        yield from self._collectives(unsplit, 0, first)
        yield self._step(Reshape(), split, first)
        yield from self._collectives(split, first, last)
        yield self._step(Reshape(), unsplit, last)
        yield from self._collectives(unsplit, last, len(moves))

    def splits_dims(self) -> list[int]:
        """Return the indices of the moves that are collectives only once dims are split."""
        unsplit = DimSplit(self._sequence.slots)
        return [index for index in range(len(self._sequence.moves)) if not self._can_perform(unsplit, index)]

    def _can_perform(self, split: DimSplit, index: int) -> bool:
        return split.can_perform(self._fillings[index], self._sequence.moves[index : index + 1], self._sequence.digits)

    def _collectives(self, split: DimSplit, first: int, last: int) -> Iterator[PlanStep]:
        """Yield the collectives of the moves from `first` up to and excluding `last`."""
        before, index = self._fillings[first], first
        for move in merge_slices(self._sequence.moves[first:last]):
            index = self._fillings.index(move.filling, index + 1)
            collective = split.collective(before, move, self._sequence.digits)
            assert collective is not None  # the split is chosen for these moves
            yield self._step(collective, split, index)
            before = move.filling

    def _step(self, action: Collective | Reshape, split: DimSplit, index: int) -> PlanStep:
        """Return the step whose result is the tensor after `index` moves."""
        digits_per_dim = split.digits_per_dim(self._fillings[index])
        assert digits_per_dim is not None  # the split is chosen for these moves
        dims = tuple(DimSharding(self._sequence.digits.join(digits)) for digits in digits_per_dim)
        sharding = replace(self._target, mesh=self._meshes[index], dims=dims, replicated=())
        return PlanStep(action, split.shape(self._shape), sharding)


def equivalent_sharding(
    sharding: TensorSharding, mesh: Mesh, reference: str | Mesh, other: Mesh
) -> TensorSharding | None:
    """Return the sharding on `other`, which `reference` names, that gives each device the same shard, or None.

    An axis in one device order may be another axis in the other order. Partial values stay on their devices only if
    they are unreduced along the same axes.

    >>> from sdy.model.axis import AxisRef
    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("b", 2)))
    >>> turned = Mesh(mesh.axes, (0, 2, 1, 3))
    >>> rows = TensorSharding("mesh", (DimSharding((AxisRef("a"),)),))
    >>> print(equivalent_sharding(rows, mesh, "turned", turned).dims[0].axes[0])
    "b"
    """
    digits = digits_of(list(sharding.axis_refs()), mesh)
    assert digits is not None  # the refs of one sharding have a common split
    digit_at = {shard_coordinates((ref,), other): digit for digit, ref in enumerate(digits.refs)}

    def on_other(axes: AxisList) -> AxisList | None:
        found = [digit_at.get(shard_coordinates((digits.refs[digit],), mesh)) for digit in digits.inside(axes)]
        return None if None in found else digits.join(digit for digit in found if digit is not None)

    dims = [on_other(dim.axes) for dim in sharding.dims]
    if None in dims or on_other(sharding.unreduced) != sharding.unreduced:
        return None
    return replace(
        sharding, mesh=reference, dims=tuple(DimSharding(axes) for axes in dims if axes is not None), replicated=()
    )
