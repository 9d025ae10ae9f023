"""Compare printed modules with MLIR's printer, byte for byte, in both forms, for programs and for every op."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from support.oracle import jaxlib_mlir

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import make_context, parse_module, parse_module_with_locations, print_module
from sdy.dialects.verification.verify_module import verify_module

ROOT = Path(__file__).resolve().parents[2]
FILE_TESTS = ROOT / "tests" / "filecheck" / "dialects"
FILES_FOR_JAXLIB = ("chlo", "func_builtin", "stablehlo_")  # prefixes of file tests with ops that jaxlib also has
PROGRAMS = sorted((ROOT.parent / "shared" / "models").glob("*.mlir")) + sorted(
    (ROOT / "sdy" / "examples").glob("*.mlir")
)
OPS = sorted(path for path in FILE_TESTS.glob("*.mlir") if path.stem.startswith(FILES_FOR_JAXLIB))


@pytest.mark.parametrize("path", [*PROGRAMS, *OPS], ids=lambda path: path.stem)
def test_both_forms_match_mlir(path: Path) -> None:
    text = path.read_text()
    module = parse_module(text, path.name)
    verify_module(module)
    assert print_module(module) == jaxlib_mlir.pretty_text(text)
    assert print_module(module, generic=True) == jaxlib_mlir.generic_text(text)


LOCATED = """#loc = loc(unknown)
#loc1 = loc("x")
module @located {
  func.func @main(%arg0: tensor<4xf32> loc("x"), %arg1: tensor<4xf32> loc(#loc1)) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32> loc(#loc7)
    %1 = stablehlo.negate %0 : tensor<4xf32> loc(callsite("f"("a.py":1:2) at "g"))
    %2 = stablehlo.abs %1 : tensor<4xf32> loc(fused<"why">["a.py":3:4, "b"])
    %3 = stablehlo.abs %2 : tensor<4xf32> loc("a.py":3:4 to :9)
    %4 = stablehlo.abs %3 : tensor<4xf32> loc("a.py":3:4 to 5:6)
    return %4 : tensor<4xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc5 = loc("a.py":10:11)
#loc7 = loc("jit(f)/add"(#loc5))
"""
LOWERED = """#loc1 = loc("x")
module @jit_f {
  sdy.mesh @m = <["x"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>} loc("x")) -> tensor<f32> {
    %0 = stablehlo.tanh %arg0 : tensor<8xf32> loc(callsite("tanh"("train.py":3:4) at "train.py":9:0))
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0]
      : (tensor<8xf32>, tensor<f32>) -> tensor<f32> loc("sum"("train.py":3:4))
    %2:2 = stablehlo.while(%i = %1, %j = %0) : tensor<f32>, tensor<8xf32>
    cond {
      %c = stablehlo.constant dense<true> : tensor<i1> loc("train.py":3:4)
      stablehlo.return %c : tensor<i1> loc("train.py":12:0)
    } do {
      stablehlo.return %i, %j : tensor<f32>, tensor<8xf32> loc("train.py":12:0)
    } loc(fused["a", "b"])
    %3 = func.call @g(%2#0) : (tensor<f32>) -> tensor<f32> loc("g")
    return %3 : tensor<f32>
  } loc("main")
  func.func private @g(%a: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32> loc(unknown), %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32> loc("all_reduce")
    return %0 : tensor<f32>
  }
  func.func private @declared(tensor<f32>) -> tensor<f32> loc("declared")
}
"""


def test_all_forms_of_locations_are_parsed() -> None:
    # MLIR defines most aliases after their uses.
    assert print_module(parse_module(LOCATED)) == jaxlib_mlir.pretty_text(LOCATED)


def scanned(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Return a sum over a scan and two branches, whose gradient has all kinds of regions."""

    def step(carry: jax.Array, weight: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.tanh(carry @ weight), carry.sum()

    y, sums = lax.scan(step, x, weights)
    return jnp.add(sums.var(), cast(jax.Array, lax.cond(y[0, 0] > 0, jnp.max, jnp.min, y)))


def lowered_by_jax() -> str:
    """Return the text of a gradient as JAX prints it with locations."""
    gradient = jax.jit(jax.grad(scanned, argnums=(0, 1)))
    return gradient.lower(jnp.ones((3, 4, 4)), jnp.ones((2, 4))).as_text(debug_info=True)


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("text", [LOCATED, LOWERED, lowered_by_jax()], ids=["all_forms", "places", "jax"])
def test_locations_match_mlir(text: str, generic: bool) -> None:
    """The locations that a text names, and the places of ops for which it names none."""
    module, locations = parse_module_with_locations(text, "-", make_context())
    assert print_module(module, generic, locations) == jaxlib_mlir.text_with_locations(text, generic)


@pytest.mark.parametrize("path", [*PROGRAMS, *OPS], ids=lambda path: path.stem)
def test_texts_with_locations_are_the_same_programs(path: Path) -> None:
    """MLIR writes locations after ops, after the arguments of functions and of all kinds of regions, and as aliases."""
    text = path.read_text()
    expected = print_module(parse_module(text, path.name))
    for generic in (False, True):
        located = jaxlib_mlir.text_with_locations(text, generic)
        module, locations = parse_module_with_locations(located, "-")
        assert print_module(module) == expected
        assert print_module(module, generic, locations) == located


def test_an_alias_of_a_location_must_be_defined() -> None:
    with pytest.raises(SdyError) as caught:
        parse_module(LOCATED.replace("#loc7 =", "#loc8 ="))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-P003"
    assert diagnostic.span is not None
    assert diagnostic.span.line == 5


@pytest.mark.parametrize("path", [*PROGRAMS, *OPS], ids=lambda path: path.stem)
def test_both_forms_round_trip(path: Path) -> None:
    printed = print_module(parse_module(path.read_text(), path.name))
    generic = print_module(parse_module(printed), generic=True)
    assert print_module(parse_module(generic)) == printed
    assert jaxlib_mlir.generic_text(printed) == generic


RESOURCES = """func.func @main() -> (tensor<2xf32>, tensor<2xf32>, tensor<3xi16>) {
  %0 = stablehlo.constant dense_resource<second> : tensor<2xf32>
  %1 = stablehlo.constant dense_resource<first> : tensor<2xf32>
  %2 = stablehlo.constant dense_resource<same> : tensor<3xi16>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<3xi16>
}

{-#
  dialect_resources: {
    builtin: {
      first: "0x040000000000803F00000040",
      second: "0x080000000000003F00000040",
      same: "0x02000000070007000700"
    }
  }
#-}
"""


def test_resource_blobs_are_kept() -> None:
    assert print_module(parse_module(RESOURCES)) == jaxlib_mlir.pretty_text(RESOURCES)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<first>", "<fist>", "expected resource fist in the section {-# ... #-} of the file"),
        (
            "0x02000000070007000700",
            "0x0200000007000700",
            "resource same: expected 3 elements of 2 bytes, or one element for a splat, got 4 bytes",
        ),
    ],
)  # fmt: skip
def test_invalid_resource_blobs_are_errors(old: str, new: str, message: str) -> None:
    with pytest.raises(SdyError) as caught:
        parse_module(RESOURCES.replace(old, new))
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [message]
