"""The order of mesh names, sets of meshes, and the names of functions that fragments become."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import IntegerAttr

from sdy.mpmd.dialect.attrs import UserOrigin, comes_before, in_mesh_order, is_cpu_mesh, split_memory_kind
from sdy.mpmd.dialect.ops import CALL_COUNTER, ui32
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.export.lower_to_fragment_calls import function_name, origins_name, split_counter
from sdy.mpmd.passes.tools.mesh_sets import MeshSet, intersection, preferred, union


def test_meshes_with_numbers_are_ordered_by_them() -> None:
    assert sorted(["m10", "m9", "other1"], key=in_mesh_order) == ["other1", "m9", "m10"]
    assert sorted(["b", "a2", "a10"], key=in_mesh_order) == ["a2", "a10", "b"]


def test_numbers_of_more_than_32_bits_are_text() -> None:
    assert comes_before("a2147483647", "a0b1") is False
    assert comes_before("a2147483648", "a3") is True


def test_a_name_carries_a_memory_kind() -> None:
    assert split_memory_kind("m1#pinned_host") == ("m1", "pinned_host")
    assert split_memory_kind("m1") == ("m1", None)
    assert is_cpu_mesh("m1/cpu")
    assert not is_cpu_mesh("cpu")


M1 = MeshSet({"m1": ["a"]})
BOTH = MeshSet({"m1": ["a"], "m2": ["b"]})


def shown(meshes: MeshSet | None) -> str:
    assert meshes is not None
    return str(meshes.attribute())


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (BOTH, MeshSet({"m2": ["c", "b"]}), MeshSet({"m2": ["b", "c"]})),
        (M1, MeshSet({"m2": ["b"]}), MeshSet()),
        (M1, None, M1),
        (None, BOTH, BOTH),
        (MeshSet({"m1": ["a"]}, ["w"]), MeshSet({"m2": ["b"]}), MeshSet({"m2": ["b", "w"]})),
        (M1, MeshSet({"m2": ["b"]}, ["w"]), MeshSet({"m1": ["a", "w"]})),
        (MeshSet({"m1": []}, ["v"]), MeshSet({"m2": []}, ["w"]), MeshSet({"m1": ["w"], "m2": ["v"]}, ["v", "w"])),
    ],
)
def test_an_intersection_unites_the_labels(first: MeshSet | None, second: MeshSet | None, expected: MeshSet) -> None:
    assert shown(intersection(first, second)) == shown(expected)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (MeshSet({"m1": []}), MeshSet({"m2": ["x"]}), MeshSet({"m1": [], "m2": ["x"]})),
        (BOTH, MeshSet({"m1": ["c"]}, ["w"]), MeshSet({"m1": ["a", "c"], "m2": ["b"]}, ["w"])),
        (None, MeshSet({"m1": ["c"]}, ["w"]), MeshSet({"m1": ["c"]})),
        (BOTH, None, BOTH),
    ],
)
def test_a_union_keeps_the_order(first: MeshSet | None, second: MeshSet | None, expected: MeshSet) -> None:
    assert shown(union(first, second)) == shown(expected)


def test_absent_sets_stay_absent() -> None:
    assert union(None, None) is None
    assert intersection(None, None) is None


def test_a_set_is_read_as_it_is_written() -> None:
    meshes = MeshSet({"m2": ["a", "b"], "m1": []}, ["w"])
    assert shown(MeshSet.read(meshes.attribute())) == shown(meshes)
    assert MeshSet.read(None) is None


@pytest.mark.parametrize(
    ("meshes", "names", "expected"),
    [
        (BOTH, (), "m1"),
        (BOTH, ("m2", "m3"), "m2"),
        (BOTH, ("m3",), "m1"),
        (MeshSet({"m1": ["broadcast_in"], "m2": []}), (), "m2"),
        (MeshSet({"m2": []}, ["w"]), ("m1",), "m1"),
        (MeshSet(), ("m1",), None),
    ],
)
def test_the_preferred_mesh(meshes: MeshSet, names: Sequence[str], expected: str | None) -> None:
    assert preferred(meshes, names) == expected


def test_a_counter_is_a_number_behind_the_last_underscore() -> None:
    assert split_counter("block_12") == ("block", 12)
    assert split_counter("block_1_2") == ("block_1", 2)
    assert split_counter("block_x") == ("block_x", None)
    assert split_counter("block12") == ("block12", None)
    assert split_counter("block_") == ("block_", None)


@pytest.mark.parametrize(
    ("origins", "expected"),
    [
        ([("f", 0)], "f"),
        ([("f_1", 0), ("f_3", 0), ("f_2", 0)], "f_1:3"),
        ([("f_1", 1), ("f_3", 1)], "f_3:1"),
        ([("f_1", 1), ("f_3", 0)], "f_1:3"),
        ([("g", 0), ("f_2", 0)], "f_2..."),
        ([("g", 0), ("g", 1), ("f_2", 0)], "g..."),
    ],
)
def test_origins_have_a_short_name(origins: Sequence[tuple[str, int]], expected: str) -> None:
    assert origins_name([UserOrigin(*origin) for origin in origins]) == expected


def fragment(*origins: tuple[str, int], stage: int | None = None, counter: int | None = None) -> FragmentOp:
    attributes = {} if counter is None else {CALL_COUNTER: IntegerAttr(counter, ui32)}
    return FragmentOp.make("m", [UserOrigin(*each) for each in origins], [], [], stage=stage, attributes=attributes)


@pytest.mark.parametrize(
    ("group", "is_forward_only", "expected"),
    [
        ([fragment(("f", 0), stage=1)], True, "p7_stage1.step"),
        ([fragment()], False, "p7_inferred.step"),
        ([fragment(("f", 0), ("g", 1))], False, "p7_f..._fwd_bwd.step"),
        ([fragment(("f", 2))], False, "p7_f_transpose2.step"),
        ([fragment(("f", 0), counter=4)], True, "p7_f_call4.step"),
        ([fragment(("f", 0), counter=each) for each in (0, 1, 2)], False, "p7_f_fwd_calls0to2.step"),
        ([fragment(("f", 1), counter=each) for each in (2, 1, 0)], False, "p7_f_bwd_calls2from0.step"),
        ([fragment(("f", 0), counter=each) for each in (0, 2)], True, "p7_f.step"),
        ([fragment(("f", 0), counter=0), fragment(("g", 0), counter=1)], True, "p7_f.step"),
        ([fragment(("f", 0), counter=0), fragment(("f", 0))], True, "p7_f.step"),
    ],
)
def test_a_group_of_equal_fragments_has_one_name(
    group: Sequence[FragmentOp], is_forward_only: bool, expected: str
) -> None:
    assert function_name(7, group, "jit_step", is_forward_only=is_forward_only) == expected


def test_a_long_name_is_cut() -> None:
    name = function_name(0, [fragment(("x" * 300, 0))], "main", is_forward_only=True)
    assert name == "p0_" + "x" * 192 + "<...>.main"
