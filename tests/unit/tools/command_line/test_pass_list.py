"""The output of `sdy-opt --list-passes`, and unknown pass names."""

from __future__ import annotations

import pytest
from xdsl.passes import ModulePass

import sdy
from sdy.passes.manager.all import pass_names
from sdy.tools import sdy_opt


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = sdy_opt.main(words)
    out, err = capsys.readouterr()
    return code, out, err


def test_every_pass_is_listed_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("--list-passes", capsys=capsys)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert [line for line in lines if not line.startswith(" ")] == pass_names()
    at = lines.index("sdy-aggressive-propagate")
    assert lines[at + 1].strip().endswith(".")
    assert "      propagation-strategy=aggressive" in lines[at : at + 9]
    assert "      except=" in lines


def test_a_pass_without_a_description(capsys: pytest.CaptureFixture[str]) -> None:
    class Undescribed(ModulePass):
        name = "undescribed"

        def apply(self, ctx: object, op: object) -> None: ...

    Undescribed.__doc__ = None
    sdy.register_pass(Undescribed)
    _, out, _ = run("--list-passes", capsys=capsys)
    assert "undescribed\n    (no description)\n" in out


def test_an_unknown_pass_to_print_after_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("--mlir-print-ir-after=symbol-dcee", capsys=capsys)
    assert (code, out) == (1, "")
    assert "unknown pass symbol-dcee" in err
    assert "did you mean symbol-dce?" in err
