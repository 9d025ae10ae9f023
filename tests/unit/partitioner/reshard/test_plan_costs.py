"""The cost of plans: all pairs of shardings of a tensor, and random pairs on larger meshes."""

from __future__ import annotations

import math
import random

import pytest
from support.reshards.missing_elements import missing_elements
from support.reshards.random_reshards import BINARY, full_axis_shardings, random_reshards

from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.shape import local_shape
from sdy.model.sharding import TensorSharding
from sdy.partitioner.reshard.collective_schedule import schedule
from sdy.partitioner.reshard.plan import plan, plan_price
from sdy.partitioner.reshard.steps import Plan, collective_count, elements_received


def _ratios(sizes: tuple[int, ...], rank: int) -> list[float]:
    """Return elements received over elements lacking, of all pairs that lack any; the others must cost nothing."""
    mesh = Mesh(tuple(MeshAxis("abc"[index], size) for index, size in enumerate(sizes)))
    shape = (64,) * rank
    shardings = full_axis_shardings(mesh, rank)
    ratios: list[float] = []
    for source in shardings:
        for target in shardings:
            steps = plan(source, target, shape, mesh)
            received, lacking = elements_received(steps, mesh), missing_elements(source, target, shape, mesh)
            _check_shard_sizes(steps, source, target, shape, mesh)
            assert plan_price(source, target, shape, mesh)[:2] == (received, collective_count(steps))
            assert received <= _fixed_cost(source, target, shape, mesh)
            if lacking:
                ratios.append(received / lacking)
            else:
                assert collective_count(steps) == 0
    return ratios


def _check_shard_sizes(
    steps: Plan, source: TensorSharding, target: TensorSharding, shape: tuple[int, ...], mesh: Mesh
) -> None:
    largest = max(_shard_size(shape, sharding, mesh) for sharding in (source, target))
    assert all(_shard_size(step.shape, step.sharding, mesh) <= largest for step in steps)


def _shard_size(shape: tuple[int | None, ...], sharding: TensorSharding, mesh: Mesh) -> int:
    local = local_shape(shape, sharding, mesh, allow_uneven=False)
    assert local is not None
    return math.prod(size or 0 for size in local)


def _fixed_cost(source: TensorSharding, target: TensorSharding, shape: tuple[int, ...], mesh: Mesh) -> float:
    """Return the cost of the fixed schedule; infinite if it shards a dim unevenly."""
    steps = schedule(source, target, shape, mesh)
    divides = all(local_shape(shape, step.sharding, mesh, allow_uneven=False) for step in steps)
    return elements_received(steps, mesh) if divides else math.inf


def _geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def test_all_pairs_of_a_matrix_on_eight_devices() -> None:
    ratios = _ratios((2, 2, 2), 2)
    assert len(ratios) == 2208
    assert _geometric_mean(ratios) < 1.045
    assert max(ratios) <= 1.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "rank", "mean"),
    [
        ((2, 2), 2, 1.0),
        ((4, 2), 2, 1.052),
        ((2, 2), 3, 1.0),
        ((4, 2), 3, 1.056),
        ((2, 2, 2), 3, 1.064),
        ((4, 4, 4), 2, 1.14),
    ],
)
def test_all_pairs(sizes: tuple[int, ...], rank: int, mean: float) -> None:
    ratios = _ratios(sizes, rank)
    assert _geometric_mean(ratios) <= mean
    assert max(ratios) < 2


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow if seed else ()) for seed in range(20)])
def test_random_pairs_on_larger_meshes_cost_no_more_than_the_fixed_schedule(seed: int) -> None:
    rng = random.Random(seed)
    saved = 0
    for _ in range(25):
        for reshard in random_reshards(
            rng, 10, rng.choice((*BINARY, (16, 16), (8, 8, 2), (4, 4, 4), (6, 4), (3, 2, 4)))
        ):
            steps = plan(reshard.source, reshard.target, reshard.shape, reshard.mesh)
            fixed = _fixed_cost(reshard.source, reshard.target, reshard.shape, reshard.mesh)
            assert elements_received(steps, reshard.mesh) <= fixed
            saved += elements_received(steps, reshard.mesh) < fixed
    assert saved > 25
