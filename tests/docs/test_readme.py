"""The examples in the README work as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.terminal_image import IMAGE, drawn, lines_of, printed

import sdy
from sdy.diagnostics.diagnostic import render
from sdy.program.program import Program
from sdy.tools.main import main

pytestmark = pytest.mark.jax  # the README imports JAX
README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL))
def test_code_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(README.parent)
    exec(compile(code, "README.md", "exec"), {})


(SHOWN_ERROR,) = re.findall(r"```text\n(mlp\.mlir.*?)```", README.read_text(), re.DOTALL)
SHELL_LINES = [
    line.partition("#")[0].split()
    for block in re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("sdy ")
]


def test_the_shown_error_is_printed() -> None:
    shown = SHOWN_ERROR.splitlines()[1].removeprefix("  ")
    text = f"module {{\n  func.func @main(%a: tensor<8x8xf32>) -> tensor<4x8xf32> {{\n{shown}\n"
    with pytest.raises(sdy.SdyError) as raised:
        Program.from_text(text, "mlp.mlir")
    assert render(raised.value.diagnostics[0], {"mlp.mlir": text}).strip() == SHOWN_ERROR.strip()


def test_the_image_has_what_the_first_command_prints() -> None:
    """`make images` draws it; the errors of outputs may differ on other machines."""
    shown, now = lines_of(IMAGE.read_text()), lines_of(drawn(printed()))
    assert "collectives" in now
    assert shown[: shown.index("outputs")] == now[: now.index("outputs")]


@pytest.mark.parametrize("words", SHELL_LINES, ids=" ".join)
def test_shown_options_exist(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([words[1], "--help"])
    usage = capsys.readouterr().out
    for word in words[2:]:
        if word.startswith("-"):
            assert re.search(rf"{re.escape(word.partition('=')[0])}\b", usage), f"{word} is not an option of {words[1]}"
