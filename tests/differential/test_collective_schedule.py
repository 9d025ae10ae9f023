"""Compare the collectives of random reshards with those of Shardy."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

import pytest
from support.oracle.jaxlib_mlir import run_pipeline
from support.oracle.known_differences import IS_NEWER, UNEVEN_RESHARDS

from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.grammar.write import write_sharding
from sdy.model.axis import AxisRef, SubAxis, can_merge
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.passes.export.reshards.reshard_to_collectives import ReshardToCollectivesPass
from sdy.passes.run import run_passes

SIZES = (2, 2, 2, 4, 4, 8)  # with powers of two the reference is right for every pair
EVEN_DIMS = (2**12, 3 * 2**12, 2**14)  # more than the largest mesh has devices
UNEVEN_DIMS = (6, 8, 24, 64, 128)


@pytest.mark.parametrize("seed", range(10))
def test_random_reshards_become_the_collectives_of_shardy(seed: int) -> None:
    _check(_module(random.Random(seed), functions=20, sizes=EVEN_DIMS))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.skipif(IS_NEWER, reason=UNEVEN_RESHARDS)
def test_random_uneven_reshards_become_the_collectives_of_shardy(seed: int) -> None:
    _check(_module(random.Random(seed), functions=20, sizes=UNEVEN_DIMS))


def _check(text: str) -> None:
    module = parse_module(text)
    run_passes(make_context(), module, [ReshardToCollectivesPass()])
    assert print_module(module).strip() == run_pipeline(text, "func.func(sdy-reshard-to-collectives)").strip()
    assert re.search(r"sdy\.(all_gather|all_slice|all_to_all|collective_permute)", print_module(module))


def _module(rng: random.Random, functions: int, sizes: Sequence[int]) -> str:
    mesh = Mesh(tuple(MeshAxis(name, rng.choice(SIZES)) for name in "abcd"[: rng.randint(1, 4)]))
    turned = Mesh(mesh.axes, tuple(reversed(range(mesh.device_count))))
    lines = [f"sdy.mesh @m = {mesh}", f"sdy.mesh @r = {turned}"]
    for number in range(functions):
        rank = rng.randint(1, 3)
        tensor = f"tensor<{'x'.join(str(rng.choice(sizes)) for _ in range(rank))}xf32>"
        source, target = _sharding(rng, mesh, rank, "m"), _sharding(rng, mesh, rank, rng.choice("mmmr"))
        argument = f"%a: {tensor} {{sdy.sharding = #sdy.sharding{write_sharding(source)}}}"
        lines += [
            f"func.func @f{number}({argument}) -> {tensor} {{",
            f"  %0 = sdy.reshard %a {write_sharding(target)} : {tensor}",
            f"  return %0 : {tensor}",
            "}",
        ]
    return "\n".join(lines)


def _sharding(rng: random.Random, mesh: Mesh, rank: int, name: str) -> TensorSharding:
    refs = [ref for axis in mesh.axes for ref in _split_axis(rng, axis)]
    rng.shuffle(refs)
    dims: list[list[AxisRef]] = [[] for _ in range(rank)]
    for ref in refs:
        dim = rng.choice(dims)
        if rng.random() < 0.7 and not (dim and can_merge(dim[-1], ref)):
            dim.append(ref)
    return TensorSharding(name, tuple(DimSharding(tuple(axes)) for axes in dims))


def _split_axis(rng: random.Random, axis: MeshAxis) -> Iterator[AxisRef]:
    divisors = [size for size in range(2, axis.size) if axis.size % size == 0]
    if not divisors or rng.random() > 0.35:
        yield AxisRef(axis.name)
        return
    size = rng.choice(divisors)
    both = [AxisRef(axis.name, SubAxis(1, size)), AxisRef(axis.name, SubAxis(size, axis.size // size))]
    yield from both if rng.random() < 0.4 else [rng.choice(both)]
