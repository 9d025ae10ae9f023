"""Draw random reshards: meshes, device orders, shardings with sub-axes and shapes that they divide."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from sdy.grammar.write import write_sharding
from sdy.model.axis import AxisList, AxisRef, sub_axis_ref
from sdy.model.axis_list import extended, sharded_size, sort_and_merge
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, TensorSharding

BINARY = ((2, 2), (4, 2), (2, 2, 2), (4, 4), (8, 2, 2), (4, 2, 4), (2, 2, 2, 2))
MIXED = (*BINARY, (2, 3), (6, 4), (3, 2, 2), (12,), (3, 3, 2))


@dataclass(frozen=True)
class Reshard:
    """A reshard of a tensor of `shape`. The two meshes differ at most in the order of devices."""

    source: TensorSharding
    target: TensorSharding
    shape: tuple[int, ...]
    mesh: Mesh
    target_mesh: Mesh


def random_reshards(
    rng: random.Random, count: int, sizes: tuple[int, ...], *, unreduced: bool = False, turned: bool = False
) -> list[Reshard]:
    """Return `count` reshards on a mesh with axes of `sizes`; if `turned`, some change the order of devices."""
    mesh = Mesh(tuple(MeshAxis("abcd"[index], size) for index, size in enumerate(sizes)))
    other = _turned(rng, mesh) if turned else mesh
    return [_random_reshard(rng, mesh, other, unreduced=unreduced) for _ in range(count)]


def _random_reshard(rng: random.Random, mesh: Mesh, other: Mesh, *, unreduced: bool) -> Reshard:
    rank = rng.randint(1, 3)
    refs = [ref for axis in mesh.axes for ref in _split_axis(rng, axis)]
    partial = (refs.pop(rng.randrange(len(refs))),) if unreduced and rng.random() < 0.4 else ()
    source, target = (_random_sharding(rng, mesh, rank, refs, partial) for _ in range(2))
    counts = [
        lcm(*(sharded_size(dim.axes, mesh) for dim in dims)) for dims in zip(source.dims, target.dims, strict=True)
    ]
    target_mesh = other if rng.random() < 0.5 else mesh
    return Reshard(
        source,
        replace(target, mesh="t" if target_mesh != mesh else "m"),
        tuple(count * rng.randint(1, 2) for count in counts),
        mesh,
        target_mesh,
    )


def _turned(rng: random.Random, mesh: Mesh) -> Mesh:
    """Return the mesh with another order of devices: axes swapped, or a random permutation."""
    ids = list(range(mesh.device_count))
    if rng.random() < 0.5:
        rng.shuffle(ids)
        return Mesh(mesh.axes, tuple(ids))
    grid = np.array(ids).reshape([axis.size for axis in mesh.axes])
    order = rng.sample(range(grid.ndim), grid.ndim)
    return Mesh(mesh.axes, tuple(int(device) for device in grid.transpose(order).ravel()))


def _split_axis(rng: random.Random, axis: MeshAxis) -> Iterator[AxisRef]:
    divisors = [size for size in range(2, axis.size) if axis.size % size == 0]
    if not divisors or rng.random() < 0.5:
        yield AxisRef(axis.name)
        return
    size = rng.choice(divisors)
    yield sub_axis_ref(axis.name, 1, size)
    yield sub_axis_ref(axis.name, size, axis.size)


def _random_sharding(
    rng: random.Random, mesh: Mesh, rank: int, refs: list[AxisRef], partial: AxisList
) -> TensorSharding:
    dims: list[list[AxisRef]] = [[] for _ in range(rank)]
    for ref in rng.sample(refs, len(refs)):
        if rng.random() < 0.75:
            rng.choice(dims).append(ref)
    return TensorSharding(
        "m", tuple(DimSharding(extended((), axes, mesh)) for axes in dims), unreduced=sort_and_merge(partial, mesh)
    )


def reshard_program(reshards: list[Reshard], elements: list[str]) -> str:
    """Return a program that reshards each of its arguments."""
    meshes = {reshard.target.mesh: reshard.target_mesh for reshard in reshards} | {"m": reshards[0].mesh}
    arguments: list[str] = []
    results: list[str] = []
    lines: list[str] = []
    for index, (reshard, element) in enumerate(zip(reshards, elements, strict=True)):
        tensor = f"tensor<{'x'.join(map(str, reshard.shape))}x{element}>"
        source, target = write_sharding(reshard.source), write_sharding(reshard.target)
        arguments.append(f"%a{index}: {tensor} {{sdy.sharding = #sdy.sharding{source}}}")
        results.append(f"{tensor} {{sdy.sharding = #sdy.sharding{target}}}")
        lines.append(f"  %r{index} = sdy.reshard %a{index} {target} : {tensor}")
    names = ", ".join(f"%r{index}" for index in range(len(reshards)))
    types = ", ".join(result.split(" ")[0] for result in results)
    return "\n".join(
        [
            *(f"sdy.mesh @{name} = {mesh}" for name, mesh in meshes.items()),
            f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{",
            *lines,
            f"  return {names} : {types}",
            "}",
        ]
    )


def full_axis_shardings(mesh: Mesh, rank: int) -> list[TensorSharding]:
    """Return every assignment of ordered, disjoint lists of full axes to the dims of a tensor."""
    axes = [AxisRef(axis.name) for axis in mesh.axes]
    found: list[TensorSharding] = []
    for count in range(len(axes) + 1):
        for order in itertools.permutations(axes, count):
            for inner in itertools.combinations_with_replacement(range(count + 1), rank - 1):
                bounds = itertools.pairwise([0, *inner, count])
                found.append(TensorSharding("m", tuple(DimSharding(order[start:end]) for start, end in bounds)))
    return found
