"""Checks of shardings against their mesh and their value."""

from __future__ import annotations

import pytest
from support.model.notation import mesh, sharding

from sdy.grammar.parse import parse_sharding
from sdy.model.checks.check_mesh import check_mesh, check_mesh_axis
from sdy.model.checks.check_sharding import check_per_value, check_sharding
from sdy.model.mesh import MeshAxis
from sdy.model.shape import Shapeless, ValueShape
from sdy.model.sharding import DimSharding, TensorSharding

MESH = mesh('<["a"=2, "b"=4, "u"=24]>')
ONE_DEVICE = mesh("<[], device_ids=[3]>")


def code(text: str, shape: ValueShape = (24, 24)) -> str | None:
    problem = check_sharding(sharding(text), shape, MESH, allow_uneven=True)
    return None if problem is None else problem.code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"a", "b"}, {?}p1]', None),
        ('[{"u":(1)2}, {"u":(4)6}], replicated={"a"}, unreduced={"b", "u":(2)2}', None),
        ('[{"u":(2)2, "u":(1)2}, {}]', None),  # minor first is allowed
        ('[{"u":(1)2}, {"u":(2)3}]', None),  # adjacent in different dims
        ('[{"u":(1)2, "a", "u":(2)3}, {}]', None),
        ('[{"a"}]', "SDY-S006"),
        ('[{}, {}, {"a"}]', "SDY-S006"),
        ("[{}p1, {}]", "SDY-S008"),
        ('[{"x"}, {}]', "SDY-S201"),
        ('[{}, {}], replicated={"x"}', "SDY-S201"),
        ('[{"a"}, {"a"}]', "SDY-S202"),
        ('[{"a"}, {}], unreduced={"a"}', "SDY-S202"),
        ('[{"u":(1)2, "u":(2)3}, {}]', "SDY-S203"),
        ('[{}, {}], replicated={"b", "a"}', "SDY-S204"),
        ('[{}, {}], unreduced={"u":(2)2, "u":(1)2}', "SDY-S204"),
        ('[{"u"}, {"u":(1)2}]', "SDY-S205"),
        ('[{"u":(0)2}, {}]', "SDY-S206"),
        ('[{"u":(1)1}, {}]', "SDY-S207"),
        ('[{"u":(1)5}, {}]', "SDY-S208"),
        ('[{"u":(4)12}, {}]', "SDY-S208"),
        ('[{"u":(1)24}, {}]', "SDY-S209"),
        ('[{"u":(1)4}, {"u":(2)6}]', "SDY-S210"),
    ],
)
def test_rules_of_axes(text: str, expected: str | None) -> None:
    assert code(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a"}, {"b", "a"}]', 'axis "a" is used twice, in dim 0 and in dim 1'),
        ('[{}, {"a", "a"}]', 'axis "a" is used twice in dim 1'),
        ('[{"a"}, {}], replicated={"a"}', 'axis "a" is used twice, in dim 0 and in the replicated axes'),
        ('[{}, {}], unreduced={"b", "b"}', 'axis "b" is used twice in the unreduced axes'),
    ],
)
def test_the_two_uses_of_an_axis_are_named(text: str, message: str) -> None:
    problem = check_sharding(sharding(text), (24, 24), MESH)
    assert problem is not None
    assert problem.message == message


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("[]", Shapeless.NOT_SHAPED, None),
        ("[{}]", Shapeless.NOT_SHAPED, "SDY-S004"),
        ('[], unreduced={"a"}', Shapeless.NOT_SHAPED, "SDY-S004"),
        ("[]", Shapeless.UNRANKED, "SDY-S005"),
        ("[]", Shapeless.TUPLE, "SDY-S003"),
        ("[]", Shapeless.NO_VALUE, None),
        ("[{}]", Shapeless.NO_VALUE, "SDY-S002"),
        ('[{"a"}]', (None,), None),
        ('[{"a"}]', (0,), None),
    ],
)
def test_rules_of_values(text: str, shape: ValueShape, expected: str | None) -> None:
    assert code(text, shape) == expected


def test_an_unknown_mesh() -> None:
    problem = check_sharding(sharding("[{}]"), (8,), None)
    assert problem is not None
    assert (problem.code, problem.message) == ("SDY-S001", "mesh @m is not defined")


