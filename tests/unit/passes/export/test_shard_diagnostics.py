"""Diagnostics of the passes between reshards and the local program, and their locations."""

from __future__ import annotations

import pytest
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import make_context, parse_module
from sdy.passes.export.reshards.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.single_device.resolve_single_device_sharding import ResolveSingleDeviceShardingPass
from sdy.upstream.halo.resolve import ResolvePermutationFactorsPass
from sdy.upstream.padding import PadForDivisibilityPass
from sdy.upstream.per_instruction_partitioning import PerInstructionPartitioningPass

LINE = 8  # of the op that a case is about
MESHES = (
    'sdy.mesh @g = <["r"=2]>\nsdy.mesh @h = <["s"=2]>\n'
    'sdy.mesh @k = <["r"=2, "t"=2]> sdy.mesh @one = <[], device_ids=[1]>\n'
)


def _on(*shardings: str) -> str:
    return f"{{sdy.sharding = #sdy.sharding_per_value<[{', '.join(shardings)}]>}}"


SHARDED, OTHER = '<@g, [{"r"}]>', '<@h, [{"s"}]>'
CASES: dict[str, tuple[ModulePass, str, list[str]]] = {
    "SDY-L004": (
        ResolvePermutationFactorsPass(replica_count=2, partition_count=2),
        "stablehlo.negate %a : tensor<3xi32>",
        ["replica-count or partition-count must be 1, got 2 and 2"],
    ),
    "SDY-L014": (
        PadForDivisibilityPass(),
        'sdy.manual_computation(%d) in_shardings=[<@k, [{"r", "t"}]>] out_shardings=[<@k, [{}]>] manual_axes={"r"} '
        "(%p: tensor<3xi32>) {\n"
        "    %s = stablehlo.constant dense<0> : tensor<6xi32>\n    sdy.return %s : tensor<6xi32>\n"
        "  } : (tensor<6xi32>) -> tensor<6xi32>",
        ["(6,)"],
    ),
    "SDY-L015": (
        PadForDivisibilityPass(),
        "func.func",
        ["argument #0", "tensor<3xi32>", SHARDED],
    ),
    "SDY-L016": (
        ResolveSingleDeviceShardingPass(),
        f"stablehlo.custom_call @f(%a) {_on('<@one, []>', SHARDED)}"
        " : (tensor<3xi32>) -> (tensor<3xi32>, tensor<4xi32>)",
        ["@one", SHARDED],
    ),
    "SDY-L018": (
        PerInstructionPartitioningPass(),
        f"stablehlo.negate %b {_on(OTHER)} : tensor<4xi32>",
        [SHARDED, OTHER],
    ),
}


def _program(op: str) -> str:
    argument = ' {sdy.sharding = #sdy.sharding<@g, [{"r"}]>}'
    if op == "func.func":
        return f"{MESHES}\n\n\n\nfunc.func @main(%a: tensor<3xi32>{argument}) {{\n  return\n}}\n"
    count = ":2" if "custom_call" in op else ""
    return (
        f"{MESHES}func.func @main(%a: tensor<3xi32>, %b: tensor<4xi32>{argument}, %d: tensor<6xi32>) {{\n"
        "  %c = stablehlo.constant dense<0> : tensor<i32>\n"
        '  %x = sdy.all_slice [{"r"}] %a out_sharding=<@g, [{"r"}]> : tensor<3xi32>\n'
        f"\n  %0{count} = {op}\n  return\n}}\n"
    )


@pytest.mark.parametrize("code", CASES)
def test_unsupported_program_is_rejected_at_the_op(code: str) -> None:
    sharding_pass, op, parts = CASES[code]
    with pytest.raises(SdyError) as caught:
        sharding_pass.apply(make_context(), parse_module(_program(op), "bad.mlir"))
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == code
    assert all(part in diagnostic.message for part in parts)
    assert diagnostic.hint
    if code != "SDY-L004":  # which is about the options
        assert diagnostic.span is not None
        assert diagnostic.span.line == LINE


def test_functions_use_full_meshes() -> None:
    text = f"{MESHES}func.func @main() -> (tensor<3xi32> {{sdy.sharding = #sdy.sharding<@one, []>}}) {{\n"
    text += "  %0 = stablehlo.constant dense<0> : tensor<3xi32>\n  return %0 : tensor<3xi32>\n}\n"
    with pytest.raises(SdyError) as caught:
        InsertExplicitReshardsPass().apply(make_context(), parse_module(text, "bad.mlir"))
    assert caught.value.diagnostics[0].code == "SDY-L017"
    assert "device 1" in caught.value.diagnostics[0].message
