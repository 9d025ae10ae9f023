"""Axes of one mesh on the axes of another one: each device holds the same shard."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdy.grammar.parse import parse_mesh
from sdy.model.axis import AxisRef, SubAxis
from sdy.model.devices.common_mesh import AxisTranslation, common_digits, translation
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh, MeshAxis


def translated(source: str, target: str, *refs: AxisRef) -> AxisTranslation:
    on, to = parse_mesh(source), parse_mesh(target)
    return translation(on, refs, to, common_digits([(to, ()), (on, refs)]))


def texts(axes: AxisTranslation, ref: AxisRef) -> list[str]:
    return [str(each) for each in axes.refs(ref)]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ('<["n"=8]>', '<["x"=4, "y"=2]>', {"n": ['"x"', '"y"']}),
        ('<["x"=4, "y"=2]>', '<["n"=8]>', {"x": ['"n":(1)4'], "y": ['"n":(4)2']}),
        ('<["a"=2, "b"=4]>', '<["x"=4, "y"=2]>', {"a": ['"x":(1)2'], "b": ['"x":(2)2', '"y"']}),
        ('<["a"=2, "b"=6]>', '<["x"=4, "y"=3]>', {"a": ['"x":(1)2'], "b": ['"x":(2)2', '"y"']}),
        ('<["one"=1, "n"=4]>', '<["x"=4]>', {"one": [], "n": ['"x"']}),
        # The devices along b are those along y.
        ('<["b"=2, "a"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>', '<["x"=4, "y"=2]>', {"a": ['"x"'], "b": ['"y"']}),
    ],
)
def test_axes_are_expressed_on_the_target(source: str, target: str, expected: dict[str, list[str]]) -> None:
    axes = translated(source, target)
    assert axes.target == parse_mesh(target)
    assert {axis.name: texts(axes, AxisRef(axis.name)) for axis in axes.source.axes} == expected


def test_a_sub_axis_is_expressed_on_the_target() -> None:
    ref = AxisRef("n", SubAxis(2, 2))
    assert texts(translated('<["n"=8]>', '<["x"=8]>', ref), ref) == ['"x":(2)2']


@pytest.mark.parametrize(
    ("source", "target", "expected", "refs"),
    [
        ('<["n"=4], device_ids=[3, 2, 1, 0]>', '<["x"=4]>', '<["x"=4], device_ids=[3, 2, 1, 0]>', ['"x"']),
        ('<["a"=2, "n"=3]>', '<["x"=3, "y"=2]>', '<["x"=3, "y"=2], device_ids=[0, 3, 1, 4, 2, 5]>', ['"x"']),
    ],
)
def test_devices_in_another_order_stay_in_it(source: str, target: str, expected: str, refs: list[str]) -> None:
    axes = translated(source, target)
    assert axes.target == parse_mesh(expected)
    assert texts(axes, AxisRef("n")) == refs


SIZES = [[(8,), (4, 2), (2, 4), (2, 2, 2)], [(12,), (3, 4), (4, 3), (2, 6), (6, 2), (2, 3, 2)], [(2, 3), (3, 2)]]


@st.composite
def mesh_pairs(draw: st.DrawFn) -> tuple[Mesh, Mesh]:
    """Draw two meshes of the same devices."""
    shapes = draw(st.sampled_from(SIZES))

    def mesh(name: str) -> Mesh:
        sizes = draw(st.sampled_from(shapes))
        ids = draw(st.just(()) | st.permutations(range(prod(sizes))).map(tuple))
        return Mesh(tuple(MeshAxis(f"{name}{index}", size) for index, size in enumerate(sizes)), ids)

    return mesh("a"), mesh("b")


@given(mesh_pairs())
def test_each_device_holds_the_same_shard_on_both_meshes(pair: tuple[Mesh, Mesh]) -> None:
    source, target = pair
    axes = translation(source, (), target, common_digits([(target, ()), (source, ())]))
    assert axes.target.axes == target.axes
    for axis in source.axes:
        ref = AxisRef(axis.name)
        assert shard_coordinates((ref,), source) == shard_coordinates(axes.refs(ref), axes.target)
