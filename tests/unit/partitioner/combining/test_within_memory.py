"""Orders that keep within memory. Ops are gathers of one byte to ten, or use what was gathered."""

from __future__ import annotations

from sdy.cost.lifetimes import LifetimeStep
from sdy.partitioner.combining.groups import Candidate
from sdy.partitioner.combining.order import BlockOps
from sdy.partitioner.combining.within_memory import combined_order

COUNT = 4


def _gathers_with_users() -> tuple[BlockOps[str], list[Candidate]]:
    """gather, use, gather, use, ...: shards are s0, s1, ..., what is gathered of them g0, g1, ..."""
    steps: list[LifetimeStep[str]] = []
    dependences: list[list[int]] = []
    for number in range(COUNT):
        steps += [LifetimeStep([f"s{number}"], [f"g{number}"]), LifetimeStep([f"g{number}"], [])]
        dependences += [[], [2 * number]]
    steps.append(LifetimeStep([], []))
    dependences.append([])
    shards = [f"s{number}" for number in range(COUNT)]
    program = BlockOps(shards, steps, dependences, lambda value: 1 if value.startswith("s") else 10)
    return program, [Candidate(2 * number, "gather", 10) for number in range(COUNT)]


def _sizes(most_alive: int) -> list[int]:
    program, candidates = _gathers_with_users()
    order = combined_order(program, candidates, 1000, most_alive)
    assert max(moment.most for moment in order.alive) <= most_alive
    return [len(group) for group in order.groups if group[0] % 2 == 0 and group[0] < 2 * COUNT]


def test_all_meet_where_there_is_memory() -> None:
    assert _sizes(44) == [4]


def test_a_group_is_halved_until_it_fits() -> None:
    assert _sizes(43) == [2, 2]
    assert _sizes(24) == [2, 2]


def test_what_does_not_fit_at_all_stays_as_it_was() -> None:
    program, candidates = _gathers_with_users()
    order = combined_order(program, candidates, 1000, 14)
    assert order.groups == [(op,) for op in range(2 * COUNT + 1)]


def test_only_those_in_the_way_are_parted() -> None:
    # A group of sums of one byte has nothing to do with the memory that gathers take.
    program, candidates = _gathers_with_users()
    steps = [
        *program.steps[:-1],
        LifetimeStep(["sum0"], ["shared0"]),
        LifetimeStep(["sum1"], ["shared1"]),
        LifetimeStep(["shared0", "shared1"], []),
    ]
    dependences = [*program.dependences[:-1], [], [], [2 * COUNT, 2 * COUNT + 1]]
    more = BlockOps([*program.arguments, "sum0", "sum1"], steps, dependences, program.bytes_of)
    sums = [Candidate(2 * COUNT + number, "sum", 1) for number in range(2)]
    order = combined_order(more, [*candidates, *sums], 1000, 26)
    assert [len(group) for group in order.groups if len(group) > 1] == [2, 2, 2]


def test_a_group_is_to_blame_for_what_waits_for_it() -> None:
    # Two sums; the first one's user is the last to read a large value, and would wait while another one is made. The
    # gathers in between are larger groups, and not in the way.
    steps = [
        LifetimeStep(["s0"], ["large"]),
        LifetimeStep(["s0"], ["s1"]),  # a sum
        LifetimeStep(["s1", "large"], []),
        LifetimeStep(["s2"], ["s5"]),  # two gathers of small things
        LifetimeStep(["s3"], ["s6"]),
        LifetimeStep(["s4"], ["large2"]),
        LifetimeStep(["large2"], ["s7"]),
        LifetimeStep(["s7"], ["s8"]),  # the other sum
        LifetimeStep(["s5", "s6", "s8"], []),
    ]
    dependences = [[], [], [0, 1], [], [], [], [5], [6], [3, 4, 7]]
    program = BlockOps(["s0", "s2", "s3", "s4"], steps, dependences, lambda value: 1 if value.startswith("s") else 10)
    candidates = [Candidate(1, "sum", 1), Candidate(3, "gather", 1), Candidate(4, "gather", 1), Candidate(7, "sum", 1)]
    assert _large_groups(program, candidates, 100) == [(3, 4), (1, 7)]
    assert _large_groups(program, candidates, 16) == [(3, 4)]


def _large_groups(program: BlockOps[str], candidates: list[Candidate], most_alive: int) -> list[tuple[int, ...]]:
    order = combined_order(program, candidates, 1000, most_alive)
    return sorted((group for group in order.groups if len(group) > 1), reverse=True)
