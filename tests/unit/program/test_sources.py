"""Programs from JAX: pytrees, names, source lines, shardings, errors."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import assert_type, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec
from support.jax_programs.functions import array, mesh, sharding

import sdy
from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Span
from sdy.jax import optional_jax
from sdy.program.program import Program

Layer = dict[str, jax.Array]


def described(shape: tuple[int, ...], *entries: str | None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding(*entries))


def affine(params: Layer, x: jax.Array, *, scale: float) -> Layer:
    hidden = x @ params["w"]
    return {"loss": hidden.sum() * scale, "out": hidden}


def ignoring(unused: jax.Array, x: jax.Array) -> jax.Array:
    return x + 1


PARAMS = {"b": described((8,)), "w": described((16, 8), "y", None)}  # "b" is not used


@pytest.fixture
def program() -> Program[Layer]:
    return sdy.from_jax(affine, PARAMS, described((8, 16), "x"), scale=2.0)


def test_nothing_is_computed_and_pytrees_are_kept(program: Program[Layer]) -> None:
    x, w = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32)
    result = program.run({"b": np.zeros(8, np.float32), "w": w}, x, scale=0.5)
    assert list(result) == ["loss", "out"]
    assert float(result["loss"]) == 512.0
    np.testing.assert_array_equal(np.asarray(result["out"]), np.full((8, 8), 16.0))


def test_numbers_are_converted_like_in_jax(program: Program[Layer]) -> None:
    x, w = np.ones((8, 16)), np.ones((16, 8))  # 64 bits
    assert float(program.run({"b": np.zeros(8), "w": w}, x, scale=1.0)["loss"]) == 1024.0


def test_an_unused_argument_is_still_an_argument() -> None:
    program = sdy.from_jax(ignoring, described((4,)), described((8,), "x"))
    assert len(program.input_types) == 1
    np.testing.assert_array_equal(program.run(np.zeros(4, np.float32), np.zeros(8, np.float32)), np.ones(8))


def test_static_arguments_are_part_of_the_program() -> None:
    def scaled(factor: int, x: jax.Array) -> jax.Array:
        return x * factor

    jitted = cast(Callable[..., jax.Array], jax.jit(scaled, static_argnums=0))
    program = sdy.from_jax(jitted, 3, described((4,)))
    np.testing.assert_array_equal(np.asarray(program.run(np.ones(4))), np.full(4, 3.0))


def test_another_pytree_structure_is_an_error(program: Program[Layer]) -> None:
    with pytest.raises(SdyError) as raised:
        program.run(np.ones((8, 16)))
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "SDY-X106"
    assert "expected arguments of the structure" in diagnostic.message


def test_an_array_of_another_shape_is_an_error(program: Program[Layer]) -> None:
    with pytest.raises(SdyError) as raised:
        program.partition().run({"b": np.zeros(8), "w": np.ones((16, 8))}, np.ones((4, 16)), scale=1.0)
    assert raised.value.diagnostics[0].code == "SDY-X007"


def test_expected_results_have_the_structure_of_the_results(program: Program[Layer]) -> None:
    arguments = ({"b": np.zeros(8), "w": np.ones((16, 8))}, np.ones((8, 16)))
    with pytest.raises(SdyError) as raised:
        sdy.from_jax(ignoring, described((4,)), described((8,))).verify(np.zeros(4), np.zeros(8), expected=[1, 2])
    assert raised.value.diagnostics[0].code == "SDY-X106"
    with pytest.raises(SdyError):
        program.verify(*arguments)  # without `scale`, which has a name


def test_verify_generates_random_arguments(program: Program[Layer]) -> None:
    outcomes = program.verify()
    assert len(outcomes) == 2
    assert all(outcome.agrees for outcome in outcomes)


def test_shardings_are_returned_as_pytrees(program: Program[Layer]) -> None:
    for stage in (program.propagate(), program.partition()):
        out = cast(dict[str, NamedSharding], stage.output_shardings())
        assert out["out"] == sharding("x")
        assert out["loss"] == sharding()
        (params, x), named = cast(
            tuple[tuple[dict[str, NamedSharding | None], NamedSharding], object], stage.input_shardings()
        )
        assert params == {"b": None, "w": sharding("y")}
        assert x == sharding("x")
        assert named == {"scale": sharding()}


def test_sub_axes_become_axes_of_a_split_mesh() -> None:
    text = """
