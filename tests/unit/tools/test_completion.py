"""`sdy --completion`: the scripts are valid, and complete commands, options, machines, passes and files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sdy.tools.main import COMMANDS, main

SHELLS = ("bash", "zsh", "fish")


def script(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["--completion", *words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_name_commands_options_and_machines(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(capsys, shell)
    for word in (*COMMANDS, "load", "adversarial", "no-optimizer", "tpu_v5e", "json"):
        assert word in text
    if shutil.which(shell):
        subprocess.run([shell, "-n", "-c", text], check=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_tools_have_scripts_too(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "sdy-close-shardings" in script(capsys, shell, "--tool", "sdy-opt")
    assert "interpreter-print-dense" in script(capsys, shell, "--tool", "sdy-run")


def completions(folder: Path, text: str, line: str) -> set[str]:
    """Return what bash offers at the end of a line."""
    file = folder / "script.sh"
    file.write_text(text)
    words = line.split(" ")
    ask = f"""
source {file}
COMP_WORDS=({" ".join(repr(word) for word in words)})
COMP_CWORD={len(words) - 1}
_shtab_sdy
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", ask], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(capsys, "bash")
    (tmp_path / "program.mlir").write_text("")
    assert completions(tmp_path, text, "sdy ver") == {"verify"}
    assert completions(tmp_path, text, "sdy verify --adv") == {"--adversarial"}
    assert completions(tmp_path, text, "sdy verify prog") == {"program.mlir"}
    assert completions(tmp_path, text, "sdy cost program.mlir --on tpu_v5") == {"tpu_v5e", "tpu_v5p"}
    assert completions(tmp_path, text, "sdy verify --color a") == {"auto", "always"}


def test_shtab_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--completion=bash"]) == 2
    text = capsys.readouterr().err
    assert "sdy --completion requires shtab, which is not installed [SDY-T260]" in text
    assert "pip install 'sdy[completion]'" in text


def test_other_shells_are_wrong_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    assert "'csh'" in capsys.readouterr().err
