"""The points of a sweep: which ones are best, the table, and the page with its picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from sdy.report.html.sweep_page import sweep_page, sweep_picture
from sdy.report.sweep_points import Origin, Sweep, SweepCost, SweepPoint


def point(machine: str, mesh: str, seconds: float, peak: int, origin: Origin = Origin.SEARCHED) -> SweepPoint:
    return SweepPoint(machine, mesh, origin, SweepCost(seconds, seconds / 2, 1e6, peak, 1e9, 0.0))


FAST = point("a", "x=8", 1e-3, 500_000_000)
SMALL = point("a", "x=4,y=2", 4e-3, 50_000_000)
WORSE = point("a", "x=2,y=4", 5e-3, 60_000_000, Origin.ANNOTATED)
TOO_LARGE = point("a", "x=1,y=8", 1e-4, 2_000_000_000, Origin.ANNOTATED)
OTHER = point("b<", "x=8", 9e-3, 900_000_000)
FAILED = SweepPoint("a", "x=8,y=1", Origin.ANNOTATED, None, "an op is unsupported")
SWEEP = Sweep([WORSE, FAILED, TOO_LARGE, SMALL, OTHER, FAST])


def test_best_points_fit_and_no_other_is_faster_and_smaller() -> None:
    assert SWEEP.pareto == [SMALL, OTHER, FAST]
    assert SWEEP.ranked() == [FAST, SMALL, WORSE, TOO_LARGE, FAILED, OTHER]
    assert Sweep([FAST, FAST]).pareto == [FAST, FAST]


def test_the_table_marks_points_and_says_why_one_failed() -> None:
    lines = SWEEP.report().splitlines()
    (fast,) = [line for line in lines if "1 ms" in line and "500,000,000" in line]
    assert "*" in fast
    assert any("100 µs" in line and "too large" in line for line in lines)
    assert any(line.endswith("an op is unsupported") for line in lines)
    assert max(map(len, lines)) <= 80
    assert "interrupted" in Sweep([FAST], is_complete=False).report()


def test_the_data_has_all_points() -> None:
    points: Any = SWEEP.to_json()["points"]
    assert [each["is_pareto"] for each in points] == [True, True, False, False, False, True]
    assert points[4]["problem"] == "an op is unsupported"
    assert points[0]["cost"]["fits"]


def test_the_picture_has_a_circle_for_each_point_with_a_cost() -> None:
    root = ET.fromstring(sweep_picture(SWEEP))
    titled = [each for each in root if each.tag == "circle" and len(each)]
    assert len(titled) == 5
    places = {each[0].text: (float(each.attrib["cx"]), float(each.attrib["cy"])) for each in titled}
    fast, small = (
        next(place for text, place in places.items() if text is not None and f"a, {mesh}, " in text)
        for mesh in ("x=8", "x=4,y=2")
    )
    assert fast[0] > small[0]  # more memory is further to the right
    assert fast[1] > small[1]  # less time is further down
    assert sum(each.tag == "polyline" for each in root) == 2


def test_the_page_escapes_names_and_needs_nothing_else() -> None:
    text = sweep_page(SWEEP, "<script>")
    assert "<h1>&lt;script&gt;" in text
    assert "b&lt;" in text
    assert "http" not in text
    assert text.count("<tr") == 7


@pytest.mark.parametrize("points", [[], [FAILED]])
def test_a_sweep_without_costs_has_no_picture(points: list[SweepPoint]) -> None:
    assert "No point could be priced" in sweep_picture(Sweep(points))
