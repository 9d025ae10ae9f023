"""Programs of one op for the proof: every sharding of operands and results on small meshes, proved and run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations, product

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.evidence.proof.prove import prove_by_lemmas
from sdy.evidence.runs.verification import Verdict, verify_sizes_as_they_are
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import grid_of_mesh
from sdy.interpreter.devices.shards import copies_problem, shard, unshard
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.run import interpret, run_spmd
from sdy.model.axis import AxisRef
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.program.program import Program

Shape = tuple[int, ...]
Axes = tuple[tuple[str, ...], ...]  # per dim

MESHES = (
    Mesh((MeshAxis("x", 2),)),
    Mesh((MeshAxis("x", 2), MeshAxis("y", 2))),
    Mesh((MeshAxis("x", 2), MeshAxis("y", 2)), (0, 2, 3, 1)),
)


@dataclass(frozen=True)
class Counts:
    """The number of programs that were tried, and the number of those that were proved."""

    tried: int
    proved: int


def shardings(shape: Shape, mesh: Mesh) -> Iterator[Axes]:
    """Yield all even shardings of a shape along axes of a mesh, in all orders."""
    names = [axis.name for axis in mesh.axes]
    for places in product(range(-1, len(shape)), repeat=len(names)):
        chosen = [
            [name for name, place in zip(names, places, strict=True) if place == dim] for dim in range(len(shape))
        ]
        for orders in product(*(permutations(each) for each in chosen)):
            if all(size % 2 ** len(axes) == 0 for size, axes in zip(shape, orders, strict=True)):
                yield tuple(orders)


def operand_choices(shape: Shape, mesh: Mesh) -> list[tuple[Axes, tuple[str, ...]]]:
    """Return the shardings of an operand, and the axes along which it is unreduced: none, or a free one."""
    found: list[tuple[Axes, tuple[str, ...]]] = []
    for axes in shardings(shape, mesh):
        free = [axis.name for axis in mesh.axes if all(axis.name not in each for each in axes)]
        found += [(axes, ()), *((axes, (name,)) for name in free)]
    return found


def local_shape(shape: Shape, axes: Axes) -> Shape:
    """Return the shape of a shard; all axes have size 2."""
    return tuple(size // 2 ** len(each) for size, each in zip(shape, axes, strict=True))


def placement(shape: Shape, axes: Axes, mesh: Mesh, unreduced: Sequence[str] = ()) -> TensorPlacement:
    """Return the placement of a tensor."""
    dims = tuple(DimSharding(tuple(map(AxisRef, each))) for each in axes)
    partial = tuple(AxisRef(axis.name) for axis in mesh.axes if axis.name in unreduced)
    return TensorPlacement(shape, TensorSharding(mesh, dims, unreduced=partial), mesh)


def program(body: str, arguments: Sequence[str], result: str) -> str:
    """Return the text of a program of ops on %arg0, %arg1, ... that return %r."""
    named = ", ".join(f"%arg{number}: {each}" for number, each in enumerate(arguments))
    return f"func.func @main({named}) -> {result} {{\n  {body}\n  return %r : {result}\n}}"


def is_right(local: str, whole: str, boundary: ProgramPlacement, inputs: Sequence[Array]) -> bool:
    """Run both programs, and return whether the devices hold the shards of the result, and equal copies of them."""
    mesh, wanted = boundary.mesh, boundary.results[0]
    shards = [_shards(array, each, mesh) for array, each in zip(inputs, boundary.arguments, strict=True)]
    (found,) = run_spmd(_parsed(local), shards, grid_of_mesh(mesh))
    (expected,) = interpret(_parsed(whole), inputs)
    if copies_problem(found, wanted, 0):
        return False
    return np.array_equal(unshard(found, wanted.sharding, mesh, wanted.shape), expected)


def _shards(array: Array, place: TensorPlacement, mesh: Mesh) -> DeviceArray:
    """Return the shards of an argument; along unreduced axes, contributions that are all different from 0."""
    value = shard(array, place.sharding, mesh)
    found = value.array
    for ref in place.sharding.unreduced:
        axis = [each.name for each in mesh.axes].index(ref.name)
        first = np.take(found, [0], axis=axis)
        part = np.random.default_rng(7).integers(-9, 10, first.shape).astype(np.int32)
        found = np.concatenate([np.subtract(first, part), part], axis=axis)  # the second device holds 0 at first
    return replace(value, array=found)


def is_proved(local: str, whole: str, boundary: ProgramPlacement) -> bool:
    """Return whether the local program is proved."""
    return prove_by_lemmas(_parsed(whole), _parsed(local), boundary).proof.is_proved


def is_the_same(local: str, whole: str, boundary: ProgramPlacement) -> bool:
    """Return whether both programs compute the same function in exact numbers."""
    module = _parsed(whole)
    program = Compiled(module, module, _parsed(local), boundary, Program.from_module(module).origin)
    try:
        return verify_sizes_as_they_are(program).verdict is Verdict.SAME
    except SdyError:
        return False


@lru_cache(maxsize=1000)
def _parsed(text: str) -> ModuleOp:
    """Return the module of a text, which many boundaries share; neither the proof nor the interpreter changes it."""
    return parse_module(text)


def small_array(shape: Shape, seed: int) -> Array:
    """Return an array of small integers; as starts, many of them move some elements of an update out of bounds."""
    return np.random.default_rng(seed).integers(-3, 5, shape).astype(np.int32)
