"""Checks of the result shardings of collectives."""

from __future__ import annotations

import pytest
from support.model.notation import axes_per_dim, mesh, params, refs, sharding

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.grammar.parse import parse_sharding
from sdy.model.axis import AxisRef
from sdy.model.checks.check_collective import (
    check_all_gather,
    check_all_reduce,
    check_all_to_all,
    check_appended_axes,
    check_collective_permute,
    check_replicated_to_unreduced,
    check_sharded_to_unreduced,
    gathered,
)

MESH = mesh('<["a"=2, "b"=2, "c"=4, "u"=24]>')


def code(problem: Diagnostic | None) -> str | None:
    return None if problem is None else problem.code


@pytest.mark.parametrize(
    ("axes", "gathering", "left"),
    [
        ('{"a", "b"}', '{"b"}', '{"a"}'),
        ('{"a", "b"}', '{"a", "b"}', "{}"),
        ('{"a", "u"}', '{"u":(6)4}', '{"a", "u":(1)6}'),
        ('{"u"}', '{"u":(2)3, "u":(6)4}', '{"u":(1)2}'),
        ('{"u":(2)6}', '{"u":(4)3}', '{"u":(2)2}'),
        ('{"a"}', "{}", '{"a"}'),
    ],
)
def test_gathering_takes_the_minor_end(axes: str, gathering: str, left: str) -> None:
    assert gathered(refs(axes), refs(gathering), MESH) == refs(left)


@pytest.mark.parametrize(
    ("axes", "gathering", "misfit"),
    [('{"a", "b"}', '{"a"}', '"a"'), ('{"u"}', '{"u":(1)2}', '"u":(1)2'), ("{}", '{"c"}', '"c"')],
)
def test_gathering_returns_the_axis_that_does_not_fit(axes: str, gathering: str, misfit: str) -> None:
    found = gathered(refs(axes), refs(gathering), MESH)
    assert isinstance(found, AxisRef)
    assert str(found) == misfit


@pytest.mark.parametrize(
    ("operand", "axes", "out", "expected"),
    [
        ('[{"a", "b"}, {"c"}]', '[{"b"}, {}]', '[{"a", ?}p1, {"c"}]', None),
        ('[{"a", "b"}, {"c"}]', '[{"b"}]', '[{"a"}, {"c"}]', "SDY-D211"),
        ('[{"a", "b"}, {"c"}]', '[{"a"}, {}]', '[{"b"}, {"c"}]', "SDY-D212"),
        ('[{"a", "b"}, {"c"}]', '[{"b"}, {}]', '[{"a"}, {}]', "SDY-D213"),
        ('[{"a", "b"}, {"c"}]', '[{"b"}, {"b"}]', '[{"a"}, {"c"}]', "SDY-S202"),
        ('[{"a", "b"}, {"c"}]', '[{"x"}, {}]', '[{"a"}, {"c"}]', "SDY-S201"),
        ('[{"u"}, {}]', '[{"u":(1)2, "u":(2)3}, {}]', "[{}, {}]", "SDY-S203"),
    ],
)
def test_all_gather(operand: str, axes: str, out: str, expected: str | None) -> None:
    assert code(check_all_gather(sharding(operand), sharding(out), axes_per_dim(axes), MESH)) == expected


@pytest.mark.parametrize(
    ("operand", "axes", "out", "expected"),
    [
        ('[{"a"}, {}]', '[{"b"}, {"c"}]', '[{"a", "b"}, {"c"}]', None),
        ('[{"u":(1)2}, {}]', '[{"u":(2)3}, {}]', '[{"u":(1)6}, {}]', None),
        ('[{"u":(1)2}, {}]', '[{"u":(2)12}, {}]', '[{"u"}, {}]', None),
        ('[{"a"}, {}]', '[{"b"}, {}]', '[{"b", "a"}, {}]', "SDY-D213"),
    ],
)
def test_all_slice_and_reduce_scatter(operand: str, axes: str, out: str, expected: str | None) -> None:
    assert code(check_appended_axes(sharding(operand), sharding(out), axes_per_dim(axes), MESH)) == expected


@pytest.mark.parametrize(
    ("operand", "moves", "out", "expected"),
    [
        ('[{"a"}, {}, {"b"}]', '[{"a"}: 0->1]', '[{}, {"a"}, {"b"}]', None),
        ('[{"a"}, {}, {"b"}, {}]', '[{"a"}: 0->1, {"b"}: 2->3]', '[{}, {"a"}, {}, {"b"}]', None),
        ('[{"u"}, {}]', '[{"u":(6)4}: 0->1]', '[{"u":(1)6}, {"u":(6)4}]', None),
        ('[{"a"}, {}]', "[]", '[{"a"}, {}]', "SDY-D221"),
        ('[{"a"}, {}]', '[{"x"}: 0->1]', '[{}, {"a"}]', "SDY-S201"),
        ('[{"a"}, {}]', '[{"a"}: 2->1]', '[{}, {"a"}]', "SDY-D222"),
        ('[{"a"}, {}]', '[{"a"}: 0->-1]', '[{}, {"a"}]', "SDY-D222"),
        ('[{"a"}, {}]', '[{"a"}: 0->0]', '[{"a"}, {}]', "SDY-D223"),
        ('[{"a"}, {}, {"b"}]', '[{"a"}: 0->1, {"b"}: 2->1]', '[{}, {"a", "b"}, {}]', "SDY-D223"),
        ('[{"a"}, {}, {"b"}, {}]', '[{"b"}: 2->3, {"a"}: 0->1]', '[{}, {"a"}, {}, {"b"}]', "SDY-D224"),
        ('[{"a"}, {}]', '[{"b"}: 0->1]', '[{"a"}, {"b"}]', "SDY-D212"),
        ('[{"a"}, {}]', '[{"a"}: 0->1]', '[{"a"}, {"a"}]', "SDY-D213"),
        ('[{"a"}, {}]', '[{"a"}: 0->1]', "[{}, {}]", "SDY-D213"),
        ('[{"a"}, {}, {"b"}]', '[{"a"}: 0->1]', '[{}, {"a"}, {}]', "SDY-D213"),
    ],
)
def test_all_to_all(operand: str, moves: str, out: str, expected: str | None) -> None:
    assert code(check_all_to_all(sharding(operand), sharding(out), params(moves), MESH)) == expected


