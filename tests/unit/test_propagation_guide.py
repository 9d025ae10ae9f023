"""What docs/propagation.md shows is what happens: its code runs, its commands run, and both print what stands there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdy.passes import auto_partitioner
from sdy.tools.main import main

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "propagation.md").read_text()
CODE = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)
COMMANDS = re.findall(r"```console\n\$ sdy (.*?)\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    yield
    auto_partitioner.clear()


@pytest.mark.parametrize(("code", "output"), CODE)
def test_code_prints_what_follows_it(code: str, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "propagation.md", "exec"), {"__name__": "guide"})
    assert capsys.readouterr().out == output


@pytest.mark.parametrize(("command", "output"), COMMANDS)
def test_commands_print_what_follows_them(command: str, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == output


def test_every_example_is_looked_at() -> None:
    assert len(CODE) == GUIDE.count("```python")
    assert len(COMMANDS) == GUIDE.count("$ sdy ")


def test_files_that_it_names_exist() -> None:
    for path in re.findall(r"`(sdy/[\w/.]+)`", GUIDE):
        assert (ROOT / path).exists()
