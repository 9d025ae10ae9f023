"""The programs on which partitioners are known to fail: their values, the bytes that they send, or their errors."""

from __future__ import annotations

import pytest
from support.known_bugs import PAGE, KnownBug, known_bugs, link_to

import sdy
from sdy.cost.statistics import statistics_of

BUGS = known_bugs()
WITHOUT_KERNEL = ("custom_rule", "unknown_custom_call")


def test_the_corpus_is_large_and_reported() -> None:
    assert len(BUGS) >= 50
    assert len({report for bug in BUGS for report in bug.reports}) >= 50
    text = PAGE.read_text()
    assert [bug.name for bug in BUGS if f"known_bugs/{bug.name}.mlir" not in text] == []
    assert [report for bug in BUGS for report in bug.reports if link_to(report) not in text] == []


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_what_must_hold(bug: KnownBug) -> None:
    program = sdy.load(bug.path)
    if bug.error is not None:
        with pytest.raises(sdy.SdyError) as raised:
            program.partition()
        assert raised.value.diagnostics[0].code == bug.error
        return
    assert bug.most_bytes is not None
    assert statistics_of(program.partition().local).bytes_sent <= bug.most_bytes
    if bug.name in WITHOUT_KERNEL:
        return
    for seed in range(3):
        assert [each.problem for each in program.verify(seed=seed) if not each.agrees] == []
