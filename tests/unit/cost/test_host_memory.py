"""Values in the memory of the host do not count as memory of the device."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

import sdy
from sdy.cost.memory import peak_bytes
from sdy.dialects.host_memory import HostMemory
from sdy.dialects.ir.symbols import main_block
from sdy.dialects.module_text import parse_module

LAYERS, ROWS, WIDTH = 16, 512, 64
STACK = LAYERS * ROWS * WIDTH * 4


def gradient_of(*offloaded: str) -> sdy.Program:
    """Return the gradient of equal layers, which keep two values of equal shape for the backward pass."""

    def layer(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
        first = checkpoint_name(x, "first")
        second = checkpoint_name(jnp.sin(first @ w), "second")
        return jnp.sin(second @ w), None

    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[name for name in ("first", "second") if name not in offloaded],
        names_which_can_be_offloaded=list(offloaded),
        offload_src="device",
        offload_dst="pinned_host",
    )

    def loss(w: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.scan(jax.checkpoint(layer, policy=policy), x, w)[0].sum()

    shapes = jax.ShapeDtypeStruct((LAYERS, WIDTH, WIDTH), "float32"), jax.ShapeDtypeStruct((ROWS, WIDTH), "float32")
    return sdy.from_jax(jax.jit(jax.grad(loss)), *shapes, platform="tpu")


def test_stacks_that_are_offloaded_take_no_memory_of_the_device() -> None:
    peaks = [gradient_of(*names).cost("tpu_v5e").peak_bytes for names in ((), ("first",), ("first", "second"))]
    assert peaks[0] > 2 * STACK
    for before, after in pairwise(peaks):
        assert before - after == STACK


def test_what_a_function_stores_depends_on_its_call() -> None:
    module = parse_module("""
      func.func @main(%index: tensor<i32>, %a: tensor<8xf32>, %stack: tensor<4x8xf32>) -> tensor<8xf32> {
        %host = stablehlo.custom_call @annotate_device_placement(%a) {
          has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}
        } : (tensor<8xf32>) -> tensor<8xf32>
        %0 = func.call @store(%stack, %host, %index) : (tensor<4x8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<4x8xf32>
        %1 = func.call @store(%stack, %a, %index) : (tensor<4x8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<4x8xf32>
        %2 = stablehlo.dynamic_slice %0, %index, %index, sizes = [1, 8]
          : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
        %3 = stablehlo.reshape %2 : (tensor<1x8xf32>) -> tensor<8xf32>
        %4 = stablehlo.custom_call @annotate_device_placement(%3) {
          has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}
        } : (tensor<8xf32>) -> tensor<8xf32>
        return %4 : tensor<8xf32>
      }
      func.func private @store(%stack: tensor<4x8xf32>, %row: tensor<8xf32>, %index: tensor<i32>) -> tensor<4x8xf32> {
        %0 = stablehlo.reshape %row : (tensor<8xf32>) -> tensor<1x8xf32>
        %1 = stablehlo.dynamic_update_slice %stack, %0, %index, %index
          : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
        return %1 : tensor<4x8xf32>
      }
    """)
    host = HostMemory(module)
    results = [op.results[0] for op in main_block(module).ops if op.results]
    assert [host.holds(result) for result in results] == [True, True, False, True, True, False]


def test_arguments_in_the_memory_of_the_host_are_not_counted() -> None:
    text = """
      func.func @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>{kind}) -> tensor<1024xf32> {{
        %0 = stablehlo.custom_call @annotate_device_placement(%b) {{
          has_side_effect = true, mhlo.frontend_attributes = {{_xla_buffer_placement = "device"}}
        }} : (tensor<1024xf32>) -> tensor<1024xf32>
        %1 = stablehlo.add %a, %0 : tensor<1024xf32>
        return %1 : tensor<1024xf32>
      }}
    """
    peaks = [peak_bytes(parse_module(text.format(kind=kind))) for kind in ("", ' {mhlo.memory_kind = "pinned_host"}')]
    assert peaks[0] - peaks[1] == 4096
