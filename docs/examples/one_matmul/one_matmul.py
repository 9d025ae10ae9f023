"""Partition one matrix product by hand: from three annotations to the program of eight devices.

    C[M, N] = A[M, K] . B[K, N]

There is no IR here, no pass and no parser: only `sdy.model` (meshes, shardings, rules), `sdy.propagation` and the
planner of reshards, which are the heart of the package. `sdy partition` does the same for every op of a program.
Read it from top to bottom, next to what `python one_matmul.py` prints. It takes twenty minutes.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from sdy.grammar.parse import parse_mesh, parse_sharding
from sdy.model.axis import AxisList, AxisRef
from sdy.model.collective import AllGather, AllSlice, AllToAll
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.rule import FactorIndex, FactorKind
from sdy.model.rule_builder import RuleBuilder
from sdy.model.shape import Shape, local_shape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.reshard.plan import plan
from sdy.partitioner.reshard.steps import PlanStep, Reshape, elements_received
from sdy.propagation.graph import Direction
from sdy.propagation.projection import Projection, project, to_sharding
from sdy.propagation.strategies.aggressive import aggressive
from sdy.propagation.strategies.step import OpStep

M, K, N = 8, 16, 32

# 1. A mesh and shardings
# -----------------------
# A mesh is a grid of devices with named axes: here eight of them, two along "x" and four along "y". Device 5 is at
# x=1, y=1. A sharding says, for each dim of a tensor, along which axes it is split. An open dim ("?") may be split
# further; a closed one stays as it is. These are frozen values, so that they can be compared, hashed and remembered.
#
# A user has annotated three tensors:
#   A is split in rows along "x" and in columns along "y", and stays so;
#   B is split in columns along "x", and its rows are open;
#   C is open everywhere: what is best for it?
# At the end, the rows of C must be split over all eight devices.

MESH = parse_mesh('<["x"=2, "y"=4]>')
A = parse_sharding('<@mesh, [{"x"}, {"y"}]>')
B = parse_sharding('<@mesh, [{?}, {"x", ?}]>')
C = parse_sharding("<@mesh, [{?}, {?}]>")
TARGET = parse_sharding('<@mesh, [{"x", "y"}, {}]>')

# 2. The sharding rule of the op
# ------------------------------
# Propagation never asks whether an op is a product or a sum. It reads the rule of the op, which ties dims together:
# a *factor* is one index of the einsum "ik,kj->ij", and each dim has the factors that it is made of. The rows of A and
# the rows of C are the same factor i, so they should be split alike. Factor k does not occur in C: it is summed.
#
#   ([i, k], [k, j]) -> ([i, j])

RULE = (
    RuleBuilder(operand_ranks=(2, 2), result_ranks=(2,))
    .factor(M, operands=(0, None), results=(0,))
    .factor(N, operands=(None, 1), results=(1,))
    .factor(K, operands=(1, 0), results=(None,), kind=FactorKind.REDUCTION)
    .build()
)
FACTORS = {"i": FactorIndex(0), "j": FactorIndex(1), "k": FactorIndex(2)}
SHAPES = {"A": (M, K), "B": (K, N), "C": (M, N)}


# 3. Propagation
# --------------
# One visit of an op has three steps. *Project*: see the axes of each dim as axes of its factors. Let a *strategy*
# extend the factors. Project *back*. In a program, the engine visits ops until no visit changes anything; each change
# makes it visit the producer and the users of the changed tensor. With one op, one visit is enough.
#
# Both i and j claim "x" in C: the rows of A bring it, and the columns of B. A tensor is split along an axis only once,
# so one of them loses. The aggressive strategy decides for the factor whose source is larger: B has more elements.


def propagate(shardings: tuple[TensorSharding, ...]) -> tuple[Projection, tuple[TensorSharding, ...]]:
    """Return the projection after one visit of the op, and the shardings of A, B and C."""
    before = project(RULE, shardings, MESH)
    both_ways = (Direction.BOTH,) * len(RULE.factor_sizes)
    after = aggressive(OpStep(RULE, both_ways, MESH, is_elementwise=False, conservative=False), before)
    found = (
        to_sharding(tensor, mapping, RULE.factor_sizes, old, "mesh", MESH)
        for tensor, mapping, old in zip(after.tensors, RULE.tensors, shardings, strict=True)
    )
    return after, tuple(found)


# 4. What the op needs
# --------------------
# To run on shards, all tensors of an op must agree on each factor. Propagation did its best, but A keeps its rows split
# along "x", and C does not: i is not agreed on. We take the axes of C for i and j, and those of A for k; a program has
# a vote instead (`sdy.partitioner.op_agreement`). Each tensor then needs the sharding that its factors say.


def axes_of_factors(after: Projection) -> dict[FactorIndex, AxisList]:
    """Return the axes along which the op runs: those of the result, and those of A for the summed factor."""
    of_a, of_c = after.operands[0], after.results[0]
    return {
        FACTORS["i"]: of_c.axes(FACTORS["i"]) or (),
        FACTORS["j"]: of_c.axes(FACTORS["j"]) or (),
        FACTORS["k"]: of_a.axes(FACTORS["k"]) or (),
    }


def needed(factors: dict[FactorIndex, AxisList], tensor: int) -> TensorSharding:
    """Return the sharding that a tensor needs; each of its dims has one factor here."""
    return TensorSharding("mesh", tuple(DimSharding(factors[dim[0]], is_closed=True) for dim in RULE.tensors[tensor]))


# 5. Resharding
# -------------
# From the sharding that a tensor has to the one that is needed, the planner searches for the collectives that send
# the fewest bytes. Its input is two shardings and a shape; its output is a sequence of steps, with the sharding after
# each. A step may also be a reshape that moves nothing: collectives split a dim further at its end only, so a dim is
# seen as two where an axis must go in between.


def reshard_steps(name: str, source: TensorSharding, target: TensorSharding) -> tuple[PlanStep, ...]:
    """Return the steps, and print them with the number of elements that a device receives."""
    closed = replace(source, dims=tuple(DimSharding(dim.axes, is_closed=True) for dim in source.dims))
    steps = plan(closed, target, SHAPES[name], MESH)
    print(f"{name}: {shown(closed)} -> {shown(target)}")
    for step in steps:
        received = elements_received((step,), MESH)
        print(f"   {type(step.action).__name__:10} {received:4.0f} elements   {shown(step.sharding)} of {step.shape}")
    return steps


# 6. The program of one device
# ----------------------------
# Now the program that each device runs can be written down: the steps that reshard A, a product of shards, a sum over
# the devices that hold other parts of k, and the steps that bring C to the user's sharding. All devices run the same
# program on different shards, which is what SPMD means. Shards are arrays here, one per device.

Array = NDArray[np.float64]
Shards = list[Array]


def local_sizes(shape: Shape, sharding: TensorSharding) -> tuple[int, ...]:
    """Return the shape of a shard. Every dim has a size here, and the axes divide it."""
    sizes = local_shape(shape, sharding, MESH, allow_uneven=False)
    assert sizes is not None
    return tuple(size for size in sizes if size is not None)


def split(array: Array, sharding: TensorSharding) -> Shards:
    """Return the shard of each device. Along each dim, `shard_coordinates` says which part a device holds."""
    sizes = local_sizes(array.shape, sharding)
    positions = [shard_coordinates(dim.axes, MESH) for dim in sharding.dims]
    return [
        array[
            tuple(
                slice(place[device] * size, (place[device] + 1) * size)
                for place, size in zip(positions, sizes, strict=True)
            )
        ]
        for device in range(MESH.device_count)
    ]


def joined(shards: Shards, sharding: TensorSharding, shape: tuple[int, ...]) -> Array:
    """Return the tensor of which each device holds a shard."""
    whole = np.zeros(shape)
    for part, shard in zip(split(whole, sharding), shards, strict=True):
        part[...] = shard  # a view of `whole`
    return whole


def groups(axes: AxisList) -> list[list[int]]:
    """Return the groups of devices that differ only along `axes`, each in the order of these axes."""
    others = tuple(AxisRef(axis.name) for axis in MESH.axes if AxisRef(axis.name) not in axes)
    inside, outside = shard_coordinates(axes, MESH), shard_coordinates(others, MESH)
    found: dict[int, list[int]] = {}
    for device in sorted(range(MESH.device_count), key=lambda each: inside[each]):
        found.setdefault(outside[device], []).append(device)
    return list(found.values())


def all_reduce(shards: Shards, axes: AxisList) -> Shards:
    """Replace the partial sums of each group by their sum."""
    result = list(shards)
    for group in groups(axes):
        total = np.sum([shards[device] for device in group], axis=0)
        for device in group:
            result[device] = total
    return result


def all_gather(shards: Shards, dim: int, axes: AxisList) -> Shards:
    """Give all devices of a group the shards of the group, joined along a dim."""
    result = list(shards)
    for group in groups(axes):
        gathered = np.concatenate([shards[device] for device in group], axis=dim)
        for device in group:
            result[device] = gathered
    return result


def all_slice(shards: Shards, dim: int, axes: AxisList) -> Shards:
    """Keep one part of each shard along a dim. Nothing is sent."""
    place, count = shard_coordinates(axes, MESH), prod(MESH.size_of(axis) for axis in axes)
    return [np.split(shard, count, axis=dim)[place[device]] for device, shard in enumerate(shards)]


def all_to_all(shards: Shards, source: int, target: int, axes: AxisList) -> Shards:
    """Send each device of a group its part along `target`, and join what arrives along `source`."""
    result = list(shards)
    for group in groups(axes):
        parts = [np.split(shards[device], len(group), axis=target) for device in group]
        for number, device in enumerate(group):
            result[device] = np.concatenate([part[number] for part in parts], axis=source)
    return result


def run_step(shards: Shards, step: PlanStep) -> Shards:
    """Run one step of a plan on all devices."""
    match step.action:
        case AllGather(axes=per_dim):
            for dim, axes in enumerate(per_dim):
                shards = all_gather(shards, dim, axes) if axes else shards
        case AllSlice(axes=per_dim):
            for dim, axes in enumerate(per_dim):
                shards = all_slice(shards, dim, axes) if axes else shards
        case AllToAll(params=params):
            for axes, source, target in params:
                shards = all_to_all(shards, source, target, axes)
        case Reshape():
            shards = [shard.reshape(local_sizes(step.shape, step.sharding)) for shard in shards]
        case _:
            raise NotImplementedError(step.action)
    return shards


def run(shards: Shards, steps: tuple[PlanStep, ...]) -> Shards:
    """Run the steps of a plan, one after another."""
    for step in steps:
        shards = run_step(shards, step)
    return shards


def shown(sharding: TensorSharding) -> str:
    """Return the dims of a sharding as in the notation: `[{"x"}, {}]`."""
    return f"[{', '.join(str(dim) for dim in sharding.dims)}]"


def main() -> None:
    """Partition the product, run it on all devices, and compare."""
    print(f"mesh {MESH}, rule ([i, k], [k, j]) -> ([i, j]) with k summed\n")

    after, found = propagate((A, B, C))
    for name, old, new in zip("ABC", (A, B, C), found, strict=True):
        print(f"propagation   {name}: {shown(old):22} becomes {shown(new)}")
    factors = axes_of_factors(after)
    kinds = {name: ", ".join(map(str, factors[factor])) or "unsharded" for name, factor in FACTORS.items()}
    print("the op runs  ", kinds)

    print("\nthe program of each device:")
    steps_a = reshard_steps("A", found[0], needed(factors, 0))
    steps_b = reshard_steps("B", found[1], needed(factors, 1))
    summed = factors[FACTORS["k"]]
    a, b, c = (local_sizes(SHAPES[name], needed(factors, tensor)) for tensor, name in enumerate("ABC"))
    print(f"product {a} . {b} -> {c}, then an all-reduce along {', '.join(map(str, summed))}")
    last = reshard_steps("C", needed(factors, 2), TARGET)

    random = np.random.default_rng(0)
    left, right = random.standard_normal((M, K)), random.standard_normal((K, N))
    shards_a = run(split(left, found[0]), steps_a)
    shards_b = run(split(right, found[1]), steps_b)
    partial = [shard @ other for shard, other in zip(shards_a, shards_b, strict=True)]
    shards_c = run(all_reduce(partial, summed), last)
    error = np.abs(joined(shards_c, TARGET, (M, N)) - left @ right).max()
    print(f"\non {MESH.device_count} devices, the largest error is {error:.0e}")


if __name__ == "__main__":
    main()
