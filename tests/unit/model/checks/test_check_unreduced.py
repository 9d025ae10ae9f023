"""Checks of the change of unreduced axes by an op."""

from __future__ import annotations

import pytest
from support.model.notation import mesh, sharding

from sdy.model.checks.check_sharding import check_unreduced_transition
from sdy.model.sharding import ReductionKind

MESHES = {"m": mesh('<["a"=2, "b"=4, "c"=2]>')}
SUM, MAX = ReductionKind.SUM, ReductionKind.MAX


@pytest.mark.parametrize(
    ("before", "after", "introduced_by", "removed_by", "code"),
    [
        ("[]", "[]", None, None, None),
        ("[]", '[], unreduced={"a"}', SUM, None, None),
        ("[]", '[], unreduced={"a"}', None, None, "SDY-D244"),
        ("[]", '[], unreduced=max{"a"}', SUM, None, "SDY-D245"),
        ('[], unreduced=max{"a"}', "[]", None, MAX, None),
        ('[], unreduced=max{"a"}', "[]", None, SUM, "SDY-D245"),
        ('[], unreduced=max{"a"}', "[]", None, None, "SDY-D244"),
        ('[], unreduced=max{"a"}', '[], unreduced=max{"a"}', None, None, None),
        ('[], unreduced=max{"a"}', '[], unreduced={"a"}', None, None, "SDY-D246"),
        ('[], unreduced={"b"}', '[], unreduced={"b":(1)2}', None, SUM, None),
        ('[], unreduced={"b"}', '[], unreduced={"b":(1)2}', None, None, "SDY-D244"),
        ('[], unreduced=max{"b"}', '[], unreduced={"b":(1)2}', None, MAX, "SDY-D246"),
    ],
)
def test_check_unreduced_transition(
    before: str, after: str, introduced_by: ReductionKind | None, removed_by: ReductionKind | None, code: str | None
) -> None:
    problem = check_unreduced_transition(
        [sharding(before)], [sharding(after)], MESHES, introduced_by=introduced_by, removed_by=removed_by
    )
    assert (problem and problem.code) == code


def test_unreduced_axes_of_all_operands_are_joined() -> None:
    operands = [sharding('[], unreduced={"a"}'), sharding('[], unreduced={"b":(1)2}')]
    result = sharding('[], unreduced={"a", "b"}')
    problem = check_unreduced_transition(operands, [result], MESHES, introduced_by=None, removed_by=None)
    assert problem is not None
    assert '"b":(2)2 become unreduced' in problem.message


def test_different_meshes_are_not_compared() -> None:
    meshes = {**MESHES, "n": mesh('<["a"=2]>')}
    other = sharding('[], unreduced={"a"}')
    before = type(other)("n", ())
    assert check_unreduced_transition([before], [other], meshes, introduced_by=None, removed_by=None) is None
