"""The examples in the README work as shown."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from sdy.tools.main import main
from sdy.tools.sdy_opt import main as sdy_opt

pytestmark = pytest.mark.jax  # the README imports JAX
ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
TOOLS = {"sdy": main, "sdy-opt": sdy_opt}
# The words of each command of our tools, in order.
COMMANDS = [
    shlex.split(command)
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    for command in line.partition("  #")[0].split("&&")
    if command.split()[0] in TOOLS
]


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_code_runs(code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    exec(compile(code, "README.md", "exec"), {})
    assert len(opened) == code.count("program.show()")


def test_commands_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command succeeds as it is printed, on the files that those before it have written."""
    (tmp_path / "sdy").symlink_to(ROOT / "sdy")
    monkeypatch.chdir(tmp_path)
    codes = {shlex.join(words): TOOLS[words[0]](words[1:]) for words in COMMANDS}
    assert {command: code for command, code in codes.items() if code} == {}
    assert {"verify", "report", "cost", "lint", "search"} < {words[1] for words in COMMANDS}
    assert "sharding report" in (tmp_path / "report.html").read_text()


def test_extras_exist() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", README, re.MULTILINE)
    assert len(rows) > 1
    for name in re.findall(r"`(\w+)`", " ".join(rows)):
        assert name in known, name
