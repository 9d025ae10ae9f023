"""Calls that a server answers have the output and the exit code of new processes."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sdy.tools.lit import client
from sdy.tools.lit.configure import TOOL, configure
from sdy.tools.sdy_opt import main as sdy_opt

PROGRAM = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) -> tensor<8xf32> {
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
NEW_PROCESS = (sys.executable, "-m", "sdy.tools.sdy_opt")


@dataclass
class Substitutions:
    """The part of lit's configuration that changes."""

    substitutions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@pytest.fixture(scope="module")
def server_and_client() -> Iterator[tuple[int, list[str]]]:
    """Return the process id of a running server, and the command of its client."""
    config = Substitutions()
    server = configure(config)
    ((pattern, call),) = config.substitutions
    assert pattern == TOOL
    command = shlex.split(call)
    socket = Path(command[-1])
    deadline = time.monotonic() + 60
    while not socket.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield server.pid, command
    assert server.stdin is not None
    server.stdin.close()
    assert server.wait(timeout=60) == 0
    assert not socket.exists()


@pytest.fixture
def answered(server_and_client: tuple[int, list[str]]) -> list[str]:
    """Return the command of the client of a running server."""
    return server_and_client[1]


def outcome(
    command: tuple[str, ...] | list[str], *args: str, folder: Path, given: str | None = None
) -> tuple[int, str, str]:
    done = subprocess.run(
        [*command, *args], cwd=folder, input=given, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("args", "given", "code"),
    [
        (("program.mlir", "--sdy-propagation-pipeline"), None, 0),
        (("-", "--sdy-close-shardings"), PROGRAM, 0),
        (("missing.mlir",), None, 1),
        (("-", "--mlir-print-ir-after-all", "--symbol-dce"), PROGRAM.replace("abs %arg0", "abs %other"), 1),
        (("--no-such-pass",), None, 1),
    ],
)
def test_answers_are_those_of_new_processes(
    args: tuple[str, ...], given: str | None, code: int, answered: list[str], tmp_path: Path
) -> None:
    (tmp_path / "program.mlir").write_text(PROGRAM)
    answer = outcome(answered, *args, folder=tmp_path, given=given)
    assert answer[0] == code
    assert answer == outcome(NEW_PROCESS, *args, folder=tmp_path, given=given)


def test_a_fork_keeps_nothing_for_the_next(answered: list[str], tmp_path: Path) -> None:
    (tmp_path / "extension.py").write_text("import sdy\nprint('loaded')\n")
    for _ in range(2):
        code, out, _ = outcome(answered, "--load=extension.py", "-", folder=tmp_path, given=PROGRAM)
        assert code == 0
        assert out.startswith("loaded\n")


def test_a_call_may_wait_for_another_one(answered: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.mlir").write_text(PROGRAM)
    given, taken = os.pipe()
    with subprocess.Popen([*answered, "-"], stdin=given, stdout=subprocess.PIPE, text=True) as reader:
        os.close(given)
        subprocess.run([*answered, "program.mlir"], cwd=tmp_path, stdout=taken, check=True, timeout=120)
        os.close(taken)
        assert reader.communicate(timeout=120)[0] == outcome(answered, "program.mlir", folder=tmp_path)[1]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="lists processes in /proc")
def test_a_fork_answers_calls_until_one_may_change_later_ones(
    server_and_client: tuple[int, list[str]], tmp_path: Path
) -> None:
    pid, command = server_and_client
    children = Path(f"/proc/{pid}/task/{pid}/children")
    before = children.read_text()
    for _ in range(3):
        assert outcome(command, "-", folder=tmp_path, given=PROGRAM)[0] == 0
    assert children.read_text() == before
    (tmp_path / "extension.py").write_text("import sdy\n")
    assert outcome(command, "--load=extension.py", "-", folder=tmp_path, given=PROGRAM)[0] == 0
    deadline = time.monotonic() + 60
    while children.read_text() == before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children.read_text() != before


def test_without_a_server_a_new_process_answers(tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-E", str(client.__file__), str(tmp_path / "no-socket")]
    code, out, _ = outcome(command, "-", folder=tmp_path, given=PROGRAM)
    assert (code, out) == outcome(NEW_PROCESS, "-", folder=tmp_path, given=PROGRAM)[:2]
    assert "stablehlo.abs" in out


def test_the_configuration_of_lit_replaces_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    config = Substitutions()
    file = Path(client.__file__).with_name("lit.cfg.py")
    variables = runpy.run_path(str(file), {"config": config})
    server = variables["_server"]
    server.stdin.close()
    assert server.wait(timeout=60) == 0
    assert [pattern for pattern, _ in config.substitutions] == [TOOL]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "replaced"),
    [
        ("sdy-opt %s | FileCheck %s", "CALL %s | FileCheck %s"),
        ("not sdy-opt %s; (sdy-opt -)", "not CALL %s; (CALL -)"),
        ("/usr/bin/sdy-opt %s", "/usr/bin/sdy-opt %s"),
        (
            "cat out/sdy-opt/log sdy-opt.log my-sdy-opt sdy-opt-2",
            "cat out/sdy-opt/log sdy-opt.log my-sdy-opt sdy-opt-2",
        ),
    ],
)
def test_only_the_name_of_the_tool_is_replaced(line: str, replaced: str) -> None:
    assert re.sub(TOOL, "CALL", line) == replaced


@pytest.mark.parametrize(
    ("path", "reason"), [("file", "it exists already"), ("none/s", "No such file"), ("x" * 200, "too long")]
)
def test_a_socket_that_cannot_be_created_is_one_error(
    path: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGCHLD)
    assert sdy_opt([f"--server={path}"]) == 1
    assert signal.getsignal(signal.SIGCHLD) == before
    text = capsys.readouterr().err
    assert f"error: cannot listen at {path}: " in text
    assert reason in text
