"""`sdy.jit` beside `jax.jit`: the same values, shardings, types, structures and errors for all that users do."""
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from support.jax_programs.training_loop import losses

import sdy
from sdy.diagnostics.diagnostic import Diagnostic, InternalError, SdyError
from sdy.program.program import Program

Jit = Any  # `jax.jit` or `sdy.jit`
P = PartitionSpec
MESH = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
EXPLICIT = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
IO_CALLBACK: Any = import_module("jax.experimental").io_callback


def on_mesh(*spec: Any, mesh: jax.sharding.Mesh = MESH) -> NamedSharding:
    return NamedSharding(mesh, P(*spec))


def array(shape: tuple[int, ...], *spec: Any, mesh: jax.sharding.Mesh = MESH) -> jax.Array:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 7
    return jax.device_put(values, on_mesh(*spec, mesh=mesh))


X = array((8, 16), "x", "y")
W = array((16, 8), "y", None)
KEYS = jax.device_put(jax.random.split(jax.random.key(0), 8), on_mesh("x"))


def product(a: Any, b: Any) -> Any:
    """The docstring of a function."""
    return a @ b


def scaled(a: Any, k: Any = 2) -> Any:
    return a * k


def decorated(jit: Jit) -> Any:
    @partial(jit, static_argnames="k", out_shardings=on_mesh("x"))
    def scale(a: Any, k: int = 1) -> Any:
        """Scale an array."""
        return a * k

    return scale(X), scale(X, k=3), scale(X, 2), scale.__name__, scale.__doc__


def methods(jit: Jit) -> Any:
    class Scale:
        factor = 3

        @partial(jit, static_argnums=0)
        def bound(self, a: Any) -> Any:
            return a * self.factor

        @staticmethod
        @jit
        def free(a: Any) -> Any:
            return a + 1

    return Scale().bound(X), Scale.free(X)


def donated(jit: Jit) -> Any:
    given, named = array((8, 16), "x", "y"), array((8, 16), "x", "y")
    results = jit(lambda a: a + 1, donate_argnums=0)(given), jit(lambda a: a + 1, donate_argnames="a")(a=named)
    return *results, given.is_deleted(), named.is_deleted()


def with_mesh_of_context(jit: Jit) -> Any:
    with jax.set_mesh(MESH):
        constrained = jit(lambda a: lax.with_sharding_constraint(a, P("y")), out_shardings=P("x"))
        return constrained(jnp.ones((8, 8)))


def explicit_axes(jit: Jit) -> Any:
    a, b = array((8, 16), "x", "y", mesh=EXPLICIT), array((16, 8), "y", mesh=EXPLICIT)
    with jax.set_mesh(EXPLICIT):
        return jit(lambda a, b: (jnp.tanh(a), jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x")), jax.reshard(a, P())))(
            a, b
        )


def several_shardings(jit: Jit) -> Any:
    function = jit(lambda a: jnp.roll(a, 1, 0))
    return [function(each) for each in (X, array((8, 16), "y"), array((8, 16)), jnp.ones((8, 16)), np.ones((8, 16)))]


def ahead_of_time(jit: Jit) -> Any:
    shape = jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=X.sharding)
    lowered, traced = jit(product).lower(shape, W), jit(product).trace(X, W)
    compiled = lowered.compile()
    infos = [each.shape for each in (jit(product).eval_shape(shape, W), lowered.out_info, traced.out_info)]
    static = jit(scaled, static_argnums=1).lower(X, 3).compile()(X)
    return compiled(X, W), traced.lower().compile()(X, W), static, infos, compiled.input_shardings


def mapped(a: Any) -> Any:
    return jax.shard_map(lambda b: lax.psum(b, "x"), mesh=MESH, in_specs=P("x", "y"), out_specs=P(None, "y"))(a)


def reversed_devices(jit: Jit) -> Any:
    mesh = jax.sharding.Mesh(np.array(jax.devices())[::-1].reshape(4, 2), ("x", "y"))
    return jit(lambda a: jnp.roll(a, 1, 0) @ a.T)(array((8, 16), "x", "y", mesh=mesh))


def two_meshes(jit: Jit) -> Any:
    other = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b"))
    return jit(product)(X, array((16, 8), "b", "a", mesh=other))


def without_jit(jit: Jit) -> Any:
    with jax.disable_jit():
        return jit(lambda a: a if a[0, 0] > 0 else -a)(X)


