"""Programs with the shardings of a search compute the same as on one device, and cost what the plan says."""

from __future__ import annotations

from pathlib import Path

import pytest

import sdy
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.shardings import argument_sharding

EXAMPLES = Path(sdy.__file__).parent / "examples"
SECONDS = 1.0  # for searches of which any plan will do

LAYERS = """
func.func @main(%x: tensor<64x128xf32>, %w1: tensor<128x512xf32>, %w2: tensor<512x128xf32>) -> tensor<64x128xf32> {
  %0 = call @layer(%x, %w1, %w2) : (tensor<64x128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  %1 = call @layer(%0, %w1, %w2) : (tensor<64x128xf32>, tensor<128x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  return %1 : tensor<64x128xf32>
}
func.func private @layer(%x: tensor<64x128xf32>, %a: tensor<128x512xf32>, %b: tensor<512x128xf32>)
    -> tensor<64x128xf32> {
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0]
      : (tensor<64x128xf32>, tensor<128x512xf32>) -> tensor<64x512xf32>
  %1 = stablehlo.tanh %0 : tensor<64x512xf32>
  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0]
      : (tensor<64x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  return %2 : tensor<64x128xf32>
}
"""


@pytest.mark.parametrize(
    ("name", "memory", "minimize"),
    [
        ("mlp_dp4_tp2", "60kB", "time"),
        ("matmul_case3", None, "bytes"),
        pytest.param("mlp_dp8", "60kB", "time", marks=pytest.mark.slow),
        pytest.param("mlp_dp8", "60kB", "bytes", marks=pytest.mark.slow),
    ],
)
def test_a_planned_program_computes_the_same(name: str, memory: str | None, minimize: str) -> None:
    program = sdy.load(EXAMPLES / f"{name}.mlir")
    plan = program.search(memory=memory, minimize=minimize, from_scratch=True, time_limit=SECONDS)
    assert all(each.agrees for each in plan.program.verify(seed=3))
    assert all(each.agrees for each in plan.program.without_optimizer().verify(seed=4))


def test_the_plan_is_that_of_its_program() -> None:
    program = sdy.load(EXAMPLES / "mlp_dp8.mlir")
    plan = program.search(memory="60kB", from_scratch=True, time_limit=SECONDS)
    main = main_function(plan.program.module)
    sharded = [argument_sharding(main, index) for index in range(len(main.function_type.inputs))]
    assert sum(sharding is not None for sharding in sharded) == len(plan.in_shardings)
    constraints = [op for op in plan.program.module.walk() if isinstance(op, ShardingConstraintOp)]
    assert len(constraints) == len(plan.inside) == sum(len(each.values) for each in plan.constraints)
    cost = plan.program.optimized_for("tpu_v5e").cost("tpu_v5e", "60kB")
    assert cost.seconds_in_turn == pytest.approx(plan.cost.seconds_in_turn)
    assert plan.cost.peak_bytes <= 60_000 or not plan.cost.fits


def test_annotations_stay_unless_they_are_dropped() -> None:
    program = sdy.load(EXAMPLES / "mlp_dp8.mlir")
    kept = program.search(time_limit=SECONDS)
    assert kept.in_shardings["%arg8"] == "P('i', None)"  # the batch, as annotated
    assert kept.in_shardings["%arg0"] == "P(None, None)"
    fixed = program.search(from_scratch=True, fix={"%arg0": '[{"i"}, {}]'}, time_limit=SECONDS)
    assert fixed.in_shardings["%arg0"] == "P('i', None)"


def test_a_function_that_is_called_twice_is_searched_as_one() -> None:
    program = sdy.Program.from_text(LAYERS)
    plan = program.search(mesh="data=2,model=4", memory="300kB", time_limit=SECONDS)
    assert plan.mesh.device_count == 8
    assert plan.cost.fits
    assert not plan.before.fits
    assert all(each.agrees for each in plan.program.verify())


def test_less_memory_takes_more_time() -> None:
    program = sdy.Program.from_text(LAYERS)
    plans = [program.search(mesh="model=8", memory=memory) for memory in ("16GB", "150kB")]
    assert plans[1].cost.peak_bytes <= 150_000 < plans[0].cost.peak_bytes
    assert plans[0].cost.seconds_in_turn <= plans[1].cost.seconds_in_turn
    least = program.search(mesh="model=8", minimize="memory")
    assert all(plan.is_complete for plan in (*plans, least))  # so that the speed of the machine does not matter
    assert least.cost.peak_bytes <= plans[1].cost.peak_bytes