@pytest.mark.parametrize(
    ("operand", "out", "expected"),
    [
        ('[{"a"}, {"c"}]', '[{"b"}, {"c":(1)2, "a"}]', None),
        ('[{"a"}, {}]', '[{"c"}, {}]', "SDY-D233"),
    ],
)
def test_collective_permute(operand: str, out: str, expected: str | None) -> None:
    assert code(check_collective_permute(sharding(operand), sharding(out), MESH, MESH)) == expected


def test_collective_permute_between_meshes() -> None:
    turned = mesh('<["a"=2], device_ids=[1, 0]>')
    plain, other = mesh('<["a"=2]>'), mesh('<["b"=2]>')
    on_n = parse_sharding('<@n, [{"a"}]>')
    here = sharding('[{"a"}]')
    assert check_collective_permute(here, on_n, plain, turned) is None
    assert code(check_collective_permute(here, on_n, plain, plain)) == "SDY-D232"
    assert code(check_collective_permute(here, on_n, plain, other)) == "SDY-D231"


@pytest.mark.parametrize(
    ("operand", "axes", "out", "expected"),
    [
        ('[{"a"}], unreduced={"b"}', '{"b"}', '[{"a"}]', None),
        ('[{"a"}], unreduced={"b"}', '{"b", "c"}', '[{"a"}], replicated={"c"}', None),
        ('[{"a"}]', '{"b"}', '[{"c"}]', "SDY-D241"),
        ('[{"a"}]', '{"c", "b"}', '[{"a"}]', "SDY-S204"),
        ('[{"a"}]', '{"a"}', '[{"a"}]', "SDY-D242"),
        ('[{"a"}], replicated={"b"}', '{"b"}', '[{"a"}]', "SDY-D242"),
        ('[{"a"}]', '{"u":(1)4}', '[{"a"}], unreduced={"u":(2)3}', "SDY-D243"),
    ],
)
def test_all_reduce(operand: str, axes: str, out: str, expected: str | None) -> None:
    assert code(check_all_reduce(sharding(operand), sharding(out), refs(axes), MESH)) == expected


@pytest.mark.parametrize(
    ("operand", "axes", "out", "expected"),
    [
        ('[{"a", "b"}, {"c"}]', '[{"b"}, {"c"}]', '[{"a"}, {}], unreduced={"b", "c"}', None),
        ('[{"u"}], unreduced={"u":(1)2}', '[{"u":(2)12}]', '[{"u":(1)2}], unreduced={"u"}', None),
        ('[{"a"}]', '[{"a"}]', '[{}], unreduced=max{"a"}', "SDY-D251"),
        ('[{"a"}]', '[{"b"}]', '[{"a"}], unreduced={"b"}', "SDY-D212"),
        ('[{"a"}]', '[{"a"}]', "[{}]", "SDY-D252"),
        ('[{"a"}], unreduced={"b"}', '[{"a"}]', '[{}], unreduced={"a"}', "SDY-D252"),
    ],
)
def test_sharded_to_unreduced(operand: str, axes: str, out: str, expected: str | None) -> None:
    problem = check_sharded_to_unreduced(sharding(operand), sharding(out), axes_per_dim(axes), MESH)
    assert code(problem) == expected


@pytest.mark.parametrize(
    ("operand", "axes", "out", "expected"),
    [
        ('[{"a"}], unreduced={"c"}', '{"b"}', '[{"a"}], unreduced={"b", "c"}', None),
        ('[{"a"}], replicated={"b"}', '{"b"}', '[{"a"}], unreduced={"b"}', None),
        ('[{"a"}]', '{"b"}', '[{"a"}], unreduced=min{"b"}', "SDY-D251"),
        ('[{"a"}]', '{"b"}', '[{"a", ?}], unreduced={"b"}', "SDY-D253"),
        ('[{"a"}]', "{}", '[{"a"}]', "SDY-D254"),
        ('[{"a"}]', '{"c", "b"}', '[{"a"}], unreduced={"b", "c"}', "SDY-S204"),
        ('[{"a"}]', '{"a"}', '[{"a"}], unreduced={"a"}', "SDY-D255"),
        ('[{}], unreduced={"b"}', '{"b"}', '[{}], unreduced={"b"}', "SDY-D255"),
        ('[{"a"}]', '{"b"}', '[{"a"}], unreduced={"c"}', "SDY-D252"),
    ],
)
def test_replicated_to_unreduced(operand: str, axes: str, out: str, expected: str | None) -> None:
    problem = check_replicated_to_unreduced(sharding(operand), sharding(out), refs(axes), MESH)
    assert code(problem) == expected
