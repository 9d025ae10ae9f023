"""`Program.save` keeps the lines of Python, the names of arguments and the shardings of a program from JAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import sdy
from sdy.program.program import Program

MESH = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
UNTYPED: Any = jax


def array(shape: tuple[int, ...], *spec: str | None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, P(*spec)))


def layers(params: Any, x: Any) -> Any:
    def body(carry: Any, weight: Any) -> Any:
        hidden = jnp.where(carry > 0, carry @ weight, jnp.argmax(carry, axis=-1, keepdims=True))
        return jnp.tanh(hidden), jnp.sum(hidden)

    last, sums = UNTYPED.lax.scan(body, x, params["blocks"])
    with UNTYPED.named_scope("head"):
        return {"last": last @ params['it"s'], "sums": sums}


def step(params: Any, x: Any) -> Any:
    def loss(params: Any) -> Any:
        return jnp.mean(layers(params, x)["last"]) ** 2

    gradients = UNTYPED.grad(loss)(params)
    return jax.tree.map(jnp.subtract, params, gradients)


ARGUMENTS = (
    {"blocks": array((3, 64, 64), None, "data", "model"), 'it"s': array((64, 64), "model")},
    array((32, 64), "data"),
)


@pytest.fixture(scope="module")
def program() -> Program[Any]:
    return sdy.from_jax(step, *ARGUMENTS)


def saved(program: Program[Any], tmp_path: Path) -> Program[Any]:
    path = tmp_path / "step.mlir"
    program.save(path)
    return sdy.load(path)


def test_a_saved_program_has_the_same_report(program: Program[Any], tmp_path: Path) -> None:
    found = saved(program, tmp_path)
    assert found.origin.argument_names == program.origin.argument_names
    assert found.origin.source_lines == program.origin.source_lines
    assert found.origin.scopes == program.origin.scopes
    assert {"head", "transpose(head)"} <= set(found.origin.scopes.values())
    name = next(line for line in program.report(verbose=True).splitlines() if "remark" in line).partition(":")[0]
    ours = found.report(verbose=True).replace(str(tmp_path / "step.mlir"), name)
    assert ours == program.report(verbose=True)
    assert "as jax.jit lowers it" in ours
    assert "test_save.py:" in ours


def test_other_questions_have_the_same_answers(program: Program[Any], tmp_path: Path) -> None:
    found = saved(program, tmp_path)
    assert found.explain("params['blocks']") == program.explain("params['blocks']")
    assert found.conflicts() == program.conflicts()


def test_an_edited_program_and_a_read_one_are_saved_again(program: Program[Any], tmp_path: Path) -> None:
    edited = program.apply(sdy.shard("x", dim=1, axis="model")).program
    found = saved(edited, tmp_path)
    assert found.origin.argument_names == program.origin.argument_names
    assert found.origin.source_lines == edited.origin.source_lines
    assert found.cost("tpu_v5e") == edited.cost("tpu_v5e")
    assert str(saved(found, tmp_path)) == str(found)


def test_a_text_is_saved_as_it_is(tmp_path: Path) -> None:
    text = "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> { // no change\n  return %a : tensor<8xf32>\n}"
    sdy.Program.from_text(text).save(tmp_path / "a.mlir")
    assert (tmp_path / "a.mlir").read_text() == text
