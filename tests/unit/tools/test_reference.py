"""The generated pages of the command line and of diagnostics are complete, and their examples are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sdy.diagnostics.code_tables.execution import EXECUTION
from sdy.diagnostics.code_tables.mpmd import MPMD
from sdy.diagnostics.code_tables.ops import OPS
from sdy.diagnostics.code_tables.parsing import PARSING
from sdy.diagnostics.code_tables.partitioning import PARTITIONING
from sdy.diagnostics.code_tables.shardings import SHARDINGS
from sdy.diagnostics.code_tables.tools import TOOLS
from sdy.diagnostics.codes import CODES
from sdy.tools.command_line.environment import VARIABLES
from sdy.tools.command_line.exit_codes import MEANINGS
from sdy.tools.main import COMMANDS
from sdy.tools.reference.command_line_page import command_line_page
from sdy.tools.reference.diagnostics_page import EXAMPLES, SUBJECTS, diagnostics_page, example_output

EXAMPLE_FILES = sorted(EXAMPLES.iterdir())
LEAST_EXAMPLES = 150


@pytest.mark.parametrize("path", EXAMPLE_FILES, ids=lambda path: path.stem)
def test_an_example_prints_its_code(path: Path) -> None:
    printed = re.findall(r"\[(SDY-\w+)\]", example_output(path.read_text()))
    assert path.stem in printed
    assert len(printed) <= 2


def test_every_code_has_an_entry_and_most_have_an_example() -> None:
    page = diagnostics_page()
    assert sorted(re.findall(r"^### (SDY-\w+)$", page, re.MULTILINE)) == sorted(CODES)
    assert {code[4] for code in CODES} == set(SUBJECTS)
    assert page.count("**Cure:**") == len(CODES)
    names = {path.stem for path in EXAMPLE_FILES}
    assert names <= set(CODES)
    assert len(names) >= LEAST_EXAMPLES


def test_no_code_is_in_two_tables() -> None:
    tables = (PARSING, SHARDINGS, OPS, MPMD, TOOLS, PARTITIONING, EXECUTION)
    assert sum(map(len, tables)) == len(CODES)


def test_the_command_line_has_every_command_option_and_code() -> None:
    page = command_line_page()
    for command in COMMANDS:
        assert f"\n## sdy {command}\n" in page
    for text in (*VARIABLES, *(f"| {code} |" for code in MEANINGS), "`--adversarial`", "`--mlir-timing`", "`--trace`"):
        assert text in page
