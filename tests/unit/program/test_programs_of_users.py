"""Programs as users of JAX write them: where they name a mesh, what they call, and which types they use."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.symbols import main_function

P = PartitionSpec
AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit


def abstract(kind: AxisType = AUTO, **axes: int) -> AbstractMesh:
    return AbstractMesh(tuple(axes.values()), tuple(axes), axis_types=(kind,) * len(axes))


ROW, GRID, CUBE = abstract(x=4), abstract(d=2, t=4), abstract(a=2, b=2, c=2)
TYPED = abstract(EXPLICIT, x=2, y=2)


def on(mesh: AbstractMesh, *spec: Any) -> NamedSharding:
    return NamedSharding(mesh, P(*spec))


def array(*shape: int, dtype: Any = jnp.float32, sharding: NamedSharding | None = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


X, KEY = array(8, 4), array(dtype=jax.random.key(0).dtype)
W = jnp.ones((8, 4))


def kept(x: Any, *spec: Any, mesh: AbstractMesh = ROW) -> Any:
    return lax.with_sharding_constraint(x, on(mesh, *spec))


def mapped(function: Any, ins: Any, outs: Any, mesh: AbstractMesh = ROW, **options: Any) -> Any:
    return jax.shard_map(function, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False, **options)


class Layer:
    """A module of a user, whose call names the mesh."""

    def __call__(self, x: jax.Array) -> jax.Array:
        return kept(x * 2, "x")


def with_ref(x: jax.Array) -> jax.Array:
    ref = jax.new_ref(x)
    ref[...] = ref[...] * 2
    return ref[...]


@jax.custom_vjp
def doubled(x: jax.Array) -> jax.Array:
    return kept(x * 2, "x")


doubled.defvjp(lambda x: (doubled(x), None), lambda _, grad: (kept(grad * 2, None, "x"),))


def in_mesh(mesh: AbstractMesh, function: Any, *args: Any) -> sdy.Program[Any]:
    with jax.sharding.use_abstract_mesh(mesh):
        return sdy.from_jax(function, *args)


def jitted(function: Any, *args: Any, **options: Any) -> sdy.Program[Any]:
    return sdy.from_jax(jax.jit(function, **options), *args)


rows = partial(jitted, in_shardings=on(ROW, "x"))
free = sdy.from_jax
shift = [(device, (device + 1) % 4) for device in range(4)]

# The program, and the shapes of its arguments and results on one device.
PROGRAMS: dict[str, tuple[Callable[[], sdy.Program[Any]], str]] = {
    # shardings of jit
    "two arguments": (
        lambda: jitted(jnp.matmul, X, array(4, 8), in_shardings=(on(GRID, "d"), on(GRID, None, "t"))),
        "4x4, 4x2 -> 4x2",
    ),
    "a dict": (
        lambda: jitted(lambda p: p["w"] * 2, {"w": X, "b": X}, in_shardings=({"w": on(ROW, "x"), "b": None},)),
        "2x4 -> 2x4",
    ),
    "a prefix of a tree": (lambda: rows(lambda p: p["w"] * 2 + p["b"], {"w": X, "b": X}), "2x4, 2x4 -> 2x4"),
    "one of two results": (
        lambda: jitted(lambda x: (x, x.sum()), X, out_shardings=(on(ROW, "x"), None)),
        "2x4 -> 2x4, ",
    ),
    "a dict of results": (
        lambda: jitted(lambda x: {"a": x, "b": x.T}, X, out_shardings={"a": on(ROW, "x"), "b": on(ROW, None, "x")}),
        "2x4 -> 2x4, 4x2",
    ),
    "parameters without arguments": (
        lambda: jitted(lambda: {"w": jnp.zeros((8, 4)), "b": jnp.zeros(4)}, out_shardings=on(ROW, "x")),
        " -> 1, 2x4",
    ),
    "parameters from a key": (
        lambda: jitted(lambda key: jax.random.normal(key, (8, 4)), KEY, out_shardings=on(ROW, "x")),
        "2 -> 2x4",
    ),
    "keys": (
        lambda: rows(jax.vmap(lambda key: jax.random.normal(key, (4,))), array(8, dtype=KEY.dtype)),
        "2x2 -> 2x4",
    ),
    "a state tree": (
        lambda: rows(
            lambda p: jax.tree.map(jnp.sin, p), jax.eval_shape(lambda: {"a": jnp.ones(8), "b": [jnp.ones((4, 4))]})
        ),
        "2, 1x4 -> 2, 1x4",
    ),
    "a static argument": (
        lambda: sdy.from_jax(jax.jit(lambda x, n: x * n, static_argnames="n", out_shardings=on(ROW, "x")), X, n=3),
        "2x4 -> 2x4",
    ),
    "a partial function": (
        lambda: free(partial(jax.jit(lambda s, x: x * s, static_argnums=0, out_shardings=on(ROW, "x")), 2), X),
        "2x4 -> 2x4",
    ),
    "a donated argument": (lambda: rows(jnp.sin, X, donate_argnums=0), "2x4 -> 2x4"),
    "an argument by name": (
        lambda: sdy.from_jax(jax.jit(lambda *, x: x * 2, out_shardings=on(ROW, "x")), x=X),
        "2x4 -> 2x4",
    ),
    "an unused argument": (lambda: rows(lambda x, y: x * 2, X, X), "2x4 -> 2x4"),
    "a Python number": (
        lambda: jitted(lambda x, s: x * s, X, 2.0, in_shardings=(on(ROW, "x"), None)),
        "2x4,  -> 2x4",
    ),
    "a result that is None": (
        lambda: jitted(lambda x: {"a": x, "n": None}, X, out_shardings=on(ROW, "x")),
        "2x4 -> 2x4",
    ),
    "a constant result": (lambda: rows(lambda x: 1.0, X), " -> "),
    "an inner jit": (
        lambda: free(
            lambda x: jax.jit(lambda y: y * 2, in_shardings=on(ROW, "x"), out_shardings=on(ROW, None, "x"))(x) + 1, X
        ),
        "2x4 -> 8x1",
    ),
    "a mesh of one device": (lambda: jitted(jnp.sin, X, in_shardings=on(abstract(x=1), "x")), "8x4 -> 8x4"),
    "no sharding": (lambda: jitted(jnp.sin, X), "8x4 -> 8x4"),
    # constraints
    "a method": (lambda: free(Layer().__call__, X), "2x4 -> 2x4"),
    "a constraint in vmap": (lambda: free(jax.vmap(lambda row: kept(row * 2, "x")), X), "8x1 -> 8x1"),
    "a constraint in vmap over an axis": (
        lambda: free(jax.vmap(lambda row: kept(row * 2, "d", mesh=GRID), spmd_axis_name="t"), X),
        "2x2 -> 2x2",
    ),
    "a constraint in a gradient": (lambda: free(jax.grad(lambda x: kept(x * x, "x").sum()), X), "2x4 -> 2x4"),
    "a constraint in scan": (
        lambda: free(lambda x: lax.scan(lambda c, _: (kept(c * 2, "x"), None), x, None, length=3)[0], X),
        "2x4 -> 2x4",
    ),
    "a constraint in cond": (
        lambda: free(lambda x: lax.cond(x.sum() > 0, lambda x: kept(x * 2, "x"), lambda x: x, x), X),
        "2x4 -> 2x4",
    ),
    "a constraint in switch": (
        lambda: free(lambda x: lax.switch(1, [lambda x: kept(x * 2, "x"), lambda x: kept(x * 3, "x")], x), X),
        "2x4 -> 2x4",
    ),
    "a constraint in while": (
        lambda: free(lambda x: lax.while_loop(lambda c: c.sum() < 99, lambda c: kept(c + 9, "x"), x), X),
        "2x4 -> 2x4",
    ),
    "a constraint in checkpoint": (
        lambda: free(jax.grad(jax.checkpoint(lambda x: kept(jnp.sin(x), "x").sum())), X),
        "2x4 -> 2x4",
    ),
    "a constraint in custom_vjp": (lambda: free(jax.grad(lambda x: doubled(x).sum()), X), " -> 8x1"),
    "a constraint by two axes": (lambda: free(lambda x: kept(x * 2, ("d", "t"), mesh=GRID), X), "1x4 -> 1x4"),
    "a constraint by three axes": (
        lambda: free(lambda x: kept(x * 2, ("a", "b"), "c", mesh=CUBE), X),
        "2x2 -> 2x2",
    ),
    "an unconstrained dim": (lambda: free(lambda x: kept(x * 2, P.UNCONSTRAINED, "x"), X), "8x1 -> 8x1"),
    "an uneven dim": (lambda: free(lambda x: kept(x * 2, "x"), array(6, 3)), "6x3 -> 6x3"),
    "a spec in a mesh": (
        lambda: in_mesh(ROW, lambda x: lax.with_sharding_constraint(x * 2, P("x")), X),
        "2x4 -> 2x4",
    ),
    # shard_map
    "shard_map in jits": (
        lambda: jitted(lambda x: jax.jit(mapped(lambda x: lax.psum(x, "x"), P("x"), P()))(x) + 1, X),
        "2x4 -> 2x4",
    ),
    "shard_map over one axis": (
        lambda: free(mapped(lambda x: x * 2, P("d"), P("d"), GRID, axis_names={"d"}), X),
        "4x4 -> 4x4",
    ),
    "shard_map with a loop": (
        lambda: free(
            mapped(lambda x: lax.fori_loop(0, 3, lambda _, y: lax.ppermute(y, "x", shift), x), P("x"), P("x")), X
        ),
        "2x4 -> 2x4",
    ),
    "shard_map in a loop": (
        lambda: free(lambda x: lax.fori_loop(0, 3, lambda _, y: mapped(jnp.sin, P("x"), P("x"))(y), x), X),
        "2x4 -> 2x4",
    ),
    "shard_map without arguments": (lambda: free(mapped(lambda: lax.axis_index("x")[None], (), P("x"))), " -> 1"),
    "shard_map in a mesh": (
        lambda: in_mesh(ROW, jax.shard_map(lambda x: x * 2, in_specs=P("x"), out_specs=P("x")), X),
        "2x4 -> 2x4",
    ),
    "nested shard_map": (
        lambda: free(
            mapped(
                lambda x: jax.shard_map(
                    lambda y: lax.psum(y, "t"), in_specs=P(None, "t"), out_specs=P(), axis_names={"t"}
                )(x),
                P("d"),
                P("d"),
                GRID,
                axis_names={"d"},
            ),
            X,
        ),
        "4x1 -> 4x1",
    ),
    "the gradient of shard_map": (
        lambda: free(jax.grad(lambda x: mapped(lambda x: lax.psum((x * x).sum(), "x"), P("x"), P())(x)), X),
        "2x4 -> 2x4",
    ),
    "a closure in shard_map": (lambda: free(mapped(lambda x: x + W[:2], P("x"), P("x")), X), "2x4 -> 2x4"),
    # explicit axes
    "reshard in a mesh": (lambda: in_mesh(TYPED, lambda x: jax.reshard(x, P("x")) * 2, X), "4x4 -> 4x4"),
    "zeros in a mesh": (lambda: in_mesh(TYPED, lambda: jnp.zeros((8, 4), out_sharding=P("x"))), " -> 4x4"),
    "zeros with a sharding": (lambda: free(lambda: jnp.zeros((8, 4), out_sharding=on(TYPED, "x"))), " -> 4x4"),
    "explicit and automatic axes": (
        lambda: free(
            lambda x: jnp.sin(x) * 2,
            array(8, 4, sharding=on(AbstractMesh((2, 2), ("x", "y"), axis_types=(EXPLICIT, AUTO)), "x")),
        ),
        "4x4 -> 4x4",
    ),
    "an unreduced result": (
        lambda: free(
            lambda a, b: jnp.einsum(
                "ij,jk->ik", a, b, out_sharding=NamedSharding(TYPED, P(None, None, unreduced=frozenset({"y"})))
            ),
            array(8, 4, sharding=on(TYPED, None, "y")),
            array(4, 8, sharding=on(TYPED, "y", None)),
        ),
        "8x2, 2x8 -> 8x8",
    ),
    # what else is in programs
    "a closure over an array": (lambda: rows(lambda x: x + W, X), "2x4 -> 2x4"),
    "a closure over a NumPy array": (lambda: rows(lambda x: x + np.ones((8, 4), np.float32), X), "2x4 -> 2x4"),
    "a mutable array": (lambda: rows(with_ref, X), "2x4 -> 2x4"),
    "a mean over vmap": (lambda: rows(jax.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i"), X), "2x4 -> 2x4"),
    "an associative scan": (lambda: rows(lambda x: lax.associative_scan(jnp.add, x), X), "2x4 -> 2x4"),
    "a Hessian": (lambda: rows(jax.hessian(lambda x: (x**3).sum()), array(8)), "2 -> 2x8"),
    "booleans": (lambda: rows(jnp.logical_not, array(8, 4, dtype=jnp.bool_)), "2x4 -> 2x4"),
    "four-bit integers": (lambda: rows(lambda x: x + x, array(8, 4, dtype=jnp.int4)), "2x4 -> 2x4"),
    "eight-bit floats": (
        lambda: rows(lambda x: x.astype(jnp.float32) @ W.T, array(8, 4, dtype=jnp.float8_e4m3fn)),
        "2x4 -> 2x8",
    ),
    "complex numbers": (lambda: rows(jnp.fft.fft, array(8, 4, dtype=jnp.complex64)), "2x4 -> 2x4"),
    "an empty array": (lambda: rows(jnp.sin, array(0, 4)), "0x4 -> 0x4"),
}


def shapes(program: sdy.Program[Any]) -> str:
    kinds = main_function(program.partition().local).function_type
    sides = ([each.get_shape() for each in side.data] for side in (kinds.inputs, kinds.outputs))  # pyright: ignore[reportAttributeAccessIssue]
    return " -> ".join(", ".join("x".join(map(str, shape)) for shape in side) for side in sides)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_sharded_as_their_users_say(name: str) -> None:
    make, expected = PROGRAMS[name]
    program = make()
    assert shapes(program) == expected
    assert all(
        isinstance(each, NamedSharding | None) for each in jax.tree.leaves(program.propagate().output_shardings())
    )


def no_function(make: Callable[[Any], Any]) -> str:
    with pytest.raises(SdyError) as caught:
        sdy.from_jax(make(jax.jit(jnp.sin, in_shardings=on(ROW, "x")).trace(X)), X)
    return str(caught.value)


@pytest.mark.parametrize("make", [lambda traced: traced, lambda traced: traced.jaxpr], ids=["traced", "jaxpr"])
def test_stages_are_no_functions(make: Callable[[Any], object]) -> None:
    assert "expected a function" in no_function(make)


def add_kernel(x: Any, y: Any, out: Any) -> None:
    out[...] = x[...] + y[...]


def add(x: jax.Array, y: jax.Array, **options: Any) -> jax.Array:
    return pl.pallas_call(add_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), **options)(x, y)


def product_kernel(x: Any, y: Any, out: Any) -> None:
    out[...] = jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)


def product(x: jax.Array, y: jax.Array) -> jax.Array:
    blocks = [pl.BlockSpec((128, x.shape[1]), lambda i: (i, 0)), pl.BlockSpec(y.shape, lambda _: (0, 0))]
    out = jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), jnp.float32)
    out_block = pl.BlockSpec((128, y.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        product_kernel, grid=(x.shape[0] // 128,), in_specs=blocks, out_specs=out_block, out_shape=out
    )(x, y)


def scaled(x: jax.Array, by: float) -> jax.Array:
    def scale_kernel(x: Any, out: Any) -> None:
        out[...] = x[...] * by

    return pl.pallas_call(scale_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def summed_kernel(x: Any, out: Any, scratch: Any) -> None:
    @pl.when(pl.program_id(0) == 0)
    def _start() -> None:
        scratch[...] = jnp.zeros_like(scratch)

    scratch[...] += x[...]
    out[...] = scratch[...]


def summed(x: jax.Array) -> jax.Array:
    block = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        summed_kernel, grid=(2,), in_specs=[block], out_specs=pl.BlockSpec((64, 128), lambda _: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32), scratch_shapes=[pltpu.VMEM((64, 128), jnp.float32)],
    )(x)  # fmt: skip


def on_two(function: Any, dtype: Any = jnp.float32) -> sdy.Program[Any]:
    pair = mapped(function, (P("x"), P("x")), P("x"))
    return sdy.from_jax(pair, *[array(512, 128, dtype=dtype)] * 2, platform="tpu")


# The program, and what its kernels compute for arguments that are one everywhere; None where JAX cannot interpret them.
KERNELS: dict[str, tuple[Callable[[], sdy.Program[Any]], float | None]] = {
    "floats": (lambda: on_two(add), 2),
    "integers": (lambda: on_two(add, jnp.int32), 2),
    "short floats": (lambda: on_two(add, jnp.bfloat16), 2),
    "names": (lambda: on_two(lambda x, y: add(add(x, y, name="one"), y, name="two")), 3),
    "a loop": (lambda: on_two(lambda x, y: lax.fori_loop(0, 3, lambda _, z: add(z, y), x)), 4),
    "a branch": (lambda: on_two(lambda x, y: lax.cond(x[0, 0] < 9, add, lambda x, y: x, x, y)), 2),
    "blocks": (
        lambda: sdy.from_jax(
            mapped(lambda x, y: lax.psum(product(x, y), "x"), (P(None, "x"), P("x")), P()),
            array(256, 512), array(512, 256), platform="tpu",
        ),
        512,
    ),
    "scratch": (
        lambda: sdy.from_jax(mapped(summed, P("x"), P("x")), array(512, 128), platform="tpu"),
        2,
    ),
    "one kernel twice": (lambda: on_two(lambda x, y: scaled(x, 2.0) + scaled(y, 2.0)), 4),
    "two kernels of one name": (lambda: on_two(lambda x, y: scaled(x, 2.0) + scaled(y, 3.0)), None),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_machines_that_are_not_there_run_in_interpret_mode(name: str) -> None:
    make, value = KERNELS[name]
    program = make()
    found = program.verify()
    assert found.verdict.value == "the same function"
    assert all("taken for a function of its operands" in each for each in found.verification.not_reached)
    ones = [np.ones(shape, dtype) for shape, dtype in program.input_types]
    if value is None:
        with pytest.raises(SdyError, match="SDY-X003"):
            program.run(*ones)
    else:
        assert all("interpret mode" in each for each in found.verification.not_reached)
        assert np.unique(np.asarray(program.partition().run(*ones), np.float32)) == [value]


def test_kernels_need_shard_map() -> None:
    with pytest.raises(SdyError, match=r"\[SDY-T216\]\n  hint: call the kernel in jax\.shard_map"):
        sdy.from_jax(add, *[array(512, 128, sharding=on(ROW, "x"))] * 2, platform="tpu")
