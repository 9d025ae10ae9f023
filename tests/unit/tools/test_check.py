"""`sdy check`: exit status, formats, and the contracts that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

from sdy.tools.main import main

FILE = str(EXAMPLES[EXAMPLE_NAMES.index("mlp_dp4_tp2")])


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    path = tmp_path / "contract.toml"
    assert main(["check", FILE, "--contract", str(path), "--update", "--on", "h100"]) == 0
    return path


def test_a_written_contract_holds(contract: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", FILE, "--contract", str(contract)]) == 0
    assert capsys.readouterr().out == f"{FILE} keeps {contract}\n"
    assert contract.read_text().splitlines()[1] == 'machine = "h100"'


def test_a_broken_contract_is_reported_in_each_format(contract: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract.write_text("[[collectives]]\nkind = 'all-gather'\ncount = 1\n")
    assert main(["check", FILE, "--contract", str(contract)]) == 1
    text = capsys.readouterr().err
    assert text.startswith("error: the program has 2 all-gathers, at most 1 allowed [SDY-C001]\n")
    assert f'{FILE}:124:11: note: all-gather along "model" at line 124: 3,072 bytes' in text
    assert main(["check", FILE, "--contract", str(contract), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert not answer["holds"]
    assert [each["bytes_sent"] for each in answer["broken"][0]["collectives"]] == [3072, 1408]
    assert main(["check", FILE, "--contract", str(contract), "--format", "github"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    place = f"file={FILE},line=124,col=11,title=SDY-C001"
    assert line.startswith(f"::error {place}::the program has 2 all-gathers, at most 1 allowed%0A")


def test_the_optimizer_can_be_disabled(contract: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", FILE, "--contract", str(contract), "--no-optimizer"]) == 1
    assert "SDY-C001" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([FILE, "--contract", "absent.toml"], "cannot read absent.toml: No such file or directory"),
        (["absent.mlir", "--contract", "absent.toml", "--update"], "cannot read absent.mlir"),
        ([FILE, "--contract", "c.toml", "--on", "h100"], "--on requires --update"),
        ([FILE, "--contract", "c.toml", "--update", "--on", "abacus"], "abacus"),
    ],
)
def test_what_cannot_be_checked_exits_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_an_update_keeps_the_tolerance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract = tmp_path / "contract.toml"
    contract.write_text("tolerance = 0.05\nbytes_sent = 1\n")
    assert main(["check", FILE, "--contract", str(contract), "--update"]) == 0
    assert "tolerance = 0.05" in contract.read_text()
    assert "bytes_sent = 1\n" not in contract.read_text()
    assert main(["check", FILE, "--contract", str(contract)]) == 0
