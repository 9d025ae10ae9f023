"""No program is partitioned to send more than without the communication optimizer."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from support.random_programs.draft import Options
from support.random_programs.products import products_program
from support.random_programs.program import random_program
from support.slow_cases import slow_except

from sdy.cost.traffic import sends_of
from sdy.diagnostics.diagnostic import SdyError
from sdy.program.program import Program

OPTIONS = Options(ops=9, executable=True, max_devices=32)
PROGRAMS, SHARES = 10_000, 250
# A program whose slices of slices are merged, which sends more.
WORSE_WITH_REWRITES = 1924


def _worse(texts: Iterable[tuple[int, str]]) -> dict[int, tuple[float, float]]:
    """Return the bytes with and without the optimizer of the programs that send more with it, by seed."""
    found: dict[int, tuple[float, float]] = {}
    for seed, text in texts:
        program = Program.from_text(text)
        try:
            sent = [sends_of(each.partition().local).bytes for each in (program, program.without_optimizer())]
        except SdyError as error:
            if error.diagnostics[0].code != "SDY-T108":  # a sharding group that spans manual computations
                raise
            continue
        if sent[0] > sent[1]:
            found[seed] = sent[0], sent[1]
    return found


@pytest.mark.parametrize("share", slow_except([7], range(SHARES)))
def test_products_sums_and_loops_send_no_more(share: int) -> None:
    """10,000 programs; 40 by default."""
    assert _worse((seed, products_program(seed)) for seed in range(share, PROGRAMS, SHARES)) == {}


@pytest.mark.parametrize("share", slow_except([7], range(SHARES)))
def test_programs_of_any_ops_send_no_more(share: int) -> None:
    """10,000 programs; 40 by default."""
    assert _worse((seed, random_program(seed, OPTIONS)) for seed in range(share, PROGRAMS, SHARES)) == {}


def test_the_program_without_the_optimizer_is_remarked() -> None:
    program = Program.from_text(random_program(WORSE_WITH_REWRITES, OPTIONS))
    (message,) = [each.message for each in program.partition().remarks if each.code == "SDY-L127"]
    assert message == "partitioned without the communication optimizer, so that each device sends 12 bytes less"
    assert str(program.partition()) == str(program.without_optimizer().partition())
