"""XLA and Shardy partition the examples, in a process of their own, and compute what ours computes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from support.examples import EXAMPLES

import sdy
from sdy.evidence.partitioners import runs
from sdy.tools.main import main

pytestmark = pytest.mark.jax

PATHS = {path.stem: path for path in EXAMPLES}
UNEVEN = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<6x4xbf16> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<6x4xbf16> {
  %0 = stablehlo.tanh %a : tensor<6x4xbf16>
  return %0 : tensor<6x4xbf16>
}
"""
UNKNOWN_CALL = UNEVEN.replace("stablehlo.tanh %a : ", "stablehlo.custom_call @f(%a) : (tensor<6x4xbf16>) -> ")


def test_a_training_step() -> None:
    ours, xla, shardy = sdy.compare_partitioners(sdy.load(PATHS["mlp_dp4_tp2"]))
    for each in (ours, xla, shardy):
        assert (each.problem, [outcome.problem for outcome in each.comparisons if not outcome.agrees]) == ("", [])
        assert len(each.comparisons) == 9
    assert ours.statistics is not None
    assert xla.statistics is not None
    assert shardy.statistics is not None
    assert ours.statistics.bytes_sent < xla.statistics.bytes_sent == shardy.statistics.bytes_sent
    assert xla.statistics.flops == shardy.statistics.flops > 0


def test_a_partitioner_that_cannot_is_a_row() -> None:
    ours, xla, shardy = sdy.compare_partitioners(sdy.Program.from_text(UNEVEN))
    assert all(each.agrees for each in (*ours.comparisons, *xla.comparisons))
    assert shardy.statistics is None
    assert "not divisible" in shardy.problem


def test_reshards_are_constraints_for_xla() -> None:
    text = UNEVEN.replace("stablehlo.tanh %a", 'sdy.reshard %a <@m, [{}, {"x"}]>').replace("6x4", "8x4")
    _, xla = sdy.compare_partitioners(sdy.Program.from_text(text), ["xla"])
    assert xla.problem == ""
    assert all(each.agrees for each in xla.comparisons)


def test_xla_runs_the_routines_of_lapack() -> None:
    matrix = jax.ShapeDtypeStruct(
        (8, 4, 4), "float32", sharding=NamedSharding(AbstractMesh((4,), ("x",)), PartitionSpec("x"))
    )
    _, xla = sdy.compare_partitioners(sdy.from_jax(jnp.linalg.cholesky, matrix), ["xla"])
    assert (xla.problem, xla.statistics and xla.statistics.bytes_sent) == ("", 0)


def test_ops_without_a_kernel_are_counted_but_not_run() -> None:
    ours, xla = sdy.compare_partitioners(sdy.Program.from_text(UNKNOWN_CALL), ["xla"])
    assert (ours.statistics is None, ours.problem) == (False, "not compared: no kernel for the custom call @f")
    assert xla.problem


def test_a_crash_and_a_timeout_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    program = sdy.load(PATHS["matmul_case1"])
    monkeypatch.setattr(runs.sys, "executable", "/bin/false")
    _, crashed = sdy.compare_partitioners(program, ["xla"])
    assert crashed.problem == "its process ended with status 1"

    def crashes(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess("python", -11, "", "a line of a log")

    monkeypatch.setattr(runs.subprocess, "run", crashes)
    _, crashed = sdy.compare_partitioners(program, ["xla"])
    assert crashed.problem == "its process was ended by signal 11, segmentation fault"

    def never_ends(*words: object, **options: object) -> None:
        raise subprocess.TimeoutExpired("python", 3)

    monkeypatch.setattr(runs.subprocess, "run", never_ends)
    _, stopped = sdy.compare_partitioners(program, ["xla"], seconds=3)
    assert stopped.problem == "stopped after 3 seconds"


LARGE = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<65536x65536xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> tensor<65536x65536xf32> {
  %0 = stablehlo.dot %a, %a : (tensor<65536x65536xf32>, tensor<65536x65536xf32>) -> tensor<65536x65536xf32>
  return %0 : tensor<65536x65536xf32>
}
"""


def test_a_large_program_is_compiled_and_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "large.mlir").write_text(LARGE)
    assert main(["report", str(tmp_path / "large.mlir"), "--with", "xla"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "a run would take " in printed
    assert "so the programs are only compiled" in printed
    assert "12,884,901,888 │ 12,884,901,888" in printed  # bytes sent of sdy and of XLA
    assert printed.index("a run would take") < printed.index("as sdy partitions it")


def test_a_program_is_only_compiled_if_so_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(PATHS["matmul_case3"]), "--with", "xla", "--compile-only"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("not compared") == 2
    assert "a run would take" not in printed
    assert main(["report", str(PATHS["matmul_case3"]), "--compile-only"]) == 2
    assert "--compile-only requires --with" in capsys.readouterr().err


def test_the_command_prints_a_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(PATHS["matmul_case3"])]) == 0
    table = capsys.readouterr().out
    assert "bytes sent" in table
    assert "1,920" in table
    assert main(["compare", str(PATHS["matmul_case3"]), "--with", "shardy", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["partitioner"] for each in found] == ["sdy", "shardy"]
    assert found[1]["statistics"]["bytes_sent"] == 2304


def test_an_unknown_partitioner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(PATHS["matmul_case3"]), "--with", "xlaa"]) == 2
    assert "did you mean xla?" in capsys.readouterr().err


def test_the_report_shows_other_partitioners_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(PATHS["matmul_case3"]), "--with", "shardy", "--html", str(page)]) == 0
    shown = page.read_text("utf-8")
    assert [each["partitioner"] for each in _data_of(shown)["partitioners"]] == ["sdy", "shardy"]
    assert main(["report", str(PATHS["matmul_case3"]), "--with", "shardy"]) == 0
    assert "FLOPs of products" in capsys.readouterr().out
    assert main(["report", str(PATHS["matmul_case3"])]) == 0
    assert "FLOPs of products" not in capsys.readouterr().out


def _data_of(page: str) -> dict[str, list[dict[str, object]]]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)
