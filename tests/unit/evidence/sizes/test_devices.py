"""A smaller mesh: it is found only if nothing distinguishes the devices that go, wherever they are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import sdy
from sdy.evidence.sizes.devices import SmallerMesh, smaller_mesh
from sdy.program.program import Program

TEXT = """
sdy.mesh @m = <["x"=4, "y"=4]>
func.func @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
"""
GROUPS = "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]"
MOVED = """
sdy.mesh @m = <["x"=4, "y"=4]>
func.func @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y"}, {}]>})
    -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", "x"}, {}]>}) {
  %0 = stablehlo.tanh %a : tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
"""


def smaller(text: str, changes: Mapping[str, str] | None = None) -> SmallerMesh | None:
    """Return the mesh of two devices per axis, of a local program in which texts were replaced."""
    program = sdy.Program.from_text(text)
    partitioned = program.partition()
    local = str(partitioned)
    for old, new in (changes or {}).items():
        assert old in local
        local = local.replace(old, new)
    return smaller_mesh(program.module, Program.from_text(local).module, partitioned.boundary, 2)


def test_groups_of_whole_axes_become_smaller() -> None:
    found = smaller(TEXT)
    assert found is not None
    assert (found.before, found.after) == (16, 4)
    assert list(found.groups.values()) == [((0, 1), (2, 3))]


def test_devices_that_are_too_many_to_list_all_stay() -> None:
    huge = (
        MOVED.replace(', "y"=4', "").replace('"x"=4', '"x"=1000000007').replace('"x", "y"', "").replace('"y", "x"', "")
    )
    assert smaller(huge) is None


@pytest.mark.parametrize(
    "groups",
    [
        "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 15, 14]]",  # another order
        "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 14, 15], [12, 13, 10, 11]]",  # devices of two rows
    ],
)
def test_a_fault_among_the_devices_that_go_keeps_all_devices(groups: str) -> None:
    assert smaller(TEXT, {GROUPS: groups}) is None


def test_a_permutation_that_exchanges_axes_becomes_smaller() -> None:
    found = smaller(MOVED)
    assert found is not None
    assert [sorted(pairs) for pairs in found.groups.values()] in (
        [[(1, 2), (2, 1)]],
        [[(0, 0), (1, 2), (2, 1), (3, 3)]],
    )


def test_a_wrong_transfer_among_the_devices_that_go_keeps_all_devices() -> None:
    assert smaller(MOVED, {"[11, 14]": "[11, 11]", "[14, 11]": "[14, 14]"}) is None
