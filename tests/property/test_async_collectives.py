"""Asynchronous collectives, which JAX writes as two custom calls, are read as the collectives that they stand for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdy
from sdy.interpreter.arrays.element_types import Array
from sdy.ir import print_module

GROUPS = [[[0, 1, 2, 3]], [[0, 1], [2, 3]], [[0, 2], [1, 3]]]
REDUCER = """func.func private @reducer(%a: tensor<TYPE>, %b: tensor<TYPE>) -> tensor<TYPE> {
  %0 = stablehlo.add %a, %b : tensor<TYPE>
  return %0 : tensor<TYPE>
}
"""
REGION = """ ({
      ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
        %s = stablehlo.add %a, %b : tensor<TYPE>
        stablehlo.return %s : tensor<TYPE>
      })"""
PROGRAM = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<16x16xTYPE> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<RESULTxTYPE> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
      manual_axes={"x"} (%arg1: tensor<4x16xTYPE>) {
    BODY
    sdy.return %r : tensor<LOCALxTYPE>
  } : (tensor<16x16xTYPE>) -> tensor<RESULTxTYPE>
  return %0 : tensor<RESULTxTYPE>
}
"""


def program(kind: str, element: str, local: tuple[int, int], body: str) -> sdy.Program[list[Array]]:
    text = PROGRAM.replace("BODY", body).replace("LOCAL", f"{local[0]}x{local[1]}")
    text = text.replace("RESULT", f"{4 * local[0]}x{local[1]}").replace("TYPE", element)
    reducer = REDUCER.replace("TYPE", element) if "@reducer" in body else ""
    return sdy.Program.from_text(text + reducer, f"{kind}.mlir")


def local_shape(kind: str, dim: int, count: int) -> tuple[int, int]:
    sizes = [4, 16]
    if kind == "all-gather":
        sizes[dim] *= count
    elif kind == "reduce-scatter":
        sizes[dim] //= count
    elif kind == "all-to-all":
        sizes[dim] //= count
        sizes[1 - dim] *= count
    return sizes[0], sizes[1]


def pair(kind: str, element: str, dim: int, groups: list[list[int]]) -> tuple[str, str, tuple[int, int]]:
    """Return the body with custom calls, the one with the collective, and the local shape of the result."""
    local = local_shape(kind, dim, len(groups[0]))
    table = f"dense<{groups}> : tensor<{len(groups)}x{len(groups[0])}xi64>"
    pairs = [[device, group[(place + 1) % len(group)]] for group in groups for place, device in enumerate(group)]
    entries: dict[str, dict[str, object]] = {
        "all-gather": {"all_gather_dimension": dim, "replica_groups": groups, "use_global_device_ids": True},
        "all-reduce": {"replica_groups": groups, "use_global_device_ids": True},
        "reduce-scatter": {
            "scatter_dimension": dim, "replica_groups": groups, "tiled": True, "use_global_device_ids": True
        },
        "all-to-all": {
            "split_dimension": dim, "concat_dimension": 1 - dim, "split_count": len(groups[0]), "replica_groups": groups
        },
        "collective-permute": {"permutation": pairs},
    }  # fmt: skip
    properties = {
        "all-gather": f"all_gather_dim = {dim} : i64, replica_groups = {table}, use_global_device_ids",
        "all-reduce": f"replica_groups = {table}, use_global_device_ids",
        "reduce-scatter": f"replica_groups = {table}, scatter_dimension = {dim} : i64, use_global_device_ids",
        "all-to-all": f"concat_dimension = {1 - dim} : i64, replica_groups = {table}, "
        f"split_count = {len(groups[0])} : i64, split_dimension = {dim} : i64",
        "collective-permute": f"source_target_pairs = dense<{pairs}> : tensor<{len(pairs)}x2xi64>",
    }
    config = json.dumps(entries[kind] | {"channel_id": 1}).replace('"', "\\22")
    types = f"(tensor<4x16xTYPE>) -> tensor<{local[0]}x{local[1]}xTYPE>"
    is_reduction = kind in ("all-reduce", "reduce-scatter")
    called = "called_computations = [@reducer], " if is_reduction else ""
    result = types.partition(" -> ")[2]
    started = f"""%f = stablehlo.custom_call @"{kind}-start"(%arg1) {{{called}mhlo.frontend_attributes =
      {{async_collective_config = "{config}"}}}} : {types}
    %t = stablehlo.negate %arg1 : tensor<4x16xTYPE>
    %r = stablehlo.custom_call @"{kind}-done"(%f) : ({result}) -> {result}"""
    op = f"stablehlo.{kind.replace('-', '_')}"
    channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    at_once = f"""%r = "{op}"(%arg1) <{{{channel}, {properties[kind]}}}>{REGION if is_reduction else ""} : {types}
    %t = stablehlo.negate %arg1 : tensor<4x16xTYPE>"""
    return started, at_once, local


KINDS = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute")


@settings(max_examples=40)
@given(
    st.sampled_from(KINDS), st.sampled_from(["f32", "bf16", "i32", "f64"]), st.integers(0, 1), st.sampled_from(GROUPS)
)
def test_two_calls_are_one_collective(kind: str, element: str, dim: int, groups: list[list[int]]) -> None:
    started, at_once, local = pair(kind, element, dim, groups)
    found, expected = program(kind, element, local, started), program(kind, element, local, at_once)
    bodies = [print_module(each.module).partition("func.func private")[0].rstrip(" \n}") for each in (found, expected)]
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("kind", KINDS)
def test_asynchronous_collectives_are_verified_proved_and_priced(kind: str) -> None:
    started, at_once, local = pair(kind, "f32", 0, GROUPS[0])
    found, expected = program(kind, "f32", local, started), program(kind, "f32", local, at_once)
    assert [each.agrees for each in found.verify()] == [True]
    assert bool(found.prove()) == bool(expected.prove())
    assert found.cost("tpu_v5e") == expected.cost("tpu_v5e")
    assert found.cost("tpu_v5e").bytes_sent > 0


def test_a_malformed_configuration_is_not_read() -> None:
    started, _, local = pair("all-gather", "f32", 0, GROUPS[0])
    broken = program("all-gather", "f32", local, started.replace("{\\22all", "\\22all"))
    with pytest.raises(sdy.SdyError, match="no kernel for the custom call @all-gather-start"):
        broken.verify()
