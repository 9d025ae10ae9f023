"""docs/measured.md: how far to trust a predicted time, by machine and kind of program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from support.measured.errors import error_groups, fitting, halves, ordered_pairs, summary
from support.measured.pricing import Priced

TEMPLATE = Path(__file__).with_name("page.md")


def written_page(found: Sequence[Priced], missing: Mapping[str, int]) -> str:
    """Return the page; `missing` counts the rows without a time by the reason."""
    rows = [
        f"| {name} | {count} | {middle:+.0%} | {size:.0%} | {most:.0%} | {_halves_text(group)} |"
        for name, group in error_groups(found)
        for count, middle, size, most in [summary(group)]
    ]
    right, pairs = ordered_pairs(found)
    reasons = "; ".join(f"{count} ({reason})" for reason, count in missing.items()) or "none"
    text = TEMPLATE.read_text(encoding="utf-8")
    steps, fits, nearly = fitting(found)
    numbers = {"right": right, "pairs": pairs, "steps": steps, "fits": fits, "nearly": nearly}
    return text.format(rows="\n".join(rows), missing=reasons, **numbers)


def _halves_text(group: Sequence[Priced]) -> str:
    found = halves(group)
    return "" if found is None else f"{found[0]:+.0%}, {found[1]:+.0%}"
