"""Compare the time of commands: start-up with that of xDSL, `sdy cost` and the HTML page with `sdy partition`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.timing.commands import measure_commands
from support.timing.medians import table

START_UP_MOST, PROPAGATION_MOST = 1.6, 2.1  # times `import xdsl.dialects.builtin`
COST_MOST, PAGE_MOST = 1.2, 1.6  # times `sdy partition`
PARTITION_MOST = 4.0  # seconds, with 32 layers
PROGRAM = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.tanh %arg0 : tensor<8x16xf32>
  %2 = stablehlo.dot_general %1, %arg0, contracting_dims = [1] x [1]
      : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  %4 = stablehlo.add %3, %3 : tensor<8x8xf32>
  %5 = stablehlo.multiply %4, %3 : tensor<8x8xf32>
  %6 = stablehlo.transpose %5, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %7 = stablehlo.exponential %6 : tensor<8x8xf32>
  %8 = stablehlo.negate %7 : tensor<8x8xf32>
  %9 = stablehlo.reduce(%8 init: %0) applies stablehlo.add across dimensions = [1]
      : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %10 = stablehlo.abs %9 : tensor<8xf32>
  %11 = stablehlo.sqrt %10 : tensor<8xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %13 = stablehlo.subtract %8, %12 : tensor<8x8xf32>
  return %13 : tensor<8x8xf32>
}
"""


@pytest.mark.benchmark
def test_start_up_is_close_to_that_of_xdsl(tmp_path: Path) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    sdy_opt = str(Path(sys.executable).with_name("sdy-opt"))
    commands = {
        "import xdsl.dialects.builtin": (sys.executable, "-c", "import xdsl.dialects.builtin"),
        "sdy-opt FILE": (sdy_opt, str(file)),
        "sdy-opt FILE --sdy-propagation-pipeline": (sdy_opt, str(file), "--sdy-propagation-pipeline"),
    }
    spent = measure_commands(commands, tmp_path / "cache")
    base = spent["import xdsl.dialects.builtin"]
    rows = [(name, f"{seconds:.3f} s", f"{seconds / base:.2f}") for name, seconds in spent.items()]
    print(table("start-up, a file of 20 lines", ("command", "CPU", "ratio"), rows))
    assert spent["sdy-opt FILE"] <= START_UP_MOST * base
    assert spent["sdy-opt FILE --sdy-propagation-pipeline"] <= PROPAGATION_MOST * base


@pytest.mark.benchmark
def test_cost_and_page_take_little_more_than_partitioning(llama: dict[int, Path], tmp_path: Path) -> None:
    sdy, file = str(Path(sys.executable).with_name("sdy")), str(llama[32])
    commands = {
        "sdy partition FILE": (sdy, "partition", file, "-o", str(tmp_path / "local.mlir")),
        "sdy cost FILE": (sdy, "cost", file, "--on", "tpu_v5e"),
        "sdy report FILE --html PAGE": (sdy, "report", file, "--html", str(tmp_path / "page.html")),
    }
    spent = measure_commands(commands, tmp_path / "cache")
    base = spent["sdy partition FILE"]
    rows = [(name, f"{seconds:.2f} s", f"{seconds / base:.2f}") for name, seconds in spent.items()]
    print(table("commands, 32 layers", ("command", "CPU", "ratio"), rows))
    assert base <= PARTITION_MOST
    assert spent["sdy cost FILE"] <= COST_MOST * base
    assert spent["sdy report FILE --html PAGE"] <= PAGE_MOST * base
