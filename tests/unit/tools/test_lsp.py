"""`sdy lsp` without its extra."""

from __future__ import annotations

import sys

import pytest

from sdy.tools.main import main


def test_a_missing_package_is_one_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [each for each in sys.modules if each.startswith("sdy.language_server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert main(["lsp", "--stdio"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "error: sdy lsp requires pygls, which is not installed [SDY-N410]\n  hint: pip install 'sdy[lsp]'\n"
    )
