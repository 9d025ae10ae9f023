"""Ops without results, values on one device, and calls in bodies of reductions are partitioned and reported."""

from __future__ import annotations

import numpy as np
import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.interpreter.devices.grid import grid_of_mesh
from sdy.interpreter.devices.shards import shard
from sdy.interpreter.host import Host
from sdy.interpreter.run import run_spmd
from sdy.program.program import Program

MESHES = 'sdy.mesh @m = <["x"=2, "y"=2]>\nsdy.mesh @one = <[], device_ids=[1]>\n'
SHARDED = '{sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}'
ON_ONE = "sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>"
VALUES = np.array([[-0.0, 1, 2, 3], [4, np.inf, -6, -0.0]], np.float32)


def program(body: str) -> Program:
    """Return a program that returns %r, which `body` computes from %a."""
    return Program.from_text(
        f"{MESHES}func.func @main(%a: tensor<2x4xf32> {SHARDED}) -> (tensor<2x4xf32> {SHARDED}) {{\n"
        f"  %r = stablehlo.add %a, %a : tensor<2x4xf32>\n  {body}\n  return %r : tensor<2x4xf32>\n}}\n"
    )


def exercise(program: Program) -> None:
    """Run everything that only reads a program."""
    program.propagate()
    program.partition().cost("h100")
    program.conflicts()
    assert program.report()
    assert program.report_html()


def test_unknown_custom_call_without_results() -> None:
    types = "(tensor<2x4xf32>, tensor<2x4xf32>) -> ()"
    unknown = program(f"stablehlo.custom_call @log(%a, %r) {{has_side_effect = true}} : {types}")
    exercise(unknown)
    with pytest.raises(SdyError) as caught:
        unknown.partition().run(VALUES)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-X003"
    assert diagnostic.span is not None


@pytest.mark.parametrize(("attribute", "devices"), [("", 4), (f" {{{ON_ONE}}}", 1)])
def test_print(attribute: str, devices: int) -> None:
    printing = program(f'"interpreter.print"(%r){attribute} : (tensor<2x4xf32>) -> ()')
    exercise(printing)
    partitioned = printing.partition()
    (argument,), mesh = partitioned.boundary.arguments, partitioned.boundary.mesh
    written: list[str] = []
    shards = [shard(VALUES, argument.sharding, argument.mesh)]
    run_spmd(partitioned.local, shards, grid_of_mesh(mesh), host=Host(write=written.append))
    assert len(written) == devices
    assert all("tensor<2x4xf32>" in text for text in written)


def test_check_on_all_devices() -> None:
    checking = program("check.expect_eq %r, %r : tensor<2x4xf32>")
    exercise(checking)
    assert all(outcome.agrees for outcome in checking.verify(VALUES))


def test_value_on_one_device() -> None:
    alone = program(
        f"%b = stablehlo.abs %a {{{ON_ONE}}} : tensor<2x4xf32>\n  %c = stablehlo.add %b, %r : tensor<2x4xf32>"
    )
    exercise(alone)
    assert all(outcome.agrees for outcome in alone.verify(VALUES))


def test_zero_on_one_device_keeps_its_sign() -> None:
    moved = Program.from_text(
        f"{MESHES}func.func @main(%a: tensor<2x4xf32> {SHARDED}) -> (tensor<2x4xf32> {SHARDED}) {{\n"
        f"  %r = stablehlo.ceil %a {{{ON_ONE}}} : tensor<2x4xf32>\n  return %r : tensor<2x4xf32>\n}}\n"
    )
    (result,) = moved.partition().run_flat([VALUES])
    np.testing.assert_array_equal(result, VALUES)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(VALUES))


def test_call_in_the_body_of_a_reduction() -> None:
    calling = Program.from_text(f"""{MESHES}
func.func private @sum(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {{
  %z = stablehlo.add %x, %y : tensor<f32>
  return %z : tensor<f32>
}}
func.func @main(%a: tensor<2x4xf32> {SHARDED}, %i: tensor<f32>) -> tensor<4xf32> {{
  %j = call @sum(%i, %i) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %r = "stablehlo.reduce"(%a, %j) <{{dimensions = array<i64: 0>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = func.call @sum(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}}""")
    exercise(calling)
    assert all(outcome.agrees for outcome in calling.verify(VALUES, np.float32(1)))
