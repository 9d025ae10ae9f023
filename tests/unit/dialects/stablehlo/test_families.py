"""The table of the families of StableHLO ops: it must list each op in the module that declares it."""

from __future__ import annotations

import subprocess
import sys

from sdy.dialects.module_text import make_context
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.dialects.stablehlo.families import op_class

SCRIPT = """import sys
from sdy.dialects.module_text import parse_module
parse_module("%0 = stablehlo.constant dense<1> : tensor<i32>")
print(*sorted(name for name in sys.modules if name.startswith("sdy.dialects.stablehlo.")))
"""


def test_each_op_is_found_by_its_name() -> None:
    for each in STABLEHLO.operations:
        assert op_class(each.name) is each
        assert make_context().get_optional_op(each.name) is each
    assert op_class("stablehlo.unknown") is None


def test_only_the_families_of_a_program_are_imported() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True, timeout=60)
    imported = {name.rpartition(".")[2] for name in done.stdout.split()}
    assert "shape" in imported
    assert not {"window", "linalg", "slicing", "gather_scatter"}.intersection(imported)