def in_64_bits(jit: Jit) -> Any:
    function = jit(scaled, out_shardings=on_mesh("x"))
    first = function(np.ones((8, 8)))
    with jax.enable_x64(True):
        return first, function(np.ones((8, 8)))


# What users do with `jax.jit`: a function from `jax.jit`, or `sdy.jit`, to a pytree of what they get.
USES: dict[str, Callable[[Jit], Any]] = {
    "two sharded arrays": lambda jit: jit(product)(X, W),
    "an uncommitted array": lambda jit: jit(product)(X, jnp.ones((16, 4))),
    "arrays of NumPy": lambda jit: jit(product)(X, np.ones((16, 4))),
    "Python scalars": lambda jit: [jit(scaled)(X, k) for k in (2, True, 2.5, 2j, np.float32(2))],
    "weak types": lambda jit: jit(lambda a, b: (a * b, b + 1, b * 2.5))(X, 2),
    "out_shardings": lambda jit: jit(product, out_shardings=on_mesh("x"))(X, W),
    "in_shardings": lambda jit: jit(product, in_shardings=(on_mesh("x"), on_mesh()))(
        np.ones((8, 16)), jnp.ones((16, 4))
    ),
    "a prefix of a pytree": lambda jit: jit(lambda a: {"a": a, "b": a + 1}, out_shardings=on_mesh("x"))(X),
    "uneven sizes": lambda jit: jit(lambda a: a[:7] * 2)(X),
    "functools.partial": decorated,
    "methods": methods,
    "a static argument from the end": lambda jit: jit(scaled, static_argnums=-1)(X, 3),
    "options alone": lambda jit: jit(static_argnums=1)(scaled)(X, 3),
    "keyword arguments": lambda jit: [jit(product)(a=X, b=W), jit(product)(b=W, a=X), jit(product)(X, b=W)],
    "None and empty pytrees": lambda jit: jit(lambda a, b, c: (a, b, c, {}, [None]))(X, None, {}),
    "no arguments": lambda jit: jit(lambda: jnp.ones((8, 8)), out_shardings=on_mesh("x", "y"))(),
    "no results": lambda jit: jit(lambda a: None)(X),
    "unused and returned arguments": lambda jit: jit(lambda a, b: (a, a + 1, a + 1))(X, W),
    "constants": lambda jit: jit(lambda a: (a + 1, jnp.arange(8), 3, 2.5))(X),
    "donation": donated,
    "random keys": lambda jit: jit(jax.vmap(lambda k: (jax.random.fold_in(k, 3), jax.random.normal(k, (4,)))))(KEYS),
    "a mesh in the context": with_mesh_of_context,
    "explicit axes": explicit_axes,
    "shard_map": lambda jit: jit(lambda a: mapped(a * 2) + 1)(X),
    "several shardings": several_shardings,
    "the gradient": lambda jit: jit(jax.grad(lambda a: jnp.sin(jnp.tanh(a)).sum()))(X),
    "a loop": lambda jit: jit(lambda a: lax.scan(lambda c, y: (c + y, c), jnp.zeros(16), a))(X),
    "ahead of time": ahead_of_time,
    "devices in another order": reversed_devices,
    "two meshes": two_meshes,
    "one device": lambda jit: jit(scaled)(jax.device_put(jnp.ones(8), jax.devices()[1])),
    "memory of the host": lambda jit: jit(lambda a: jax.device_put(a, X.sharding.with_memory_kind("pinned_host")))(X),
    "disable_jit": without_jit,
    "64 bits": in_64_bits,
}
TRANSFORMED: dict[str, Callable[[Jit], Any]] = {
    "grad": lambda jit: jax.grad(lambda a: jit(lambda b: (b**2).sum())(a))(X),
    "vmap": lambda jit: jax.vmap(jit(scaled))(X),
    "jit": lambda jit: jax.jit(lambda a: jit(scaled)(a) + jit(scaled)(a))(X),
    "a captured tracer": lambda jit: jax.jit(lambda a: jit(lambda b: a * b)(2.0))(X),
    "itself": lambda jit: jit(lambda a: jit(scaled)(a) + 1)(X),
    "eval_shape": lambda jit: jax.eval_shape(jit(scaled), X),
}
MISTAKES: dict[str, Callable[[Jit], Any]] = {
    "shapes": lambda jit: jit(lambda a: a @ jnp.ones(3))(X),
    "a condition on a tracer": lambda jit: jit(lambda a: a if a[0, 0] > 0 else -a)(X),
    "an exception": lambda jit: jit(lambda a: 1 / 0)(X),
    "a text": lambda jit: jit(scaled)(X, "2"),
    "a missing argument": lambda jit: jit(product)(X),
    "a shape for an array": lambda jit: jit(scaled)(jax.ShapeDtypeStruct((8, 8), np.float32)),
    "an integer too large": lambda jit: jit(scaled)(X, 2**40),
    "another sharding": lambda jit: jit(scaled, in_shardings=on_mesh("y"))(X),
    "an indivisible dim": lambda jit: jit(scaled, in_shardings=on_mesh("x"))(np.ones((7, 2))),
    "other devices": lambda jit: jit(product)(X, jax.device_put(jnp.ones((16, 4)), jax.devices()[1])),
    "a static argument that is not hashable": lambda jit: jit(scaled, static_argnums=1)(X, [1]),
    "a position that does not exist": lambda jit: jit(scaled, static_argnums=5),
    "an unknown option": lambda jit: jit(scaled, fast=True),
    "no function": lambda jit: jit(3),
    "arguments of a compiled program": lambda jit: jit(product).lower(X, W).compile()(X, X),
}


