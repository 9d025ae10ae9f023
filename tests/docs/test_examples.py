"""The examples in docs/examples run."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.host_name import needs_host_name

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMPILER = DOCS / "examples" / "signal_compiler" / "signal_compiler.py"
TRAINING = DOCS / "examples" / "jax_training" / "train.py"
MATMUL = DOCS / "examples" / "one_matmul" / "one_matmul.py"


def run(script: Path, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *words]
    return subprocess.run(
        command, cwd=folder or script.parent, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("script", [COMPILER, TRAINING], ids=lambda path: path.stem)
def test_the_project_file_names_the_module_and_its_dependencies(script: Path) -> None:
    project = tomllib.loads((script.parent / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["py-modules"] == [script.stem]
    assert project["project"]["dependencies"][0].startswith("sdy")
    for target in project["project"].get("scripts", {}).values():
        module, _, function = target.partition(":")
        assert module == script.stem
        assert f"\ndef {function}(" in script.read_text()


def test_the_compiler_shards_partitions_and_costs_its_own_ops() -> None:
    done = run(COMPILER, "room.sig", "--on", "tpu_v5e")
    assert done.returncode == 0, done.stderr
    assert '"sig.clip"(%1) <{limit = 1.000000e+00 : f32}> : (tensor<4x64xf32>)' in done.stdout
    assert done.stdout.count("stablehlo.all_reduce") == 1
    assert "bytes sent by a device: 24, peak: 2080" in done.stdout
    assert done.stdout.endswith("agrees\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("louder = gain mic\n", "line 1: expected mesh, input, output or NAME = OP"),
        ("louder = gain mic 2\noutput louder\n", "mic is used before it is defined"),
        ("mesh a=2\n", "expected the output to be a value of the program, got none"),
        ("input mic 8x8\n", "line 1: expected mesh, input, output or NAME = OP"),
        ("mesh a=2\ninput x : 8x8 b -\noutput x\n", 'the mesh has no axis "b" [SDY-S201]'),
    ],
)
def test_mistakes_in_its_programs_are_reported(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "program.sig"
    file.write_text(text)
    done = run(COMPILER, str(file))
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.jax
def test_the_losses_of_training_are_those_of_jit() -> None:
    pytest.importorskip("jax")
    done = run(TRAINING)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the losses of 50 steps agree\n")
    first = re.findall(r"^step +0 sdy ([\d.]+) jax.jit ([\d.]+)$", done.stdout, re.MULTILINE)
    assert first
    assert float(first[0][0]) == pytest.approx(float(first[0][1]), rel=1e-4)


@pytest.mark.jax
@needs_host_name
def test_training_runs_in_two_processes() -> None:
    pytest.importorskip("jax")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{probe.getsockname()[1]}"
    words = ["--steps", "50", "--processes", "2", "--coordinator", coordinator, "--process"]
    processes = [
        subprocess.Popen(
            [sys.executable, str(TRAINING), *words, str(number)],
            env=os.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        for process in processes:
            output, errors = process.communicate(timeout=200)
            assert process.returncode == 0, errors
            assert "the losses of 50 steps agree" in output
    finally:
        for process in processes:
            process.kill()


def test_one_product_is_partitioned_by_hand() -> None:
    done = run(MATMUL)
    assert done.returncode == 0, done.stderr
    assert 'C: [{?}, {?}]             becomes [{?}, {"x", ?}]' in done.stdout
    assert re.findall(r"^   (\w+)", done.stdout, re.MULTILINE) == [
        *("AllGather", "Reshape", "AllSlice", "AllToAll", "Reshape")
    ]
    assert float(done.stdout.split()[-1]) < 1e-12
