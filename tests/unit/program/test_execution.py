"""`sdy.interpret` and `sdy.run_spmd`."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from support.execution.run_text import diagnostic_of, f32, i32

import sdy
from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array

TEXT = """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %a, %a : tensor<4x6xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1]
    : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
PROGRAM = sdy.Program.from_text(TEXT, "squares.mlir")
WHOLE = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_interpret_takes_programs_and_modules() -> None:
    wanted = (WHOLE * WHOLE).sum(1).tolist()
    assert [result.tolist() for result in sdy.interpret(PROGRAM, [WHOLE])] == [wanted]
    assert [result.tolist() for result in sdy.interpret(PROGRAM.module, [WHOLE])] == [wanted]


def test_interpret_runs_the_only_function_whatever_its_name() -> None:
    module = parse_module(
        "func.func @twice(%a: tensor<2xi32>) -> tensor<2xi32> {"
        " %0 = stablehlo.add %a, %a : tensor<2xi32> return %0 : tensor<2xi32> }"
    )
    assert sdy.interpret(module, [i32(1, 2)])[0].tolist() == [2, 4]


def test_run_spmd_returns_global_results_and_the_shards_of_each_device() -> None:
    run = sdy.run_spmd(PROGRAM.partition(), [WHOLE])
    (whole,) = run.results
    assert whole.tolist() == (WHOLE * WHOLE).sum(1).tolist()
    for device in range(4):
        x = device // 2
        assert run.device_view(device).tolist() == whole[2 * x : 2 * x + 2].tolist()


def test_values_inside_of_the_program_are_kept_by_name() -> None:
    run = sdy.run_spmd(PROGRAM.partition(), [WHOLE], keep=["%0"])
    for device in range(4):
        x, y = divmod(device, 2)
        tile = WHOLE[2 * x : 2 * x + 2, 3 * y : 3 * y + 3]
        assert run.device_view(device, "%0").tolist() == np.square(tile).tolist()


def test_a_program_without_a_mesh_runs_on_one_device() -> None:
    text = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }"
    run = sdy.run_spmd(sdy.Program.from_text(text).partition(), [f32(1, 2)])
    assert run.device_view(0).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("inputs", "code", "parts"),
    [
        ((), "SDY-X006", ("expected 1 inputs", "got 0")),
        ((WHOLE, WHOLE), "SDY-X006", ("expected 1 inputs", "got 2")),
        ((WHOLE[:2],), "SDY-X007", ("[2, 6]", "tensor<4x6xf32>")),
        ((WHOLE.astype(np.float64),), "SDY-X007", ("float64", "tensor<4x6xf32>")),
    ],
)
def test_inputs_that_do_not_match_are_one_located_diagnostic(
    inputs: tuple[Array, ...], code: str, parts: tuple[str, ...]
) -> None:
    found = diagnostic_of(lambda: sdy.run_spmd(PROGRAM.partition(), inputs))
    assert found.code == code
    assert all(part in found.message for part in parts)
    assert found.span is not None
    assert found.span.file == "squares.mlir"
    assert diagnostic_of(lambda: sdy.interpret(PROGRAM, inputs)).code == code


@pytest.mark.parametrize(
    ("device", "value", "hint"),
    [(4, 0, "devices: 0 to 3"), (0, 1, "1 results"), (0, "%0", "kept values: none")],
)
def test_a_view_of_an_unknown_device_or_value_is_an_error(device: int, value: int | str, hint: str) -> None:
    run = sdy.run_spmd(PROGRAM.partition(), [WHOLE])
    found = diagnostic_of(lambda: run.device_view(device, value))
    assert found.code == "SDY-X103"
    assert hint in str(found.hint)


@pytest.mark.parametrize(("name", "code"), [("%unheard", "SDY-T203"), ("%arg0", "SDY-X103")])
def test_only_results_of_ops_are_kept(name: str, code: str) -> None:
    assert diagnostic_of(lambda: sdy.run_spmd(PROGRAM.partition(), [WHOLE], keep=[name])).code == code


def test_importing_sdy_is_quick() -> None:
    code = "import time; start = time.process_time(); import sdy; print(time.process_time() - start)"
    seconds = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(seconds) < 0.15


@pytest.mark.parametrize("size", [2, 5])
def test_a_program_runs_on_the_mesh_that_it_uses(size: int) -> None:
    program = sdy.Program.from_text(f"""
        sdy.mesh @unused = <["x"={size}]>
        sdy.mesh @m = <["x"=4]>
        func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {{
          %0 = sdy.sharding_constraint %a <@m, [{{"x"}}]> : tensor<8xf32>
          %1 = stablehlo.add %0, %0 : tensor<8xf32>
          return %1 : tensor<8xf32>
        }}""")
    (outcome,) = program.verify()
    assert outcome.agrees
    assert program.partition().boundary.mesh.device_count == 4
