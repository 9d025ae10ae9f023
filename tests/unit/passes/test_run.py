from __future__ import annotations

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import make_context, parse_module
from sdy.passes.import_.lift_inlined_meshes import LiftInlinedMeshesPass
from sdy.passes.run import run_passes

PROGRAM = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


@dataclass(frozen=True)
class DropPropertiesPass(ModulePass):
    """Drop the properties of every iota op, which is wrong."""

    name = "test-drop-properties"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in pre_order(op):
            if inner.name == "stablehlo.iota":
                inner.properties.clear()


@pytest.mark.parametrize("passes_before", [0, 1])
def test_the_pass_that_produces_an_invalid_module_is_the_last_to_run(passes_before: int) -> None:
    ran: list[str] = []
    module = parse_module(PROGRAM)
    passes = [LiftInlinedMeshesPass()] * passes_before + [DropPropertiesPass(), LiftInlinedMeshesPass()]
    with pytest.raises(SdyError, match="iota_dimension"):
        run_passes(make_context(), module, passes, before=lambda each, _: ran.append(each.name))
    assert ran[-1] == DropPropertiesPass.name


def test_verification_after_each_pass_can_be_replaced() -> None:
    verified: list[str] = []
    module = parse_module(PROGRAM)
    run_passes(make_context(), module, [DropPropertiesPass()], verify=lambda: verified.append("once"))
    assert verified == ["once"]
    run_passes(make_context(), module, [DropPropertiesPass()], verify_each=False)
