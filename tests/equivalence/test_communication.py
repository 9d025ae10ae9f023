"""Devices send fewer bytes than with XLA's partitioner, and compute and hold no more than without the optimizer."""

from __future__ import annotations

from math import exp, inf, log
from pathlib import Path

import pytest
from support.random_programs.products import products_program

from sdy.cost.statistics import Statistics, statistics_of
from sdy.partitioner.layout_search.state import MemoryBudget
from sdy.passes.export.optimize import optimize_communication
from sdy.program.program import Program
from sdy.program.sources import load

MODELS = Path(__file__).parents[3] / "shared" / "models"
# Bytes that each device sends as partitioned by XLA for CPU (jaxlib 0.10.2; ring algorithms, loops times trip count).
XLA = {
    "matmul_case2": 1_536,
    "matmul_case3": 2_304,
    "matmul_case4": 2_304,
    "mlp_dp8": 73_997,
    "mlp_dp4_tp2": 46_850,
    "constraint_transpose": 1_088,
    "transformer_megatron": 140_542,
    "transformer_sgd_step": 80_766,
    "transformer_scan_fsdp": 774_148,
    "decode_kv_cache": 256,
    "cnn": 10_690,
    "dropout_threefry": 16,
}
# A step of the Newton-Schulz iteration, in which gathers that two products share would exceed the memory limit.
NEWTON_SCHULZ = """
sdy.mesh @m = <["fsdp"=4, "tp"=2]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"fsdp"}, {"tp"}]>}) -> tensor<32x64xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %a = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0]
    : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
  %c1 = stablehlo.constant dense<-4.7> : tensor<f32>
  %b1 = stablehlo.broadcast_in_dim %c1, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
  %a1 = stablehlo.multiply %b1, %a : tensor<32x32xf32>
  %c2 = stablehlo.constant dense<2.0> : tensor<f32>
  %b2 = stablehlo.broadcast_in_dim %c2, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
  %a2 = stablehlo.multiply %b2, %a : tensor<32x32xf32>
  %aa = stablehlo.dot_general %a2, %a, contracting_dims = [1] x [0]
    : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %sum = stablehlo.add %a1, %aa : tensor<32x32xf32>
  %c3 = stablehlo.constant dense<3.4> : tensor<f32>
  %b3 = stablehlo.broadcast_in_dim %c3, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
  %x3 = stablehlo.multiply %b3, %x : tensor<32x64xf32>
  %ax = stablehlo.dot_general %sum, %x, contracting_dims = [1] x [0]
    : (tensor<32x32xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = stablehlo.add %x3, %ax : tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}"""
IS_SMALL_AT_A_HIGHER_COST = 9  # a seed: the memory suffices if a byte held costs as much as 0.1 bytes sent
needs_models = pytest.mark.skipif(not MODELS.is_dir(), reason="the shared models are not beside the repository")


def _statistics(name: str, *, optimize: bool = True) -> Statistics:
    program = load(MODELS / f"{name}.mlir") if optimize else load(MODELS / f"{name}.mlir").without_optimizer()
    return statistics_of(program.partition().local)


@needs_models
def test_fewer_bytes_are_sent_than_with_xla() -> None:
    ratios = {name: _statistics(name).bytes_sent / sent for name, sent in XLA.items()}
    assert {name: ratio for name, ratio in ratios.items() if round(ratio, 3) > 1} == {}
    assert exp(sum(map(log, ratios.values())) / len(ratios)) <= 0.8


@needs_models
@pytest.mark.parametrize("name", XLA)
def test_optimizer_does_not_increase_compute_or_memory(name: str) -> None:
    plain, optimized = _statistics(name, optimize=False), _statistics(name)
    assert optimized.bytes_sent <= plain.bytes_sent
    assert optimized.flops <= 1.05 * plain.flops
    assert optimized.peak_bytes <= 1.1 * plain.peak_bytes


def test_values_that_stay_alive_send_less_for_their_memory() -> None:
    program = Program.from_text(NEWTON_SCHULZ)
    plain = statistics_of(program.without_optimizer().partition().local)
    optimized = statistics_of(program.partition().local)
    assert optimized.bytes_sent <= plain.bytes_sent
    assert optimized.peak_bytes <= 1.1 * plain.peak_bytes


def test_no_higher_cost_of_memory_is_tried_once_it_suffices(monkeypatch: pytest.MonkeyPatch) -> None:
    costs: list[float] = []

    def noted(max_held_bytes: float, held_byte_cost: float) -> MemoryBudget:
        if max_held_bytes < inf:  # of a search
            costs.append(held_byte_cost)
        return MemoryBudget(max_held_bytes, held_byte_cost)

    monkeypatch.setattr(optimize_communication, "MemoryBudget", noted)
    Program.from_text(products_program(IS_SMALL_AT_A_HIGHER_COST)).partition()
    at_first, in_place, *higher = costs
    assert in_place == at_first < min(higher)
    assert higher == sorted(higher)
    assert optimize_communication.HELD_BYTE_COSTS[-1] not in costs
