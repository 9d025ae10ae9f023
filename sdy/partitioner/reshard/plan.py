"""From one sharding to another: the collectives, and the reshapes between them, that do it.

    mesh <["x"=2, "y"=2]>, tensor<8x8>
    [{"x"}, {}] -> [{}, {"x", "y"}]

    reshape                    8x8 as 8x2x4    [{"x"}, {}, {}]
    all_slice [{}, {}, {"y"}]                  [{"x"}, {}, {"y"}]
    all_to_all [{"x"}: 0->1]                   [{}, {"x"}, {"y"}]
    reshape                    8x2x4 as 8x8    [{}, {"x", "y"}]

The search finds moves between slots (`search`); here they become collectives on as few dims as possible (`layout`).
Where the slots of both ends do not fit, as with axes of 2 and of 3 on one dim, or a dim does not divide, the fixed
schedule is taken, or all that differs gathered and sliced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from sdy.model.axis import AxisRef
from sdy.model.collective import Collective, CollectivePermute
from sdy.model.mesh import Mesh
from sdy.model.shape import Shape, local_shape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.reshard.collective_schedule import ReshardStep, gather_and_slice, schedule
from sdy.partitioner.reshard.device_order import restated
from sdy.partitioner.reshard.digits import digits_of
from sdy.partitioner.reshard.layout import Layout, coarsest
from sdy.partitioner.reshard.route import Route, find_route, joined_slices, with_permute
from sdy.partitioner.reshard.steps import Plan, PlanStep, Reshape, collective_count, elements_received


@lru_cache(maxsize=4096)
def plan(
    source: TensorSharding,
    target: TensorSharding,
    shape: Shape,
    mesh: Mesh,
    target_mesh: Mesh | None = None,
    taken: frozenset[AxisRef] = frozenset(),
) -> Plan:
    """The steps that take a tensor of `shape` from `source` to `target`: the fewest bytes, then the fewest collectives.

    `mesh` is the source's. The target's has the same axes, maybe in another order of devices; without `target_mesh` it
    is the source's. Axes in `taken` are those of enclosing manual computations, on which devices have tensors of their
    own. A dim of unknown size is None. None of the steps leads through tiles larger than those of both ends.
    """
    if target_mesh is None or target_mesh == mesh:
        return _on_one_mesh(source, replace(target, mesh=source.mesh), shape, mesh, taken)
    here = restated(source, mesh, target.mesh, target_mesh)
    if here is not None:
        return (PlanStep(CollectivePermute(), shape, here), *_on_one_mesh(here, target, shape, target_mesh, taken))
    there = restated(target, target_mesh, source.mesh, mesh)
    if there is not None:
        return (*_on_one_mesh(source, there, shape, mesh, taken), PlanStep(CollectivePermute(), shape, target))
    route = find_route(source, target, shape, mesh, taken)
    if route is None:
        return _fixed(source, target, shape, mesh)
    moves, place = with_permute(route)
    meshes = [*[source.mesh] * (place + 1), *[target.mesh] * (len(moves) - place)]
    return tuple(_Assembly(replace(route, moves=moves), meshes, target, shape).steps())


def _on_one_mesh(
    source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh, taken: Collection[AxisRef]
) -> Plan:
    route = find_route(source, target, shape, mesh, taken)
    if route is None:
        return _fixed(source, target, shape, mesh)
    found = tuple(_Assembly(route, [target.mesh] * (len(route.moves) + 1), target, shape).steps())
    if not any(isinstance(step.action, CollectivePermute | Reshape) for step in found):
        return found
    # The fixed schedule splits no dims, so it is simpler where it costs as much. Rarely it leads through slots that
    # neither end has, which the search leaves out, and costs less.
    fixed = _fixed(source, target, shape, mesh)
    return min(fixed, found, key=lambda steps: (elements_received(steps, mesh), collective_count(steps)))


def _fixed(source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh) -> Plan:
    """The fixed schedule, if its steps cut all dims evenly; else what is right in any case."""
    steps: Sequence[ReshardStep] = ()
    if digits_of([*source.axis_refs(), *target.axis_refs()], mesh) is not None:
        steps = schedule(source, target, shape, mesh)
    if not steps or any(local_shape(shape, step.sharding, mesh, allow_uneven=False) is None for step in steps):
        steps = gather_and_slice(source, target, mesh)
    return tuple(PlanStep(step.collective, shape, step.sharding) for step in steps)


class _Assembly:
    """The steps of a route: `meshes` has the mesh before the first move, and after each."""

    def __init__(self, route: Route, meshes: Sequence[str | Mesh], target: TensorSharding, shape: Shape) -> None:
        self._route = route
        self._meshes = meshes
        self._target = target
        self._shape = shape
        self._fillings = (route.start, *(move.filling for move in route.moves))

    def steps(self) -> Iterator[PlanStep]:
        """The collectives; dims are split for those in the middle, from the first to the last one that needs it."""
        plain = Layout(self._route.slots)
        moves = self._route.moves
        needing = [place for place in range(len(moves)) if not self._can_do(plain, place)]
        if not needing:
            yield from self._collectives(plain, 0, len(moves))
            return
        first, last = needing[0], needing[-1] + 1
        split = coarsest(self._route.slots, self._fillings[first], moves[first:last], self._route.digits)
        yield from self._collectives(plain, 0, first)
        yield self._step(Reshape(), split, first)
        yield from self._collectives(split, first, last)
        yield self._step(Reshape(), plain, last)
        yield from self._collectives(plain, last, len(moves))

    def _can_do(self, layout: Layout, place: int) -> bool:
        return layout.can_do(self._fillings[place], self._route.moves[place : place + 1], self._route.digits)

    def _collectives(self, layout: Layout, first: int, last: int) -> Iterator[PlanStep]:
        """Those of the moves from `first` to before `last`."""
        before, place = self._fillings[first], first
        for move in joined_slices(self._route.moves[first:last]):
            place = self._fillings.index(move.filling, place + 1)
            collective = layout.collective(before, move, self._route.digits)
            assert collective is not None  # the layout is chosen so
            yield self._step(collective, layout, place)
            before = move.filling

    def _step(self, action: Collective | Reshape, layout: Layout, place: int) -> PlanStep:
        """What leads to the state after `place` moves."""
        cuts = layout.cuts(self._fillings[place])
        assert cuts is not None  # the layout is chosen so
        dims = tuple(DimSharding(self._route.digits.axes(cut)) for cut in cuts)
        sharding = replace(self._target, mesh=self._meshes[place], dims=dims, replicated=())
        return PlanStep(action, layout.shape(self._shape), sharding)
