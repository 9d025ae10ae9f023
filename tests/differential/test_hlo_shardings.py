"""One function, lowered by JAX with Shardy and in the forms of GSPMD and HLO, is sharded and partitioned alike."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from random import Random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from sdy.compile.compiled import Compiled
from sdy.compile.source_text import source_text
from sdy.cost.statistics import statistics_of
from sdy.model.devices.hlo_sharding import HloSharding, hlo_of_sharding
from sdy.program.program import Program

MESHES = {("x", "y"): (4, 2), ("a", "b", "c"): (2, 2, 2), ("data", "model"): (2, 4), ("all",): (8,)}
ELEMENTS = (jnp.float32, jnp.bfloat16, jnp.int32)
Spec = tuple[str | tuple[str, ...] | None, ...]


@contextmanager
def partitioner(*, is_shardy: bool) -> Generator[None]:
    """Lower for one of the two partitioners."""
    before = bool(getattr(jax.config, "jax_use_shardy_partitioner"))  # noqa: B009 -- JAX does not declare it
    jax.config.update("jax_use_shardy_partitioner", is_shardy)
    try:
        yield
    finally:
        jax.config.update("jax_use_shardy_partitioner", before)


class Drawn:
    """A random function with constraints, and its arguments."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.axes, sizes = random.choice(list(MESHES.items()))
        devices = np.array(jax.devices()[:8])
        if random.random() < 0.25:
            devices = devices[random.sample(range(8), 8)]
        self.mesh = Mesh(devices.reshape(sizes), self.axes)
        rank = random.choice((1, 2, 3))
        self.argument = jax.ShapeDtypeStruct((8, 16, 8)[:rank], random.choice(ELEMENTS))
        self.places = random.choices(("top", "loop", "branch", "call"), k=3)
        self.given = self.spec(rank)
        self.specs = [self.spec(rank) for _ in self.places]

    def spec(self, rank: int) -> Spec:
        """Return the axes of each dim; each axis is used at most once."""
        axes = self.random.sample(self.axes, self.random.randint(0, len(self.axes)))
        dims: list[tuple[str, ...]] = [()] * rank
        for axis in axes:
            dim = self.random.randrange(rank)
            dims[dim] = (*dims[dim], axis)
        return tuple(dim or None for dim in dims)

    def sharding(self, spec: Spec, *, is_open: bool = False) -> NamedSharding:
        """Return a sharding, with the dims without axes open or closed."""
        dims = [PartitionSpec.UNCONSTRAINED if is_open and dim is None else dim for dim in spec]
        return NamedSharding(self.mesh, PartitionSpec(*dims))

    def function(self, x: jax.Array) -> jax.Array:
        """Constrain a value in several places."""
        for index, (place, spec) in enumerate(zip(self.places, self.specs, strict=True)):
            constrained = self.constrained(spec, is_open=index == 1)
            match place:
                case "loop":
                    x = lax.fori_loop(0, 3, lambda _, y, step=constrained: step(y), x)
                case "branch":
                    x = lax.cond(x.sum() > 0, constrained, lambda y: y, x)
                case "call":
                    x = jax.jit(constrained)(x)
                case _:
                    x = constrained(x)
        return x

    def constrained(self, spec: Spec, *, is_open: bool) -> Callable[[jax.Array], jax.Array]:
        """Return a function that constrains a product."""
        sharding = self.sharding(spec, is_open=is_open)
        return lambda y: lax.with_sharding_constraint(y * y, sharding) + y

    def lowered(self) -> jax.stages.Lowered:
        """Return the function with shardings of its argument and, half of the time, its result."""
        given = self.sharding(self.given)
        if self.places[0] == "top":
            return jax.jit(self.function, in_shardings=given, out_shardings=given).lower(self.argument)
        return jax.jit(self.function, in_shardings=given).lower(self.argument)


def mapped(mesh: Mesh, manual: set[str], seed: int) -> Callable[[jax.Array], jax.Array]:
    """Return a function with a manual computation over some axes."""
    first, *others = sorted(manual)

    def body(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        return lax.psum(x * 2, first) + jnp.ones_like(y), y + lax.axis_index(first)

    def function(x: jax.Array) -> jax.Array:
        spec = PartitionSpec(first, *others)
        out = (PartitionSpec(None, *others), PartitionSpec(first, *others))
        both = jax.shard_map(body, mesh=mesh, in_specs=(spec, spec), out_specs=out, axis_names=manual, check_vma=False)
        one, other = both(x + 1, x * seed)
        return one.sum() + other

    return function


def forms(lower: Callable[[], jax.stages.Lowered]) -> dict[str, Compiled]:
    """Return the partitioned program of each form."""
    texts: dict[str, str] = {}
    with partitioner(is_shardy=True):
        lowered = lower()
        texts["Shardy"], texts["Shardy in HLO"] = lowered.as_text(), str(lowered.as_text("hlo"))
    with partitioner(is_shardy=False):
        lowered = lower()
        texts["GSPMD"], texts["GSPMD in HLO"] = lowered.as_text(), str(lowered.as_text("hlo"))
    return {form: Program.from_text(source_text(text.encode(), form)).partition() for form, text in texts.items()}


def boundary(program: Compiled) -> list[HloSharding]:
    """Return the shardings of arguments and results, which have no names of axes."""
    placements = (*program.boundary.arguments, *program.boundary.results)
    return [hlo_of_sharding(each.sharding, each.mesh) for each in placements]


def check_alike(programs: dict[str, Compiled]) -> None:
    expected = programs["Shardy"]
    for form, program in programs.items():
        assert not program.origin.warnings, form
        assert boundary(program) == boundary(expected), form
        assert statistics_of(program.local).collectives == statistics_of(expected.local).collectives, form
    assert str(programs["GSPMD"].local) == str(expected.local)


@pytest.mark.parametrize("seed", range(24))
def test_annotations_of_gspmd_and_hlo_are_those_of_shardy(seed: int) -> None:
    check_alike(forms(Drawn(seed).lowered))


@pytest.mark.parametrize("manual", [{"x"}, {"y"}, {"x", "y"}])
@pytest.mark.parametrize("seed", [1, 2])
def test_manual_computations_of_gspmd_and_hlo_are_those_of_shardy(manual: set[str], seed: int) -> None:
    mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("x", "y"))
    sharding = NamedSharding(mesh, PartitionSpec("x", "y"))
    argument = jax.ShapeDtypeStruct((8, 16), jnp.float32)
    function = mapped(mesh, manual, seed)
    check_alike(forms(lambda: jax.jit(function, in_shardings=sharding).lower(argument)))