def described(leaf: Any) -> Any:
    """Return all that a caller can see of a result but its values."""
    if not isinstance(leaf, jax.Array):
        return leaf
    array: Any = leaf
    return array.aval, array.sharding, array.committed


def values(leaf: Any) -> Any:
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def assert_same(use: Callable[[Jit], Any]) -> None:
    ours, theirs = jax.tree.flatten(use(sdy.jit)), jax.tree.flatten(use(jax.jit))
    assert ours[1] == theirs[1]
    for mine, other in zip(ours[0], theirs[0], strict=True):
        assert described(mine) == described(other)
        if isinstance(other, jax.Array):
            np.testing.assert_allclose(values(mine), values(other), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_equals_jit(use: Callable[[Jit], Any]) -> None:
    with warnings.catch_warnings(action="error", category=sdy.JitFallbackWarning):
        assert_same(use)


@pytest.mark.parametrize("use", TRANSFORMED.values(), ids=TRANSFORMED)
def test_falls_through_inside_of_transformations(use: Callable[[Jit], Any]) -> None:
    with pytest.warns(sdy.JitFallbackWarning, match="inside of a transformation of JAX") as caught:
        assert_same(use)
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.parametrize("use", MISTAKES.values(), ids=MISTAKES)
def test_errors_are_those_of_jax(use: Callable[[Jit], Any]) -> None:
    with pytest.raises((TypeError, ValueError, ArithmeticError)) as theirs:
        use(jax.jit)
    with pytest.raises(type(theirs.value)) as ours:
        use(sdy.jit)
    assert type(ours.value) is type(theirs.value)
    assert shortened(ours.value) == shortened(theirs.value)


def shortened(error: Exception) -> str:
    """Return the message without the names of functions that hold addresses, or are written in two ways by JAX."""
    return re.sub(r"<function .*?>|\S*<lambda>|\bproduct\b| at 0x\w+", "f", str(error))


def test_traces_and_partitions_once_for_equal_types(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[object] = []
    partitioned: list[object] = []
    whole = Program.partition

    def counted(program: Program[Any]) -> Any:
        partitioned.append(program)
        return whole(program)

    monkeypatch.setattr(Program, "partition", counted)

    @sdy.jit
    def function(a: Any) -> Any:
        traced.append(a)
        return a + 1

    for each in (X, X + 1, function(X)):
        function(each)
    function.lower(X).compile()
    assert (len(traced), len(partitioned)) == (1, 1)
    function(array((8, 16), "y"))  # another sharding: JAX traces once
    assert (len(traced), len(partitioned)) == (1, 2)
    function(2)  # on one device there is nothing to partition
    assert (len(traced), len(partitioned)) == (2, 2)
    function.clear_cache()
    function(X)
    assert (len(traced), len(partitioned)) == (3, 3)


def test_static_values_of_equal_hash_are_told_apart() -> None:
    function = sdy.jit(lambda a, k: a + (1 if k is True else 2), static_argnums=1)
    assert [float(function(X, k)[0, 0]) for k in (1, True, 1)] == [2.0, 1.0, 2.0]


def test_callbacks_run_once(capsys: pytest.CaptureFixture[str]) -> None:
    shape = jax.ShapeDtypeStruct(X.shape, X.dtype)

    def reporting(a: Any) -> Any:
        jax.debug.print("sum {}", a.sum())
        return IO_CALLBACK(np.sin, shape, a) + jax.pure_callback(np.cos, shape, a)

    function = sdy.jit(reporting)
    for _ in range(2):
        np.testing.assert_allclose(function(X), np.sin(X) + np.cos(X), rtol=1e-5)
    jax.effects_barrier()
    assert capsys.readouterr().out == f"sum {float(X.sum())}\n" * 2


def test_loss_curve_of_50_steps() -> None:
    with warnings.catch_warnings(action="error", category=sdy.JitFallbackWarning):
        ours = losses(sdy.jit, 50)
    np.testing.assert_allclose(ours, losses(jax.jit, 50), rtol=1e-3)
    assert ours[-1] < ours[0] - 0.5


def test_runs_the_program_of_sdy() -> None:
    function = sdy.jit(lambda a: jnp.roll(a, 1, 0))
    assert "collective_permute" in function.lower(X).as_text()
    assert "stablehlo.collective_permute" in str(function.program(X).partition())
    assert str(sdy.from_jax(function, X)) == str(function.program(X))


def test_refused_programs_are_run_by_jax_and_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(program: Program[Any]) -> Any:
        raise SdyError(Diagnostic("SDY-X109", "op is not supported"))

    monkeypatch.setattr(Program, "partition", refuse)
    function = sdy.jit(product)
    with pytest.warns(sdy.JitFallbackWarning, match=r"jax\.jit runs product: error: op is not supported") as caught:
        results = [function(X, W), function(X, W), function(W, X), function.lower(X, W).compile()(X, W)]
    assert [each.filename for each in caught] == [__file__]
    np.testing.assert_allclose(results[0], X @ W, rtol=1e-6)


def test_a_bug_does_not_end_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(program: Program[Any]) -> Any:
        raise InternalError("a value has no layout")

    monkeypatch.setattr(Program, "partition", fail)
    with pytest.warns(sdy.JitFallbackWarning, match="a bug in sdy: a value has no layout"):
        assert sdy.jit(product)(X, W).shape == (8, 8)


def test_what_xla_does_not_compile_is_run_by_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(lowered: Any, *_: object) -> Any:
        class Broken:
            def compile(self) -> Any:
                raise jax.errors.JaxRuntimeError("INTERNAL: no")

        return Broken()

    monkeypatch.setattr("sdy.jax.jitted.with_local_program", broken)
    function = sdy.jit(product)
    with pytest.warns(sdy.JitFallbackWarning, match="XLA does not compile the partitioned program: INTERNAL: no"):
        assert function(X, W).shape == (8, 8)


def test_refs_are_left_to_jax() -> None:
    ref = jax.new_ref(jnp.ones(8))
    with pytest.warns(sdy.JitFallbackWarning, match="an argument has the type Ref"):
        result = sdy.jit(lambda r: r[...] + 1)(ref)
    np.testing.assert_array_equal(result, np.full(8, 2))
    shared = jax.new_ref(array((8, 16), "x", "y"))
    with pytest.warns(sdy.JitFallbackWarning, match="SDY-T215"):
        np.testing.assert_array_equal(sdy.jit(lambda a: a + shared[...])(X), X + X)


def test_unreduced_results_are_left_to_jax() -> None:
    a, b = array((8, 16), None, "y", mesh=EXPLICIT), array((16, 8), "y", mesh=EXPLICIT)
    unreduced = P(None, None, unreduced=frozenset({"y"}))
    with jax.set_mesh(EXPLICIT), pytest.warns(sdy.JitFallbackWarning, match="SDY-X115"):
        lowered = sdy.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=unreduced)).lower(a, b)
    assert "unreduced" in lowered.as_text()


def test_xla_gets_no_product_with_a_batching_dim_of_one_element() -> None:
    def heads(q: Any, k: Any) -> Any:
        return jnp.einsum("bshd,bthd->bsth", q, k)

    values = [array((4, 8, 2, 8), "x", None, "y", None) for _ in range(2)]
    lowered = sdy.jit(heads).lower(*values)
    assert "tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>" in lowered.as_text()
    np.testing.assert_allclose(sdy.jit(heads)(*values), jax.jit(heads)(*values), rtol=1e-6)
