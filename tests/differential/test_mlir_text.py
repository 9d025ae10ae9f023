"""Our text of whole modules against MLIR's own printer: both forms, byte for byte, of programs and of every op."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import oracle

from sdy.dialects.module_text import parse_module, print_module
from sdy.dialects.verify import verify_module

ROOT = Path(__file__).resolve().parents[2]
FILE_TESTS = ROOT / "tests" / "filecheck" / "dialects"
OWN_OPS = ("chlo", "func_builtin", "stablehlo_")  # file tests of ops that jaxlib knows too
PROGRAMS = sorted((ROOT.parent / "shared" / "models").glob("*.mlir")) + sorted(
    (ROOT / "sdy" / "examples").glob("*.mlir")
)
OPS = sorted(path for path in FILE_TESTS.glob("*.mlir") if path.stem.startswith(OWN_OPS))


@pytest.mark.parametrize("path", [*PROGRAMS, *OPS], ids=lambda path: path.stem)
def test_both_forms_are_printed_as_mlir_prints_them(path: Path) -> None:
    text = path.read_text()
    module = parse_module(text, path.name)
    verify_module(module)
    assert print_module(module) == oracle.pretty_text(text)
    assert print_module(module, generic=True) == oracle.generic_text(text)


@pytest.mark.parametrize("path", [*PROGRAMS, *OPS], ids=lambda path: path.stem)
def test_what_either_form_says_is_read_back(path: Path) -> None:
    printed = print_module(parse_module(path.read_text(), path.name))
    generic = print_module(parse_module(printed), generic=True)
    assert print_module(parse_module(generic)) == printed
    assert oracle.generic_text(printed) == generic
