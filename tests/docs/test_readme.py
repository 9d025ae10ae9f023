"""The examples in the README work as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.jax  # the README imports JAX
README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL))
def test_code_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(README.parent)
    exec(compile(code, "README.md", "exec"), {})