def test_a_sharding_on_one_device_has_no_dims() -> None:
    for shape in ((8, 8), *Shapeless):
        assert check_sharding(sharding("[]"), shape, ONE_DEVICE) is None
    problem = check_sharding(sharding("[{}]"), (8,), ONE_DEVICE)
    assert problem is not None
    assert problem.code == "SDY-S002"


def test_divisibility_is_checked_by_default() -> None:
    uneven = sharding('[{"b"}]')
    problem = check_sharding(uneven, (6,), MESH)
    assert problem is not None
    assert (problem.code, problem.message) == ("SDY-S010", "dim 0 of size 6 is not divisible into 4 shards")
    assert check_sharding(uneven, (6,), MESH, allow_uneven=True) is None
    assert check_sharding(uneven, (None,), MESH) is None


def test_a_negative_priority_is_rejected() -> None:
    problem = check_sharding(TensorSharding("m", (DimSharding(priority=-1),)), (8,), MESH)
    assert problem is not None
    assert problem.code == "SDY-S007"


@pytest.mark.parametrize("text", ['[{"a"}]', '[{}], replicated={"a"}', '[{}], unreduced={"a"}'])
def test_manual_axes_are_not_used_inside(text: str) -> None:
    problem = check_sharding(sharding(text), (8,), MESH, frozenset({"a"}))
    assert problem is not None
    assert problem.code == "SDY-S014"
    assert check_sharding(sharding(text), (8,), MESH, frozenset({"b"})) is None


def test_the_hint_for_an_unknown_axis_lists_the_axes() -> None:
    problem = check_sharding(sharding('[{"x"}]'), (8,), MESH)
    assert problem is not None
    assert problem.hint == 'axes of the mesh: "a"=2, "b"=4, "u"=24'


def test_one_sharding_per_value() -> None:
    meshes = {"m": MESH, "one": ONE_DEVICE}
    shapes: list[ValueShape] = [(8,), (8,)]
    good, bad = sharding('[{"a"}]'), sharding('[{"x"}]')
    assert check_per_value([good, good], shapes, meshes) is None
    found = check_per_value([good, bad], shapes, meshes)
    assert found is not None
    assert (found[0], found[1].code) == (1, "SDY-S201")
    found = check_per_value([bad], shapes[:1], meshes)
    assert found is not None
    assert found[0] is None  # the only one needs no index
    found = check_per_value([good], shapes, meshes)
    assert found is not None
    assert (found[0], found[1].code) == (None, "SDY-S022")


def test_an_op_without_results_can_be_assigned_to_a_device() -> None:
    meshes = {"m": MESH, "one": ONE_DEVICE}
    assert check_per_value([], [], meshes) is None
    assert check_per_value([parse_sharding("<@one, []>")], [], meshes) is None
    assert check_per_value([sharding("[]")], [], meshes) is None
    for text, expected in ((sharding("[{}]"), "SDY-S002"), (sharding('[{"a"}]'), "SDY-S022")):
        found = check_per_value([text], [], meshes)
        assert found is not None
        assert found[1].code == expected
    found = check_per_value([parse_sharding("<@none, []>")], [], meshes)
    assert found is not None
    assert found[1].code == "SDY-S001"


@pytest.mark.parametrize(
    ("axes", "ids", "expected"),
    [
        ((), (), None),
        ((), (0,), None),
        ((), (0, 1), "SDY-S103"),
        ((2, 2), (), None),
        ((2, 2), (3, 1, 2, 0), None),
        ((2, 2), (0, 1, 2), "SDY-S105"),
        ((2, 2), (0, 1, 2, 2), "SDY-S106"),
        ((2, 2), (1, 2, 3, 4), "SDY-S106"),
        ((2, 2), (-1, 0, 0), "SDY-S102"),  # before everything else
    ],
)
def test_rules_of_meshes(axes: tuple[int, ...], ids: tuple[int, ...], expected: str | None) -> None:
    problem = check_mesh([MeshAxis(f"x{place}", size) for place, size in enumerate(axes)], ids)
    assert (problem and problem.code) == expected


def test_mesh_axes_have_distinct_names_and_positive_sizes() -> None:
    problem = check_mesh([MeshAxis("x", 2), MeshAxis("y", 2), MeshAxis("x", 3)], ())
    assert problem is not None
    assert problem.code == "SDY-S104"
    problem = check_mesh_axis(MeshAxis("x", 0))
    assert problem is not None
    assert problem.code == "SDY-S101"
    assert check_mesh_axis(MeshAxis("x", 1)) is None
