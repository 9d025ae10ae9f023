"""docs/measured.md: how far to trust a predicted time, by machine and kind of program."""

from __future__ import annotations

from collections.abc import Sequence

from support.measured.errors import error_groups, ordered_pairs, summary
from support.measured.pricing import Priced


def written_page(found: Sequence[Priced], missing: int) -> str:
    """Return the page."""
    rows = [
        f"| {name} | {count} | {middle:+.0%} | {size:.0%} | {most:.0%} |"
        for name, group in error_groups(found)
        for count, middle, size, most in [summary(group)]
    ]
    right, pairs = ordered_pairs(found)
    return "\n".join([HEAD, *rows, "", TAIL.format(right=right, pairs=pairs, missing=missing), ""])


HEAD = """# Predicted and measured times

| | rows | median error | median size | 90 % within |
|---|---|---|---|---|"""
TAIL = """Of {pairs} pairs of steps that differ in sharding alone, the order of {right} is right; {missing} rows have no
program."""
