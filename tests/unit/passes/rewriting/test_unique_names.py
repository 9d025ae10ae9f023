from __future__ import annotations

from sdy.dialects.module_text import parse_module
from sdy.passes.rewriting.call_graph import UniqueNames

MODULE = 'sdy.mesh @mesh = <["x"=2]>\nsdy.mesh @mesh_0 = <["x"=4]>\nsdy.mesh @mesh_1 = <["x"=8]>'


def test_a_number_is_appended_to_the_name_itself() -> None:
    names = UniqueNames(parse_module(MODULE, "file.mlir"))
    assert [names.new(name) for name in ("mesh", "mesh", "mesh_0", "other", "other")] == [
        "mesh_2",
        "mesh_3",
        "mesh_0_4",
        "other",
        "other_5",
    ]
