"""The texts of `--help`: groups of commands, lines as wide as the terminal, and the options of every command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from sdy.tools.main import COMMANDS, GROUPS, OLD_NAMES, main
from sdy.tools.sdy_opt import main as sdy_opt
from sdy.tools.sdy_run import main as sdy_run


def help_of(main: Callable[[list[str]], int], words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    with suppress(SystemExit):
        assert main([*words, "--help"]) == 0
    return capsys.readouterr().out


def test_commands_are_listed_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(main, [], capsys)
    assert len(COMMANDS) == 15
    for title, group in GROUPS.items():
        block = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        listed = [line.split()[0] for line in block.splitlines() if not line.startswith("   ")]
        assert listed == list(group)


def test_old_names_are_named_at_the_end_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    *others, last = help_of(main, [], capsys).splitlines()
    for name in OLD_NAMES:
        assert f"{name} (" in last
        assert not any(line.split()[:1] == [name] for line in others)


@pytest.mark.parametrize("columns", [64, 79, 120])
@pytest.mark.parametrize("command", ["", *COMMANDS, "--completion", "sdy-opt", "sdy-run"])
def test_help_is_as_wide_as_the_terminal(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    tools = {"sdy-opt": sdy_opt, "sdy-run": sdy_run}
    text = help_of(tools.get(command, main), [command] * (command not in ("", *tools)), capsys)
    lines = [line for line in text.splitlines() if not line.startswith("  --")]  # names of passes are not split
    assert 0.6 * columns < max(map(len, lines)) <= columns


@pytest.mark.parametrize("command", [*COMMANDS, "sdy-opt", "sdy-run"])
def test_every_help_has_load(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    tools = {"sdy-opt": sdy_opt, "sdy-run": sdy_run}
    text = help_of(tools.get(command, main), [command] * (command not in tools), capsys)
    assert "--load" in text
    assert "$SDY_LOAD" in text


def test_the_list_of_commands_needs_no_package() -> None:
    code = "import sys; from sdy.tools.main import main; main(['--help']); print('imported:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    imported = {name.partition(".")[0] for name in done.stdout.rpartition("imported: ")[2].split()}
    assert "sdy" in imported
    assert not {"numpy", "xdsl", "rich", "lark", "argcomplete"}.intersection(imported)
