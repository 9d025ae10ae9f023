"""Functions that are one kernel."""

from __future__ import annotations

from sdy.cost.allocation.kernel_calls import KernelCalls
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.elementwise import NegateOp


def test_a_function_without_a_body_is_no_kernel() -> None:
    module = parse_module("""
func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
func.func private @negated(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}""")
    kernels = KernelCalls(functions_of(module), {NegateOp}, {NegateOp})
    assert kernels.kernel_named("outside") is None
    found = kernels.kernel_named("negated")
    assert found is not None
    assert found.kind is NegateOp