sdy.mesh @m = <["x"=8]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x":(2)2}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x":(2)2}, {}]>}) {
  return %a : tensor<8x8xf32>
}"""
    partitioned = Program.from_text(text).partition()
    (split,) = cast(list[NamedSharding], partitioned.output_shardings(list(mesh().devices.flat)))
    assert split.spec == PartitionSpec("x:(2)2")
    assert dict(split.mesh.shape) == {"x:(1)2": 2, "x:(2)2": 2, "x:(4)2": 2}
    rows = [index[0].start for index in split.devices_indices_map((8, 8)).values()]
    assert rows == [0, 0, 4, 4, 0, 0, 4, 4]
    value = np.arange(64, dtype=np.float32).reshape(8, 8)
    (result,) = partitioned.to_jax()(value)
    np.testing.assert_array_equal(np.asarray(result), value)


UNREDUCED = """
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(
  %a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>},
  %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}
) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}], unreduced={"x"}>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}], unreduced={"x"}>]>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}"""


def test_explicit_axes_stay_explicit_and_may_be_in_force() -> None:
    explicit = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    x = jax.device_put(np.ones((8, 4), np.float32), NamedSharding(explicit, PartitionSpec("x", "y")))
    partitioned = sdy.from_jax(jnp.negative, x).partition()
    assert partitioned.output_shardings() == x.sharding
    on_devices = partitioned.to_jax()
    with jax.set_mesh(explicit):
        for result in (on_devices(x), cast(jax.Array, jax.jit(on_devices)(x))):
            np.testing.assert_array_equal(np.asarray(result), -np.ones((8, 4)))


def test_results_have_the_explicit_axes_of_the_caller() -> None:
    explicit = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    sharded, replicated = (
        jax.device_put(np.ones((8, 4), np.float32), NamedSharding(explicit, PartitionSpec(*entries)))
        for entries in (("x", "y"), ())
    )
    on_devices = sdy.from_jax(jnp.negative, sharded).partition().to_jax()

    def twice(x: jax.Array) -> jax.Array:
        return on_devices(x) + on_devices(x)

    with jax.set_mesh(explicit):
        assert jax.jit(twice)(replicated).sharding == sharded.sharding
    for x in (sharded, replicated):
        assert on_devices(x).sharding == sharded.sharding
        assert jax.jit(twice)(x).sharding == sharded.sharding


def test_a_mesh_without_devices_is_enough() -> None:
    abstract = AbstractMesh((16, 4), ("x", "y"))
    described = jax.ShapeDtypeStruct((64, 8), jnp.float32, sharding=NamedSharding(abstract, PartitionSpec("x", "y")))
    program = sdy.from_jax(jnp.negative, described)
    assert [outcome.agrees for outcome in program.verify()] == [True]
    assert program.partition().output_shardings() == described.sharding


def test_unreduced_results_are_reduced_on_jax_devices_too() -> None:
    partitioned = Program.from_text(UNREDUCED).partition()
    assert "all_reduce" not in str(partitioned)
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    for (result,) in (partitioned.run(a, a), partitioned.to_jax()(a, a)):
        np.testing.assert_array_equal(np.asarray(result), a @ a)
    (placed,) = cast(list[NamedSharding], partitioned.output_shardings())
    assert placed.spec.unreduced == {"x"}


def test_unreduced_results_with_explicit_axes() -> None:
    explicit = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    x = jax.device_put(np.ones((8, 8), np.float32), NamedSharding(explicit, PartitionSpec(None, "y")))
    w = jax.device_put(np.ones((8, 8), np.float32), NamedSharding(explicit, PartitionSpec("y", None)))
    unreduced = PartitionSpec(None, None, unreduced=frozenset({"y"}))

    def product(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.dot(x, w, out_sharding=unreduced)

    with jax.set_mesh(explicit):
        partitioned = sdy.from_jax(product, x, w).partition()
        assert "all_reduce" not in str(partitioned)
        np.testing.assert_array_equal(np.asarray(partitioned.to_jax()(x, w)), np.full((8, 8), 8))


def test_a_partitioned_program_has_no_derivatives_on_jax_devices() -> None:
    x = jax.device_put(np.ones((8, 4), np.float32), sharding("x", None))
    on_devices = sdy.from_jax(jnp.square, x).partition().to_jax()

    def loss(x: jax.Array) -> jax.Array:
        return on_devices(x).sum()

    assert jax.jit(loss)(x) == 32
    calls: list[tuple[Callable[..., jax.Array], jax.Array]] = [
        (jax.grad(loss), x),
        (jax.jit(jax.grad(loss)), x),
        (jax.jacfwd(loss), x),
        (jax.vmap(loss), jnp.ones((2, 8, 4))),
    ]
    for transformed, argument in calls:
        with pytest.raises(SdyError) as raised:
            transformed(argument)
        assert raised.value.diagnostics[0].code == "SDY-X114"


def test_keys_have_shardings_without_the_dim_of_their_bits() -> None:
    def drawn(keys: jax.Array) -> jax.Array:
        return jax.random.split(keys[0])

    keys = jax.device_put(jax.random.split(jax.random.key(0), 8), sharding("x"))
    partitioned = sdy.from_jax(drawn, keys).partition()
    assert partitioned.input_shardings() == (sharding("x"),)
    assert cast(NamedSharding, partitioned.output_shardings()).spec == PartitionSpec()


def test_explain_accepts_python_names_and_lines(program: Program[Layer]) -> None:
    by_name = program.explain("params['w']")
    assert by_name == program.explain("%arg0") == program.explain('params["w"]')
    assert "annotated" in by_name
    line = affine.__code__.co_firstlineno + 1
    place = f"{Path(__file__).name}:{line}"
    assert f"%0 (stablehlo.dot_general, line 5 ({place}))" in program.explain(place)


def test_explain_accepts_the_names_of_results(program: Program[Layer]) -> None:
    for name in ("result['out']", 'result["out"]', "result 1"):
        assert program.explain(name) == program.explain("%0")
    with pytest.raises(SdyError, match="did you mean result\\['loss'\\]"):
        program.explain("result['loss")


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("params", "values in params: params['w']"),
        ("result", "values in result: result['loss'], result['out']"),
        ("params['ww']", "did you mean params['w']?"),
        ("parms['w']", "did you mean params['w']?"),
        ("params.w", "did you mean params['w']?"),
    ],
)
def test_a_pytree_or_a_misspelled_name_has_a_hint(program: Program[Layer], query: str, hint: str) -> None:
    with pytest.raises(SdyError) as raised:
        program.explain(query)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.hint) == ("SDY-T203", hint)


def test_a_line_without_values_has_a_hint_with_lines_that_have_values(program: Program[Layer]) -> None:
    name = Path(__file__).name
    with pytest.raises(SdyError) as raised:
        program.explain(f"{name}:1")
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "SDY-T203"
    assert f"{name}:{affine.__code__.co_firstlineno + 1}" in (diagnostic.hint or "")


def test_the_report_names_arguments_results_and_lines(program: Program[Layer]) -> None:
    report = program.report()
    assert "params['w']" in report
    assert "result['out']" in report
    (row,) = (line for line in report.splitlines() if "all-reduce" in line and "2x8" in line)
    assert f"{Path(__file__).name}:{affine.__code__.co_firstlineno + 1}" in row
    assert "64" in row  # 2 x 8 floats, around a ring of two
    assert "that dim is closed" in report


def test_remarks_and_errors_name_the_python_line_and_explanations_the_arguments(program: Program[Layer]) -> None:
    line = f"{Path(__file__).name}:{affine.__code__.co_firstlineno + 1}"
    remarks = [remark for remark in program.partition().remarks if remark.span is not None]
    assert remarks == [replace(each, span=cast(Span, each.span)._replace(source=line)) for each in remarks]
    explained = program.explain("params['w']")
    assert explained.startswith("params['w'] (argument, line ")
    assert explained == program.explain("%arg0")
    assert "params['w']: annotated" in explained
    with pytest.raises(SdyError, match=rf"\({re.escape(line)}\): error: wrong"), program.origin.named_lines():
        raise SdyError(Diagnostic("SDY-L112", "wrong", Span("<affine>", min(program.origin.source_lines), 1)))


def test_the_report_has_the_conflicts() -> None:
    program = sdy.from_jax(jnp.add, array((8, 8), "x"), array((8, 8), "y"))
    assert "that dim is sharded along" in program.report()
    assert program.conflicts() in program.report().replace("\n  ", "\n")


def test_a_program_prints_as_its_text(program: Program[Layer]) -> None:
    assert str(Program.from_text(str(program))) == str(program)
    assert "sdy.sharding" in str(program.propagate())
    assert "stablehlo.all_reduce" in str(program.partition())


def test_every_stage_is_cached(program: Program[Layer]) -> None:
    assert program.partition() is program.partition()
    assert program.propagate() is program.propagate()


def test_custom_rules_are_removed_from_the_local_program() -> None:
    spread = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    positive = spread @ spread.T + 8 * np.eye(8, dtype=np.float32)
    x = jax.device_put(positive, sharding("x", "y"))
    program = sdy.from_jax(cast(Callable[..., jax.Array], jnp.linalg.cholesky), x)
    assert "sdy.sharding_rule" in str(program)
    assert "sdy." not in str(program.partition())
    result = program.partition().to_jax()(x)
    np.testing.assert_allclose(np.asarray(result), np.linalg.cholesky(positive), rtol=1e-4, atol=1e-4)


def test_to_jax_requires_enough_devices() -> None:
    text = """
