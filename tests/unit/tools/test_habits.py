"""Exit codes, colours, environment variables and the log: what the commands do alike."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

from sdy.tools.command_line.exit_codes import (
    BROKEN_PIPE,
    INTERRUPTED,
    MEANINGS,
    NO,
    NOT_RUN,
    SUCCESS,
    TOOL_MEANINGS,
    status_of,
)
from sdy.tools.main import COMMANDS, OLD_NAMES, main
from sdy.tools.sdy_opt import main as sdy_opt
from sdy.tools.sdy_run import main as sdy_run

MLP = str(EXAMPLES[EXAMPLE_NAMES.index("mlp_dp4_tp2")])
IDENTITY = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  return %a : tensor<2xf32>\n}\n"
ESCAPE = "\x1b["


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """Return the logger of sdy, which has neither handlers nor a level before and after a test."""
    logger = logging.getLogger("sdy")
    yield logger
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)


# Exit codes: NO of each check is tested with the check itself, interrupts in test_sdy_run and test_wrong_calls.


def test_codes_are_stable() -> None:
    assert [SUCCESS, NO, NOT_RUN, INTERRUPTED, BROKEN_PIPE] == [0, 1, 2, 130, 141]
    assert set(MEANINGS) == {0, 1, 2, 130, 141}
    assert set(TOOL_MEANINGS) == {0, 1, 130, 141}


def test_missing_memory_is_one_diagnostic(capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> int:
        raise MemoryError("Unable to allocate 29.8 GiB")

    assert status_of(run) == NOT_RUN
    assert "error: not enough memory: unable to allocate 29.8 GiB [SDY-X017]" in capsys.readouterr().err


@pytest.mark.parametrize("command", sorted({*COMMANDS, "prove", "sweep", "compare"} - {"examples", "lsp", "notation"}))
def test_a_file_that_cannot_be_read_is_no_answer(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = {
        "cost": ["--on", "h100"],
        "calibrate": ["--on", "h100"],
        "check": ["--contract", "none.toml"],
        "diff": ["none.mlir"],
        "explain": ["%0"],
        "compare": ["--with", ""],
        "apply": ["--search"],
        "sweep": ["--devices", "2"],
    }
    assert main([command, "none.mlir", *more.get(command, [])]) == NOT_RUN
    printed = capsys.readouterr()
    assert "SDY-T001" in printed.err
    assert printed.out == ""


@pytest.mark.parametrize("command", [*COMMANDS, *OLD_NAMES])
def test_unknown_options_are_no_answer(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    needed = {
        "examples": [],
        "lsp": [],
        "check": ["x", "--contract", "x"],
        "diff": ["x", "x"],
        "completion": ["bash"],
        "sweep": ["x", "--devices", "2"],
    }
    assert main([command, *needed.get(command, ["x"]), "--frobnicate"]) == NOT_RUN
    assert "unknown option --frobnicate" in capsys.readouterr().err


@pytest.mark.parametrize("tool", [sdy_opt, sdy_run], ids=["sdy-opt", "sdy-run"])
def test_the_tools_fail_with_one_code(tool: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]) -> None:
    assert tool(["none.mlir"]) == NO
    assert tool(["--frobnicate"]) == NO
    assert tool(["--version"]) == SUCCESS
    assert capsys.readouterr().err.count("error: ") == 2


# Colours. A process of its own has the environment of the case.

COLOR_CASES: list[tuple[str, dict[str, str], bool]] = [
    ("", {}, False),  # a pipe
    ("--color=always", {}, True),
    ("--color=always", {"NO_COLOR": "1"}, True),
    ("--color=never", {"FORCE_COLOR": "1"}, False),
    ("", {"SDY_COLOR": "always"}, True),
    ("--color=never", {"SDY_COLOR": "always"}, False),
    ("", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
]


@pytest.mark.parametrize(("option", "variables", "has_color"), COLOR_CASES)
def test_colors(
    option: str,
    variables: dict[str, str],
    has_color: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "SDY_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["cost", *option.split()]) == 0
    assert (ESCAPE in capsys.readouterr().out) == has_color


def test_an_unknown_color_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "--color=sometimes"]) == NOT_RUN
    monkeypatch.setenv("SDY_COLOR", "alwyas")
    assert main(["cost"]) == NOT_RUN
    lines = capsys.readouterr().err
    assert "SDY_COLOR: expected auto, always or never, got 'alwyas' [SDY-T261]" in lines
    assert "did you mean always?" in lines


@pytest.mark.parametrize("columns", [60, 100])
def test_tables_are_as_wide_as_the_variable_says(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["cost", MLP, "--on", "h100"]) == 0
    widest = max(map(len, capsys.readouterr().out.splitlines()))
    assert 0.6 * columns < widest <= columns


# The machine.


def test_the_environment_names_the_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SDY_MACHINE", "a100")
    assert main(["cost", MLP]) == 0
    assert "collectives of sdy's partitioner on a100" in capsys.readouterr().out
    assert main(["cost", MLP, "--on", "h100"]) == 0
    assert "collectives of sdy's partitioner on h100" in capsys.readouterr().out
    assert main(["diff", MLP, MLP, "--json"]) == 0
    assert '"machine": "a100"' in capsys.readouterr().out
    contract = tmp_path / "contract.toml"
    assert main(["check", MLP, "--contract", str(contract), "--update"]) == 0
    assert 'machine = "a100"' in contract.read_text()
    assert main(["check", MLP, "--contract", str(contract)]) == 0
    monkeypatch.setenv("SDY_MACHINE", "a10")
    assert main(["report", MLP, "--json"]) == NOT_RUN
    assert "unknown hardware a10" in capsys.readouterr().err


def test_the_environment_overrides_the_configuration_of_lint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    program = tmp_path / "program.mlir"
    program.write_text(IDENTITY)
    (tmp_path / "pyproject.toml").write_text('[tool.sdy.lint]\non = "none"\n')
    assert main(["lint", str(program)]) == NOT_RUN
    monkeypatch.setenv("SDY_MACHINE", "h100")
    assert main(["lint", str(program)]) == 0
    assert "no findings" in capsys.readouterr().out


# The log, and the times of passes.


def test_pass_timings_are_logged(logger: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="sdy"):
        assert main(["partition", MLP]) == 0
    times = dict(re.findall(r"^(\S+) took ([\d.]+) ms$", "\n".join(caplog.messages), re.MULTILINE))
    assert {"sdy-user-priority-propagate", "sdy-combine-collectives"} <= set(times)
    assert all(record.name.startswith("sdy.") for record in caplog.records)


def test_the_environment_turns_on_the_log(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SDY_LOG", "DEBUG")
    assert main(["partition", MLP]) == 0
    printed = capsys.readouterr()
    assert re.search(r"^sdy\.passes\.timings: sdy-close-shardings took [\d.]+ ms$", printed.err, re.MULTILINE)
    assert "took" not in printed.out
    monkeypatch.setenv("SDY_LOG", "warning")
    assert main(["partition", MLP]) == 0
    assert "took" not in capsys.readouterr().err
    monkeypatch.setenv("SDY_LOG", "loud")
    assert sdy_opt([MLP]) == NO
    assert "expected debug, info, warning or error, got 'loud' [SDY-T261]" in capsys.readouterr().err


def test_sdy_opt_prints_the_time_of_each_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(f"{IDENTITY}// -----\n{IDENTITY}")
    options = ["--split-input-file", "-cse", "-canonicalize", "-mlir-timing"]
    assert sdy_opt([str(file), *options]) == 0
    printed = capsys.readouterr()
    assert "time" not in printed.out
    rows = re.findall(r"^ +([\d.]+) \( *([\d.]+)%\)  (.+)$", printed.err, re.MULTILINE)
    assert [name for *_, name in rows] == ["Parser", "cse", "Verification", "canonicalize", "Output", "Rest", "Total"]
    assert sum(float(seconds) for seconds, *_ in rows[:-1]) == pytest.approx(float(rows[-1][0]), abs=1e-3)
    assert "... Execution time report ..." in printed.err
    assert sdy_opt([str(file), *options, "--mlir-timing-display=list"]) == 0
    times = re.findall(r"^ +([\d.]+) \( *[\d.]+%\)  (?!Rest|Total)", capsys.readouterr().err, re.MULTILINE)
    assert times == sorted(times, reverse=True)
    assert sdy_opt([str(file), "--mlir-timing-display=table"]) == NO
    assert "expected tree or list" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_interrupted_commands_have_their_own_code(tmp_path: Path) -> None:
    code = "import os, signal; from sdy.program.program import Program; from sdy.tools.main import main\n"
    code += "signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it\n"
    code += "Program.partition = lambda self: os.kill(os.getpid(), signal.SIGINT)\n"
    code += f"raise SystemExit(main(['partition', {MLP!r}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode in (INTERRUPTED, -signal.SIGINT)
    assert "Traceback" not in done.stderr
