"""Compare printed modules with MLIR's printer, byte for byte, in both forms, for programs and for every op."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.oracle import jaxlib_mlir

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module, print_module
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


def test_all_forms_of_locations_are_parsed() -> None:
    # MLIR defines most aliases after their uses.
    assert print_module(parse_module(LOCATED)) == jaxlib_mlir.pretty_text(LOCATED)


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
