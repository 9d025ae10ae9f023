"""Commands on several files: the results of each file alone, in order, and the largest exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

from sdy.tools.main import main
from sdy.tools.sdy_opt import main as sdy_opt

PATHS = [str(EXAMPLES[EXAMPLE_NAMES.index(name)]) for name in ("matmul_case3", "matmul_case1")]
SMALL = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  return %a : tensor<2xf32>\n}\n"
COMMANDS = {
    "check": ["--contract", "{contract.toml}"],
    "report": [],
    "cost": ["--on", "h100"],
    "lint": ["--on", "h100"],
    "search": ["--time-limit", "60"],
    "apply": ["--replicate", "*"],
    "partition": ["--stats", "table"],
    "verify": ["--prove"],
}


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("command", COMMANDS)
def test_results_are_those_of_each_file(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract = tmp_path / "contract.toml"
    contract.write_text("[[collectives]]\nkind = 'all-reduce'\ncount = 0\n")
    options = [word.replace("{contract.toml}", str(contract)) for word in COMMANDS[command]]
    alone: list[tuple[int, str, str]] = []
    for path in PATHS:
        code = main([command, path, *options])
        printed = capsys.readouterr()
        alone.append((code, printed.out, printed.err))
    assert main([command, *PATHS, *options]) == max(code for code, *_ in alone)
    printed = capsys.readouterr()
    places = [printed.out.index(text) for _, text, _ in alone]
    assert places == sorted(places)
    assert printed.err == "".join(errors for *_, errors in alone)


def test_the_exit_code_is_that_of_the_worst_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", PATHS[1], PATHS[0], "--on", "h100"]) == 1
    assert main(["lint", str(tmp_path / "none.mlir"), *PATHS, "--on", "h100"]) == 2
    printed = capsys.readouterr()
    assert "cannot read" in printed.err
    assert f"{PATHS[1]}:\nno findings\n" in printed.out


def test_programs_are_read_back_by_splitting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["partition", *PATHS]) == 0
    both = tmp_path / "both.mlir"
    both.write_text(capsys.readouterr().out)
    assert sdy_opt([str(both), "--split-input-file"]) == 0
    assert capsys.readouterr().out.count("func.func") == 2


def test_the_annotations_of_github_have_no_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", *PATHS, "--on", "h100", "--output-format", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith("::") for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "--html", "out.html"], "--html requires one file, got 2"),
        (["cost", "--on", "h100", "--trace", "out.json"], "--trace requires one file, got 2"),
        (["check", "--contract", "c.toml", "--update"], "--update requires one file, got 2"),
        (["lint", "--fix", "--output", "out.mlir"], "--output requires one file, got 2"),
        (["partition", "-o", "out.mlir"], "--output requires one file, got 2"),
        (["verify", "--prove", "--local", "local.mlir"], "--local requires one file, got 2"),
    ],
)
def test_some_options_are_for_one_file(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([words[0], *PATHS, *words[1:]]) == 2
    assert f"error: {message} [SDY-T204]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify", "--prove", "--inputs", "x.npz"], "--inputs cannot be given with --prove"),
        (["verify", "--prove", "--seed", "0"], "--seed cannot be given with --prove"),
        (["verify", "--prove", "--full"], "argument --full: not allowed with argument --prove"),
        (["search", "--sweep", "--devices", "4", "--from-scratch"], "--from-scratch cannot be given with --sweep"),
        (["search", "--sweep", "--devices", "4", "--minimize", "time"], "--minimize cannot be given with --sweep"),
        (["search", "--sweep"], "--sweep requires --devices"),
        (["search", "--processes", "2"], "--processes requires --sweep"),
        (["report", "--timeout", "3"], "--timeout requires --with"),
    ],
)
def test_options_that_would_have_no_effect_are_errors(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([words[0], PATHS[0], *words[1:]]) == 2
    assert f"error: {message} [SDY-T204]" in capsys.readouterr().err


def test_an_audit_of_nothing_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small, large = tmp_path / "small.mlir", tmp_path / "large.mlir"
    small.write_text(SMALL)
    large.write_text(
        SMALL.replace("return %a", "%0 = stablehlo.tanh %a : tensor<2xf32>\n  return %0").replace("<2", "<999999")
    )
    assert main(["audit", str(small), "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"error: {small} has no op that can be audited [SDY-T271]" in printed.err
    assert main(["audit", str(large)]) == 2
    assert "note: stablehlo.tanh: its tensors are too large" in capsys.readouterr().err
    ends = [small.with_name("sound.mlir"), small]
    ends[0].write_text(large.read_text().replace("<999999", "<2"))
    assert main(["audit", *map(str, ends), "--json", "--processes", "1"]) == 2
    assert [each["exit_code"] for each in json.loads(capsys.readouterr().out)] == [0, 2]


def test_old_names_are_the_new_commands(capsys: pytest.CaptureFixture[str]) -> None:
    printed: list[str] = []
    for words in (["prove", PATHS[0], "-v"], ["verify", "--prove", PATHS[0], "-v"]):
        assert main(words) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""
    for words in (["sweep", PATHS[0]], ["search", "--sweep", PATHS[0]]):
        assert main([*words, "--devices", "2", "--time-limit", "2"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[2] == printed[3] != ""
