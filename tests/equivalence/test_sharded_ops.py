"""Every op with random shardings has the same results on all devices as on one."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_ops.families import FAMILIES
from support.random_ops.sharded import sharded_program

from sdy.program.program import Program

SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "tuple"])  # tuples have no shardings
def test_partitioned_op_computes_the_same(family: str, seed: int) -> None:
    draft, text = sharded_program(family, seed)
    program = Program.from_text(text)
    with np.errstate(all="ignore"):
        outcomes = program.verify(*list(draft.constants.values()))
    assert outcomes
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == [], text


def test_many_programs_communicate() -> None:
    texts = [sharded_program(family, seed)[1] for family in ("reduce", "gather", "dot_general") for seed in SEEDS]
    local_programs = [str(Program.from_text(text).partition().local) for text in texts]
    assert sum("stablehlo.all_" in program for program in local_programs) > len(texts) // 3
