"""Round trips of the text of every conformance program, and comparison with MLIR.

A chunk is a program of its own in a file of several. Chunks that expect an error are the business of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from support.oracle import jaxlib_mlir
from support.oracle.known_differences import IS_NEWER
from support.slow_cases import slow_except

from sdy.dialects.module_text import make_context, parse_module, print_module

SUITES = Path(__file__).resolve().parents[3] / "shared" / "conformance"
FOLDERS = sorted({path.parent for path in SUITES.rglob("*.mlir")})
SEPARATOR = re.compile(r"^// -----.*$", re.MULTILINE)
OPS_UNKNOWN_TO_JAXLIB = re.compile(r"\b(check|interpreter)\.\w+")  # parsed by jaxlib only in generic form
NEWER_PROPERTY = re.compile(r", reduction_op = \d : i32")  # the older Shardy does not have this property, and drops it
MIN_COMPARED_FRACTION = 0.95  # jaxlib's Shardy is older than some chunks, and its StableHLO newer than others

if not FOLDERS:
    pytest.skip("shared/conformance is not there", allow_module_level=True)


def chunks(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("*.mlir")):
        text = path.read_text()
        parts = SEPARATOR.split(text) if "split-input-file" in text else [text]
        for number, part in enumerate(parts):
            if part.strip() and "expected-error" not in part:
                yield f"{path.name}, chunk {number}", part


def both_forms(text: str) -> tuple[str, str]:
    module = parse_module(text, context=make_context(allow_unregistered=True))
    return print_module(module), print_module(module, generic=True)


def printed_by_mlir(text: str) -> str | None:
    try:
        return jaxlib_mlir.generic_text(text)
    except jaxlib_mlir.ir.MLIRError:
        return None


@pytest.mark.parametrize("step", slow_except([4], [4, 1]))
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(SUITES)))
def test_printed_text_round_trips(folder: Path, step: int) -> None:
    for name, text in islice(chunks(folder), 0, None, step):
        pretty, generic = both_forms(text)
        assert both_forms(pretty) == (pretty, generic), name
        assert both_forms(generic) == (pretty, generic), name


@pytest.mark.parametrize("share", slow_except([0], range(4)))
def test_mlir_parses_the_same_module(share: int) -> None:
    compared, total = 0, 0
    for name, text in islice((chunk for folder in FOLDERS for chunk in chunks(folder)), share, None, 4):
        pretty, generic = both_forms(text)
        has_own_ops = OPS_UNKNOWN_TO_JAXLIB.search(text) is not None
        expected = printed_by_mlir(generic if has_own_ops else text)
        total += 1
        if expected is not None:
            compared += 1
            assert printed_by_mlir(generic if has_own_ops else pretty) == expected, name
            known = generic if IS_NEWER else NEWER_PROPERTY.sub("", generic)
            assert not has_own_ops or expected == known, name
    assert compared >= MIN_COMPARED_FRACTION * total, f"{compared} of {total}"
