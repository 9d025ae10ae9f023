"""The example dialect of docs/extending.md. Each test uses a new process, because registration is permanent."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.file_tests.run_lines import TOOLS

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
BLOCK = re.compile(r"```(?:python|mlir)\n(?:#|//) (\S+)\n(.*?)```", re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory with the files of the guide."""
    blocks = BLOCK.findall(GUIDE.read_text())
    assert {name for name, _ in blocks} == {
        *("audio.py", "signal.mlir", "clip.mlir", "count.py", "calls.py", "calls.mlir")
    }
    for name, text in blocks:
        (tmp_path / name).write_text(text)
    return tmp_path


def call(folder: Path, tool: str, *words: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", TOOLS[tool], *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_dialect_propagates_partitions_and_prints(folder: Path) -> None:
    passes = ("-sdy-propagation-pipeline", "-count-ops=prefix=audio.")
    code, out, err = call(folder, "sdy-opt", "--load=audio.py", "--load=count.py", *passes, "signal.mlir")
    assert (code, err) == (0, "")
    assert 'mine.count = "2 of audio.*"' in out
    sharding = '#sdy.sharding_per_value<[<@mesh, [{"rows"}, {"time"}]>]>'
    assert f"audio.clip %arg0 to 5.000000e-01 : f32 {{sdy.sharding = {sharding}}}" in out
    code, out, err = call(folder, "sdy", "partition", "--load", "audio.py", "signal.mlir")
    assert (code, err) == (0, "")
    assert "tensor<2x16xf32> -> tensor<2x16xf32>" in out
    assert out.count('"stablehlo.all_reduce"') == 1


def test_own_ops_are_proved_where_nothing_need_be_trusted(folder: Path) -> None:
    code, out, err = call(folder, "sdy", "prove", "--load=audio.py", "clip.mlir")
    assert (code, err) == (0, "")
    assert "2 of 2 ops proved" in out
    code, out, _ = call(folder, "sdy", "prove", "--load=audio.py", "signal.mlir", "-v")
    assert code == 0
    assert "audio.energy is not proved: expected a dim that is whole" in out
    assert "2 ops checked" in out


@pytest.mark.parametrize(
    ("before", "after"), [("5.000000e-01", "2.5e-01"), ("audio.clip %arg0", "audio.clip %negated")]
)
def test_other_attributes_or_operands_of_own_ops_are_not_proved(folder: Path, before: str, after: str) -> None:
    _, local, _ = call(folder, "sdy", "partition", "--load=audio.py", "clip.mlir")
    start, clip = local.split("    %0 = audio.clip", 1)
    negated = "    %negated = stablehlo.negate %arg0 : tensor<2x16xf32>\n"
    (folder / "local.mlir").write_text(f"{start}{negated}    %0 = audio.clip{clip}".replace(before, after, 1))
    code, out, _ = call(folder, "sdy", "prove", "--load=audio.py", "clip.mlir", "--local", "local.mlir")
    assert code == 1
    assert "result 0 is not proved: " in out


def test_a_module_that_cannot_be_loaded_is_one_diagnostic(folder: Path) -> None:
    (folder / "broken.py").write_text("def f(:\n")
    imports = "import audio, sdy\nfrom xdsl.ir import Dialect\n"
    (folder / "twice.py").write_text(f"{imports}sdy.register_dialect(Dialect('audio', []))\n")
    for module, reason in (
        ("missing.py", "file missing.py does not exist"),
        ("nowhere.at.all", "No module named 'nowhere'"),
        ("broken.py", "invalid syntax"),
        ("twice.py", "a dialect named audio already exists"),
    ):
        code, out, err = call(folder, "sdy-opt", f"--load={module}", "signal.mlir")
        assert (code, out) == (1, "")
        assert reason in err
        assert "SDY-T008" in err
        assert "Traceback" not in err
