"""Tables of the commands fit the terminal, and split no word and no number."""

from __future__ import annotations

import re

import pytest
from support.examples import EXAMPLE_NAMES, EXAMPLES

from sdy.tools.main import main
from sdy.tools.sdy_run import main as sdy_run

BORDERS = "┃│┏┓┗┛┡┩├┤└┘━─┳╇┴┼"
COMMANDS = {
    "verify": ["verify", "-v"],
    "cost": ["cost", "--on", "tpu_v5e"],
    "report": ["report"],
    "statistics": ["partition", "--stats", "table"],
}
WIDE = 400


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, words: list[str]) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    assert (sdy_run if words[0] == "sdy-run" else main)(words[words[0] == "sdy-run" :]) == 0
    return capsys.readouterr().out


def words_of(text: str) -> set[str]:
    """Return the words of an output; without those that only lists have."""
    return set(re.sub(f"[{BORDERS}]", " ", text).split()) - {"total", "-"}


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_tables_fit_and_split_no_word(
    name: str, command: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = (path for path in EXAMPLES if path.stem == name)
    words = [*COMMANDS[command], str(file)]
    narrow, wide = (printed(capsys, monkeypatch, columns, words) for columns in (width, WIDE))
    assert [line for line in narrow.splitlines() if line[:1] in BORDERS and len(line) > width] == []
    assert words_of(narrow) == words_of(wide)


@pytest.mark.parametrize("width", [20, 80])
def test_lists_of_machines_and_devices_split_no_word(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(path for path in EXAMPLES if path.stem == "matmul_case1")
    for words in (["cost"], ["sdy-run", str(case), f"--inputs={case.with_suffix('.npz')}", "--devices-table"]):
        narrow, wide = (printed(capsys, monkeypatch, columns, words) for columns in (width, WIDE))
        assert words_of(narrow) == words_of(wide)


def test_a_table_without_colour_has_no_colour(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ["verify", str(EXAMPLES[0])]
    coloured = printed(capsys, monkeypatch, 80, words)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = printed(capsys, monkeypatch, 80, words)
    assert re.search(r"\x1b\[3\dm", coloured)
    assert not re.search(r"\x1b\[[34]\dm", plain)
