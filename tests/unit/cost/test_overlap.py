"""Collectives beside ops: what waits for what, and what a loop waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdy.cost.hardware import Hardware, Torus
from sdy.cost.machines.table import HARDWARE
from sdy.cost.program_cost import ProgramCost, cost_of
from sdy.cost.schedule import Overlap
from sdy.dialects.module_text import parse_module
from sdy.grammar.parse import parse_mesh

MACHINE = HARDWARE["tpu_v5e"].ideal()
GATHER = """"stablehlo.all_gather"({operand}) <{{all_gather_dim = 0 : i64,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> : (tensor<1024x4096xf32>) -> tensor<2048x4096xf32>"""
SIZES = "(tensor<2048x4096xf32>, tensor<4096x4096xf32>) -> tensor<2048x4096xf32>"
DOT = f"stablehlo.dot_general {{lhs}}, %w, contracting_dims = [1] x [0] : {SIZES}"
INDEPENDENT = f"""
func.func @main(%part: tensor<1024x4096xf32>, %x: tensor<2048x4096xf32>, %w: tensor<4096x4096xf32>)
    -> (tensor<2048x4096xf32>, tensor<2048x4096xf32>) {{
  %0 = {DOT.format(lhs="%x")}
  %1 = {GATHER.format(operand="%part")}
  return %0, %1 : tensor<2048x4096xf32>, tensor<2048x4096xf32>
}}"""
DEPENDENT = f"""
func.func @main(%part: tensor<1024x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<2048x4096xf32> {{
  %1 = {GATHER.format(operand="%part")}
  %0 = {DOT.format(lhs="%1")}
  return %0 : tensor<2048x4096xf32>
}}"""
LOOP = f"""
func.func @main(%part: tensor<1024x4096xf32>, %x: tensor<2048x4096xf32>, %w: tensor<4096x4096xf32>)
    -> tensor<2048x4096xf32> {{
  %start = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %start, %y = %x) : tensor<i32>, tensor<2048x4096xf32>
  cond {{
    %stop = stablehlo.constant dense<10> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %stop : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %step = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %step : tensor<i32>
    %1 = {GATHER.format(operand="%part")}
    %2 = {DOT.format(lhs="%1")}
    stablehlo.return %next, %2 : tensor<i32>, tensor<2048x4096xf32>
  }}
  return %0#1 : tensor<2048x4096xf32>
}}"""


def cost(text: str, machine: Hardware = MACHINE) -> ProgramCost:
    return cost_of(parse_module(text), parse_mesh('<["x"=2]>'), machine)


def test_a_collective_that_no_op_needs_runs_beside_them() -> None:
    found = cost(INDEPENDENT)
    assert found.seconds == pytest.approx(max(found.op_seconds, found.communication_seconds))
    assert found.exposed_seconds == pytest.approx(found.communication_seconds - found.op_seconds)


def test_an_op_waits_for_what_it_reads() -> None:
    found = cost(DEPENDENT)
    assert found.seconds == pytest.approx(found.seconds_in_turn)
    assert found.exposed_seconds == pytest.approx(found.communication_seconds)


def test_each_iteration_of_a_loop_waits_for_its_own_collectives() -> None:
    found = cost(LOOP)
    assert found.seconds == pytest.approx(found.seconds_in_turn, rel=1e-3)


def test_a_compiler_that_pipelines_loops_gathers_for_the_next_iteration() -> None:
    pipelined = replace(MACHINE, kernels=replace(MACHINE.kernels, pipelines_loops=True))
    found = cost(LOOP, pipelined)
    last = found.op_seconds / 10
    assert found.seconds == pytest.approx(found.communication_seconds + last, rel=1e-2)


def test_the_modes_are_bounds_and_the_schedule_between_them() -> None:
    found = cost(LOOP)
    times = [found.seconds_with(each) for each in (Overlap.PERFECT, Overlap.COMPILER, Overlap.NONE)]
    assert times == sorted(times)
    assert times[0] == found.seconds_overlapped < times[2] == found.seconds_in_turn


def test_a_slow_link_bounds_the_time() -> None:
    assert isinstance(MACHINE.network, Torus)
    slow = replace(
        MACHINE,
        network=replace(MACHINE.network, link_bandwidth=1e8),
        kernels=replace(MACHINE.kernels, pipelines_loops=True),
    )
    found = cost(LOOP, slow)
    assert found.seconds == pytest.approx(found.communication_seconds + found.op_seconds / 10, rel=1e-2)


def test_transfers_to_the_host_run_beside_ops() -> None:
    text = f"""
func.func @main(%a: tensor<2048x4096xf32>, %w: tensor<4096x4096xf32>)
    -> (tensor<2048x4096xf32>, tensor<2048x4096xf32>) {{
  %0 = stablehlo.custom_call @annotate_device_placement(%a) {{has_side_effect = true}}
      : (tensor<2048x4096xf32>) -> tensor<2048x4096xf32>
  %1 = {DOT.format(lhs="%a")}
  return %0, %1 : tensor<2048x4096xf32>, tensor<2048x4096xf32>
}}"""
    found = cost(text)
    assert found.host_seconds == pytest.approx(2048 * 4096 * 4 / MACHINE.host_bandwidth)
    assert found.seconds == pytest.approx(max(found.host_seconds, found.op_seconds))
    assert cost(text, replace(MACHINE, host_bandwidth=0.0)).host_seconds == 0.0


SCATTER = """"stablehlo.reduce_scatter"(%0) <{scatter_dimension = 0 : i64,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<2048x4096xf32>) -> tensor<1024x4096xf32>"""
REDUCED = f"""
func.func @main(%x: tensor<2048x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<1024x4096xf32> {{
  %0 = {DOT.format(lhs="%x")}
  %1 = {SCATTER}
  return %1 : tensor<1024x4096xf32>
}}"""


@pytest.mark.parametrize("text", [DEPENDENT, REDUCED])
def test_a_decomposed_product_runs_beside_the_collective_of_its_operand_or_result(text: str) -> None:
    found = cost(text, replace(MACHINE, kernels=replace(MACHINE.kernels, decomposes_products=True)))
    longer, shorter = sorted((found.op_seconds, found.communication_seconds), reverse=True)
    assert found.seconds == pytest.approx(longer + shorter / 2)  # of two parts, the first or last one runs alone
