"""No program sends more, or takes longer, than without the optimizer, and what holds much more saves as much.

Hardly any program sends more, or takes longer, than by the passes of upstream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from support.execution.partition_by_passes import partitioned, propagated
from support.random_programs.draft import Options
from support.random_programs.products import products_program
from support.random_programs.program import random_program
from support.slow_cases import slow_except

from sdy.cost.memory import is_worth_its_memory, peak_bytes
from sdy.cost.traffic import sends_of
from sdy.diagnostics.diagnostic import SdyError
from sdy.program.program import Program

OPTIONS = Options(ops=9, executable=True, max_devices=32)
PROGRAMS, SHARES = 10_000, 250
SMALL_SHARES = 2_000  # of programs that are partitioned three times
MACHINES = ("tpu_v5e", "h100")
# A program whose slices of slices are merged, which sends more; one that holds a quarter more to send a tenth less.
WORSE_WITH_REWRITES, NOT_WORTH_ITS_MEMORY = 1924, 379


Use = tuple[float, int]  # bytes sent, and bytes held at once


def _worse(texts: Iterable[tuple[int, str]]) -> dict[int, tuple[Use, Use]]:
    """Return the use with and without the optimizer of the programs for which it does not pay, by seed."""
    found: dict[int, tuple[Use, Use]] = {}
    for seed, text in texts:
        program = Program.from_text(text)
        try:
            own, plain = (each.partition().local for each in (program, program.without_optimizer()))
        except SdyError as error:
            if error.diagnostics[0].code != "SDY-T108":  # a sharding group that spans manual computations
                raise
            continue
        (sent, held), (most, other) = ((sends_of(local).bytes, peak_bytes(local)) for local in (own, plain))
        if sent > most or not is_worth_its_memory(sent, held, most, other):
            found[seed] = (sent, held), (most, other)
    return found


@pytest.mark.parametrize("share", slow_except([7], range(SHARES)))
def test_products_sums_and_loops_send_no_more(share: int) -> None:
    """10,000 programs; 40 by default."""
    assert _worse((seed, products_program(seed)) for seed in range(share, PROGRAMS, SHARES)) == {}


@pytest.mark.parametrize("share", slow_except([7], range(SHARES)))
def test_programs_of_any_ops_send_no_more(share: int) -> None:
    """10,000 programs; 40 by default."""
    assert _worse((seed, random_program(seed, OPTIONS)) for seed in range(share, PROGRAMS, SHARES)) == {}


def _texts(share: int, shares: int) -> Iterator[tuple[int, str]]:
    for seed in range(share, PROGRAMS, shares):
        yield seed, products_program(seed)
        yield seed, random_program(seed, OPTIONS)


@pytest.mark.parametrize("share", slow_except([7], range(SMALL_SHARES)))
def test_no_program_is_slower_on_a_machine(share: int) -> None:
    """20,000 programs; 10 by default."""
    for seed, text in _texts(share, SMALL_SHARES):
        program = Program.from_text(text)
        try:
            plain = program.without_optimizer().partition()
        except SdyError as error:
            assert error.diagnostics[0].code == "SDY-T108", seed  # noqa: PT017 -- see `_worse`
            continue
        for machine in MACHINES:
            assert program.optimized_for(machine).cost(machine).is_no_slower(plain.cost(machine)), (seed, machine)


def _by_upstream(program: Program) -> Use:
    """Return the use of a program that is partitioned by the passes of upstream."""
    local = partitioned(program, propagated(program.module), exchanges=True).local
    return sends_of(local).bytes, peak_bytes(local)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_hardly_any_program_sends_more_than_by_the_passes_of_upstream(share: int) -> None:
    """20,000 programs. In less than one of a thousand, and where upstream holds more memory than it saves bytes."""
    more: list[tuple[int, Use, Use]] = []
    for seed, text in _texts(share, SHARES):
        program = Program.from_text(text)
        try:
            upstream, local = _by_upstream(program), program.partition().local
        except SdyError:
            continue  # upstream supports fewer programs
        own = sends_of(local).bytes, peak_bytes(local)
        if own[0] > upstream[0] and is_worth_its_memory(*upstream, *own):
            more.append((seed, own, upstream))
    assert len(more) <= 1, more


@pytest.mark.parametrize(
    "text",
    [*map(products_program, (511, 1217)), *(random_program(seed, OPTIONS) for seed in (875, 1932, 2894, 3321))],
)
def test_sums_and_axes_split_in_two_ways_send_less_than_by_the_passes_of_upstream(text: str) -> None:
    program = Program.from_text(text)
    assert sends_of(program.partition().local).bytes < _by_upstream(program)[0]


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_hardly_any_program_is_slower_than_by_the_passes_of_upstream(share: int) -> None:
    """20,000 programs. In two of a hundred, halo exchanges have more collectives, or one of two times is longer."""
    slower: list[tuple[int, str]] = []
    for seed, text in _texts(share, SHARES):
        program = Program.from_text(text)
        try:
            upstream = partitioned(program, propagated(program.module), exchanges=True)
            slower += [
                (seed, machine)
                for machine in MACHINES
                if not program.optimized_for(machine).cost(machine).is_no_slower(upstream.cost(machine))
            ]
        except SdyError:
            continue  # upstream supports fewer programs
    assert len(slower) <= 12, slower


@pytest.mark.parametrize(
    ("text", "saved"),
    [
        (random_program(WORSE_WITH_REWRITES, OPTIONS), "sends 12 bytes"),
        (products_program(NOT_WORTH_ITS_MEMORY), "holds 8,736 bytes"),
    ],
)
def test_the_program_without_the_optimizer_is_remarked(text: str, saved: str) -> None:
    program = Program.from_text(text)
    (message,) = [each.message for each in program.partition().remarks if each.code == "SDY-L127"]
    assert message == f"partitioned without the communication optimizer, so that each device {saved} less"
    assert str(program.partition()) == str(program.without_optimizer().partition())
