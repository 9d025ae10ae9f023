"""Every op of StableHLO and CHLO has all its parts; a failure names the file in which a part is missing.

`sdy-opt --list-op NAME` prints the same for one op.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.traits import IsTerminator

from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.interpreter.ops.all import KERNELS
from sdy.tools import sdy_opt
from sdy.tools.op_homes import EXACT_KERNELS_NOT_NEEDED, KERNELS_NOT_NEEDED, RULES_NOT_NEEDED, State, homes

ROOT = Path(__file__).parents[2]
FILE_TESTS = ROOT / "tests" / "filecheck" / "dialects"
TEXT = "\n".join(path.read_text() for path in sorted(FILE_TESTS.glob("*.mlir")))
REASONS_WITHOUT_TEXT = {
    "stablehlo.async_start": "covered by tests/property/test_collective_shapes.py",
    "stablehlo.async_done": "covered by tests/property/test_collective_shapes.py",
    "stablehlo.collective_reduce": "covered by tests/property/test_collectives.py",
}


def missing_parts(op_class: type[Operation]) -> Iterator[str]:
    """Yield a line for each part of an op that does not exist and has no reason to be missing."""
    name, family = op_class.name, op_class.__module__.rpartition(".")[2]
    for stage, state, text in homes(op_class):
        if state is State.MISSING:
            yield f"{name}, {stage}: {text}"
    if name not in TEXT and name not in REASONS_WITHOUT_TEXT:
        yield f"{name}, file test: add it to tests/filecheck/dialects/stablehlo_{family}.mlir"


def ops() -> list[type[Operation]]:
    found = (op for dialect in (STABLEHLO, CHLO) for op in dialect.operations)
    return [op for op in found if not op.has_trait(IsTerminator)]


def test_no_op_misses_a_part() -> None:
    found = [line for op in ops() for line in missing_parts(op)]
    assert found == [], "\n" + "\n".join(found)


def test_a_new_op_is_told_the_files_that_miss_it() -> None:
    @irdl_op_definition
    class InventedOp(IRDLOperation):
        name = "stablehlo.invented"

    InventedOp.__module__ = "sdy.dialects.stablehlo.slicing"
    found = "\n".join(missing_parts(InventedOp))
    for file in (
        *("sdy/dialects/stablehlo/families.py", "sdy/rules/slicing.py", "sdy/interpreter/ops/slicing.py"),
        *("sdy/interpreter/ops/on_field.py", "stablehlo_slicing.mlir"),
    ):
        assert file in found


def test_every_place_exists() -> None:
    """A page names, for each part that an op does not have, the file or the package in which it would be."""
    places = {found for op in ops() for home in homes(op) for found in re.findall(r"sdy/[\w/.]*\w", home.text)}
    assert len(places) > 50
    assert [place for place in sorted(places) if not (ROOT / place).exists()] == []


def test_every_reason_is_needed() -> None:
    by_name = {op.name: op for op in ops()}
    for stage, reasons in (("rule", RULES_NOT_NEEDED), ("exact kernel", EXACT_KERNELS_NOT_NEEDED)):
        for name, reason in reasons.items():
            found = next(each for each in homes(by_name[name]) if each.stage == stage)
            assert found.state is State.NOT_NEEDED
            assert found.text.startswith(f"{reason} (")
    assert [name for name in KERNELS_NOT_NEEDED if by_name[name] in KERNELS] == []
    assert [name for name in REASONS_WITHOUT_TEXT if name in TEXT] == []


def test_the_page_of_an_op(capsys: pytest.CaptureFixture[str]) -> None:
    assert sdy_opt.main(["--list-op=stablehlo.reverse"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["stablehlo.reverse:"].startswith("Reverse the order")
    assert "MovesElements" in lines["facts"]
    assert lines["rule"].startswith("sdy/rules/shape.py: ")
    assert lines["kernel"].startswith("sdy/interpreter/ops/shape.py: ")
    assert lines["flops"].startswith("not needed: ")
    assert sdy_opt.main(["--list-op", "stablehlo.revers"]) == 1
    assert "did you mean stablehlo.reverse?" in capsys.readouterr().err
