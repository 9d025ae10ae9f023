"""The output and the files of the `sdy` commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.examples import EXAMPLES

import sdy
from sdy.cost.traffic import collectives_of
from sdy.evidence.runs import verification
from sdy.evidence.runs.comparison import OutputComparison, VerifiedRound
from sdy.tools.main import COMMANDS, main

MLP = next(path for path in EXAMPLES if path.stem == "mlp_dp4_tp2")


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_verify_shows_mesh_values_collectives_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "-v", str(MLP), "--inputs", str(MLP.with_suffix(".npz"))]) == 0
    text = capsys.readouterr().out
    for part in (
        "data=4 model=2",
        "batch[0]",
        "16x24xf32",
        "result[1][1][0]",
        "all-reduce",
        "42,562",
        "relative error",
    ):
        assert part in text
    assert "all 9 outputs agree" in text


def test_verify_lists_every_value_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(MLP), "-v"]) == 0
    text = capsys.readouterr().out
    assert "stablehlo.dot_general" in text
    assert "the program on one device" in text


def test_partition_writes_the_local_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "local.mlir"
    assert main(["partition", str(MLP), "-o", str(out)]) == 0
    local = out.read_text()
    assert '"stablehlo.all_reduce"' in local
    assert "%arg8: tensor<16x24xf32>" in local
    assert main(["partition", str(MLP)]) == 0
    assert capsys.readouterr().out == local
    assert main(["verify", str(MLP), "-o", str(tmp_path / "again.mlir")]) == 0
    assert (tmp_path / "again.mlir").read_text() == local


def test_partition_on_a_machine_writes_the_program_that_cost_prices(capsys: pytest.CaptureFixture[str]) -> None:
    sent: list[float] = []
    for options in ([], ["--on", "tpu_v5p"]):
        assert main(["partition", str(MLP), "--stats", "json", *options]) == 0
        sent.append(json.loads(capsys.readouterr().out)["bytes_sent"])
    assert main(["cost", str(MLP), "--json", "--on", "tpu_v5p"]) == 0
    priced = json.loads(capsys.readouterr().out)["collectives"]
    assert sum(each["bytes_sent"] for each in priced) == sent[1] > sent[0]


def test_partition_can_print_global_shapes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["partition", str(MLP), "--global"]) == 0
    assert 'sdy.all_reduce {"data"}' in capsys.readouterr().out


def test_the_optimizer_is_enabled_and_reports_its_savings_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(MLP), "--no-optimizer"]) == 0
    plain = capsys.readouterr()
    assert "46,850" in plain.out
    assert main(["partition", str(MLP), "--stats", "table", "--savings"]) == 0
    optimized = capsys.readouterr()
    assert "42,562" in optimized.out
    assert "SDY-L120" in optimized.err
    assert "SDY-L121" in optimized.err
    assert "SDY-L12" not in plain.err
    assert main(["partition", str(MLP)]) == 0
    assert "SDY-L12" not in capsys.readouterr().err


def test_partition_prints_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "local.mlir"
    assert main(["partition", str(MLP), "--stats", "json", "-o", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"bytes_sent", "flops", "peak_bytes", "collectives"} == set(found)
    assert found["bytes_sent"] == sum(kind["bytes_sent"] for kind in found["collectives"].values())
    assert found["collectives"]["all-reduce"]["places"] == out.read_text().count('"stablehlo.all_reduce"')
    assert main(["partition", str(MLP), "--stats", "table"]) == 0
    text = capsys.readouterr().out
    assert f"{found['flops']:,}" in text
    assert "stablehlo" not in text


def test_help_explains_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for command in COMMANDS:
        assert command in text
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert f"usage: sdy {command}" in capsys.readouterr().out


def test_gathers_are_reported_as_remarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fft.mlir"
    path.write_text(
        'sdy.mesh @m = <["x"=2]>\n'
        'func.func @main(%a: tensor<8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) '
        "-> tensor<8xcomplex<f32>> {\n"
        "  %0 = stablehlo.fft %a, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>\n"
        "  return %0 : tensor<8xcomplex<f32>>\n}\n"
    )
    assert main(["partition", str(path)]) == 0
    captured = capsys.readouterr()
    assert "remark" not in captured.out
    assert f"{path}:3:8: remark: stablehlo.fft: operand 0 must be unsharded along dim 0" in captured.err
    assert "  %0 = stablehlo.fft %a" in captured.err


def test_verify_runs_special_values_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(MLP), "--adversarial"]) == 0
    text = capsys.readouterr().out
    for name in ("signed zeros", "infinities", "NaN", "ties"):
        assert name in text
    assert "all agree" in text


def test_verify_fails_if_special_values_find_a_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    different = OutputComparison(0, agrees=False, problem="at [0]: 1.0 instead of 2.0")
    rounds = [VerifiedRound("ties", (different, *(OutputComparison(index, agrees=True) for index in range(1, 9))))]

    def special_rounds(program: object, seed: int) -> list[VerifiedRound]:
        return rounds

    monkeypatch.setattr(verification, "special_rounds", special_rounds)
    assert main(["verify", str(MLP), "--adversarial"]) == 1
    assert "output 0: at [0]: 1.0 instead of 2.0" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["sdy", "sdy-opt", "sdy-run", "python -m sdy"])
def test_every_command_prints_the_version(command: str) -> None:
    words = command.replace("python", sys.executable).split()
    done = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"sdy {sdy.__version__}\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["verify", "x.mlir", "--adversariel"], "did you mean --adversarial?"),
        (["partition", "x.mlir", "--no-optimiser"], "did you mean --no-optimizer?"),
        (["report", "x.mlir", "--frobnicate"], "see sdy report --help"),
        (["verify"], "required: file"),
    ],
)
def test_wrong_arguments_are_one_diagnostic(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    text = capsys.readouterr().err
    assert text.startswith("error: ")
    assert expected in text
    assert text.count("error: ") == 1


def test_programs_have_a_short_repr() -> None:
    program = sdy.load(MLP)
    about = '@main, 10 arguments, 9 results, mesh "data"=4 "model"=2'
    assert repr(program) == f"Program({about})"
    assert repr(program.propagate()) == f"PropagatedProgram({about})"
    assert repr(program.partition()) == f"Compiled({about})"


def test_collectives_in_loops_count_once_per_trip() -> None:
    text = """
sdy.mesh @m = <["x"=2]>
func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4x4xf32>
  cond {
    %n = stablehlo.constant dense<7> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %w = stablehlo.dot %v, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    stablehlo.return %j, %w : tensor<i32>, tensor<4x4xf32>
  }
  return %0#1 : tensor<4x4xf32>
}
"""
    partitioned = sdy.Program.from_text(text).partition()
    counts = collectives_of(partitioned.local, partitioned.boundary.mesh)
    assert counts
    assert set(counts.values()) == {7}


def test_an_error_prints_as_its_diagnostic() -> None:
    with pytest.raises(sdy.SdyError) as raised:
        sdy.parse_sharding("<@m, [{]>")
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("<sharding>:1:8: error: ")
    assert lines[0].endswith("[SDY-P101]")
    assert lines[-1].startswith("  hint: ")