sdy.mesh @m = <["x"=16]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<16xf32> {
  return %a : tensor<16xf32>
}"""
    partitioned = Program.from_text(text).partition()
    for use in (partitioned.to_jax, partitioned.output_shardings):
        with pytest.raises(SdyError, match="expected 16 devices for the program, got 8 from JAX") as raised:
            use(list(mesh().devices.flat))
        assert raised.value.diagnostics[0].code == "SDY-X104"


TWO_MESHES = """
sdy.mesh @a = <["x"=4]>
sdy.mesh @b = <["y"=2, "z"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>},
        tensor<8xf32> {sdy.sharding = #sdy.sharding<@b, [{"y"}]>}) {
  %0 = stablehlo.constant dense<1.0> : tensor<8xf32>
  return %a, %0 : tensor<8xf32>, tensor<8xf32>
}"""
OTHER_ORDER = """
sdy.mesh @m = <["x"=4, "y"=2], device_ids=[0, 1, 2, 3, 6, 7, 4, 5]>
func.func @main(
  %a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>},
  %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}
) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"x"}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}"""
SAME_DEVICES = TWO_MESHES.replace('"z"=2]>', '"z"=2], device_ids=[0, 2, 1, 3]>')
TWO_ORDERS = TWO_MESHES.replace('"z"=2]>', '"z"=2], device_ids=[3, 1, 2, 0]>')


def test_devices_in_another_order_run_on_jax_devices() -> None:
    partitioned = Program.from_text(OTHER_ORDER).partition()
    a, b = (np.random.default_rng(seed).standard_normal((8, 8)).astype(np.float32) for seed in (0, 1))
    (result,) = cast(list[jax.Array], partitioned.to_jax()(a, b))
    np.testing.assert_allclose(np.asarray(result), a @ b, rtol=1e-5, atol=1e-5)
    (placed,) = cast(list[NamedSharding], partitioned.output_shardings(list(mesh().devices.flat)))
    assert result.sharding.is_equivalent_to(placed, 2)


@pytest.mark.parametrize("text", [TWO_MESHES, SAME_DEVICES])
def test_several_meshes_become_one_for_jax(text: str) -> None:
    partitioned = Program.from_text(text).partition()
    values = np.arange(8, dtype=np.float32)
    results = cast(list[jax.Array], partitioned.to_jax()(values))
    placed = cast(list[NamedSharding], partitioned.output_shardings(list(mesh().devices.flat)))
    for result, expected, place in zip(results, (values, np.ones(8)), placed, strict=True):
        np.testing.assert_array_equal(np.asarray(result), expected)
        assert result.sharding.is_equivalent_to(place, 1)


def test_to_jax_requires_one_order_of_devices() -> None:
    with pytest.raises(SdyError, match="must be on one mesh") as raised:
        Program.from_text(TWO_ORDERS).partition().to_jax()
    assert raised.value.diagnostics[0].code == "SDY-X104"


def test_to_jax_requires_64_bit_types_to_be_enabled() -> None:
    text = "func.func @main(%a: tensor<2xf64>) -> tensor<2xf64> {\n  return %a : tensor<2xf64>\n}"
    with pytest.raises(SdyError) as raised:
        Program.from_text(text).partition().to_jax()
    assert raised.value.diagnostics[0].code == "SDY-X105"


def test_a_missing_jax_has_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("sdy.jax.to_stablehlo", "sdy.jax.to_devices"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jax", None)  # as if it were not installed
    partitioned = Program.from_text("func.func @main(%a: tensor<2xf32>) {\n  return\n}").partition()
    for use in (lambda: sdy.from_jax(affine), partitioned.to_jax, partitioned.input_shardings):
        with pytest.raises(SdyError) as raised:
            use()
        assert raised.value.diagnostics[0].code == "SDY-T205"
        assert raised.value.diagnostics[0].hint == "pip install 'sdy[jax]'"


def test_a_jax_that_is_too_old_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    partitioned = Program.from_text("func.func @main(%a: tensor<2xf32>) {\n  return\n}").partition()
    monkeypatch.setattr(optional_jax, "version", {"jax": "0.9.2"}.__getitem__)
    for use in (lambda: sdy.from_jax(affine), partitioned.to_jax, partitioned.input_shardings):
        with pytest.raises(SdyError, match=r"JAX 0\.9\.2 is too old: sdy requires JAX 0\.10 or newer") as raised:
            use()
        assert raised.value.diagnostics[0].code == "SDY-T214"


def test_the_oldest_jax_is_the_bound_of_the_extra() -> None:
    project = tomllib.loads((Path(sdy.__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["jax"] == [f"jax>={optional_jax.OLDEST_JAX}"]


def test_the_optimizer_can_be_disabled() -> None:
    arguments = (described((64, 64), None, "x"), described((64, 64), "x"), described((64, 64), "x"))
    program = sdy.from_jax(two_products, *arguments)
    plain = program.without_optimizer()
    assert program.report() != plain.report()
    assert plain.without_optimizer() is plain
    costs = [each.cost("tpu_v5e").communication_seconds for each in (plain, program)]
    assert costs[0] > costs[1]
    assert all(outcome.agrees for outcome in plain.verify())


def two_products(x: jax.Array, up: jax.Array, gate: jax.Array) -> jax.Array:
    return x @ up + x @ gate


def test_devices_are_those_of_the_arguments() -> None:
    devices = mesh().devices.flatten()[[7, 0]]
    backwards = jax.sharding.Mesh(devices, ("i",))
    x = jax.device_put(np.arange(8, dtype=np.float32), NamedSharding(backwards, PartitionSpec("i")))
    partitioned = sdy.from_jax(jnp.negative, x).partition()
    result = partitioned.to_jax()(x)
    assert result.sharding.device_set == set(devices)
    assert partitioned.output_shardings() == x.sharding


def on(*numbers: int) -> jax.Array:
    devices = cast(list[object], jax.devices())
    mesh_of_them = jax.sharding.Mesh(np.array([devices[number] for number in numbers]), ("x",))
    placed = NamedSharding(mesh_of_them, PartitionSpec("x"))
    return cast(jax.Array, jax.device_put(np.ones(24, np.float32), placed))


def total(params: Layer, x: jax.Array) -> jax.Array:
    return params["w"] + x


def abstract(count: int) -> jax.ShapeDtypeStruct:
    placed = NamedSharding(AbstractMesh((count,), ("x",)), PartitionSpec("x"))
    return jax.ShapeDtypeStruct((24,), jnp.float32, sharding=placed)


def refused(w: object, x: object) -> str:
    with pytest.raises(SdyError) as raised:
        sdy.from_jax(total, {"w": w}, x)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "SDY-T211"
    return diagnostic.message


def test_arguments_on_different_devices_are_an_error() -> None:
    first = on(0, 1)
    assert refused(first, on(6, 7)) == "params['w'] is on devices 0, 1, and x on devices 6, 7"
    assert refused(first, on(1, 0)) == "params['w'] is on devices 0, 1, and x on devices 1, 0 in another order"
    assert refused(first, on(1)) == "params['w'] is on devices 0, 1, and x on device 1"
    assert refused(abstract(4), first) == "params['w'] is on 4 devices of an abstract mesh, and x on devices 0, 1"


class WithoutSignature:
    __signature__ = "not one"

    def __call__(self, w: jax.Array, x: jax.Array) -> jax.Array:
        return w + x


def test_arguments_without_names_are_numbered() -> None:
    with pytest.raises(SdyError) as raised:
        sdy.from_jax(WithoutSignature(), on(0, 1), on(6, 7))
    assert raised.value.diagnostics[0].message == "argument 0 is on devices 0, 1, and argument 1 on devices 6, 7"


def test_an_uncommitted_array_follows_the_others() -> None:
    w, x = on(4, 5, 6, 7), jnp.ones(24)
    program = sdy.from_jax(total, {"w": w}, x)
    assert program.partition().to_jax()({"w": w}, x).sharding == w.sharding


def adds_to(ref: jax.Ref, x: jax.Array) -> jax.Array:
    ref[...] += x
    return x.sum()


def test_a_mutable_array_from_outside_is_an_error() -> None:
    total = jax.new_ref(jnp.zeros(4))

    def adds_to_total(x: jax.Array) -> jax.Array:
        return adds_to(total, x)

    calls: list[tuple[Callable[..., jax.Array], tuple[object, ...], str]] = [
        (adds_to, (total, jnp.ones(4)), "argument ref is a jax.Ref"),
        (adds_to_total, (jnp.ones(4),), "the function closes over a jax.Ref"),
    ]
    for function, arguments, which in calls:
        with pytest.raises(SdyError) as raised:
            sdy.from_jax(function, *arguments)
        (diagnostic,) = raised.value.diagnostics
        assert diagnostic.code == "SDY-T215"
        assert diagnostic.message.startswith(which)


def test_a_mutable_array_of_the_function() -> None:
    def doubled(x: jax.Array) -> jax.Array:
        ref = jax.new_ref(x)
        adds_to(ref, x)
        return cast(jax.Array, ref[...])

    x = np.arange(8, dtype=np.float32)
    assert all(outcome.agrees for outcome in sdy.from_jax(doubled, described((8,), "x")).verify(x, expected=2 * x))


def test_other_errors_of_jax_are_not_changed() -> None:
    with pytest.raises(ValueError, match="divi"):
        sdy.from_jax(jax.pmap(affine_rows), jnp.ones((9, 2)))


def affine_rows(x: jax.Array) -> jax.Array:
    return 2 * x + 1


def test_programs_with_explicit_axes_are_partitioned() -> None:
    mesh = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)

    def on_mesh(*spec: str | None) -> NamedSharding:
        return NamedSharding(mesh, PartitionSpec(*spec))

    def loss(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        hidden = jax.nn.relu(jnp.dot(x, params["up"], out_sharding=on_mesh("data", "model")))
        y = jnp.dot(hidden, params["down"], out_sharding=on_mesh("data", None))
        return jnp.mean(jax.sharding.reshard(y, on_mesh("data", "model")))

    def described(shape: tuple[int, ...], *spec: str | None) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=on_mesh(*spec))

    params = {"up": described((16, 32), None, "model"), "down": described((32, 16), "model", None)}
    program = sdy.from_jax(jax.value_and_grad(loss), params, described((8, 16), "data", None))
    assert all(outcome.agrees for outcome in program.verify())


def test_lint_fixes_a_program_from_jax_and_names_its_arguments() -> None:
    def product(w: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w)

    whole, batch = (jax.ShapeDtypeStruct((1024, 1024), jnp.float32, sharding=sharding(*each)) for each in ((), ("x",)))
    program = sdy.from_jax(product, whole, batch)
    fixed, findings = program.with_lint_fixes(sdy.LintSettings(select=("S402",)))
    assert [each.fix.fix.text for each in findings if each.fix] == ["annotate w as [{}, {\"y\"}] or P(None, 'y')"]
    assert fixed.origin.source_lines == program.origin.source_lines
    assert all(output.agrees for output in fixed.verify())


def test_the_type_of_the_results_is_that_of_the_function() -> None:
    program = assert_type(sdy.from_jax(affine, PARAMS, described((8, 16), "x"), scale=2.0), Program[Layer])
    x, w = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32)
    assert_type(program.run({"b": np.zeros(8, np.float32), "w": w}, x, scale=0.5), Layer)
    assert_type(program.partition(), Compiled[Layer])


def test_lines_of_a_notebook_are_named_after_their_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = "/tmp/ipykernel_7/1234.py"

    def code_name(name: str) -> tuple[str, str] | None:
        return ("Cell", "In[3]") if name == cell else None

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=code_name))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    names: dict[str, Callable[[object], object]] = {}
    exec(compile("def double(x):\n    return x + x\n", cell, "exec"), names)
    program = sdy.from_jax(names["double"], np.ones(4, np.float32))
    assert list(program.origin.source_lines.values()) == ["In[3]:2"]
    assert "In[3]:2" in program.explain("In[3]:2")
    with pytest.raises(SdyError, match="no value of the program was traced from In\\[3\\]:9"):
        program.explain("In[3]:9")
