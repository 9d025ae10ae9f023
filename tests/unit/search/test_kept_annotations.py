"""The search keeps the annotations of the program, whatever it can express itself."""

from __future__ import annotations

import pytest

import sdy
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.shardings import argument_sharding

PROGRAM = """
sdy.mesh @mesh = <[MESH]>
func.func @main(%x: tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, X>},
    %w: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, W>}) -> tensor<512x4096xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>
  return %0 : tensor<512x4096xf32>
}
"""


def planned(axes: str, x: str, w: str) -> list[list[list[str]]]:
    """Return the axes per argument and dim in the plan of a program; `axes` are names and sizes, such as a2b4."""
    mesh = ", ".join(f'"{axis}"={size}' for axis, size in zip(axes[::2], axes[1::2], strict=True))
    text = PROGRAM.replace("MESH", mesh).replace("@mesh, X", f"@mesh, {x}").replace("@mesh, W", f"@mesh, {w}")
    plan = sdy.Program.from_text(text).search(time_limit=20)
    main = main_function(plan.program.module)
    found = [argument_sharding(main, index) for index in range(2)]
    return [[[axis.name for axis in dim.axes] for dim in each.dims] for each in found if each is not None]


@pytest.mark.parametrize("axes", ["a2b2", "a2b2c2d2e2"])
def test_axes_in_another_order_than_in_the_mesh(axes: str) -> None:
    x, w = planned(axes, '[{"b", "a"}, {}]', '[{}, {"b"}]')
    assert x == [["b", "a"], []]
    assert w == [[], ["b"]]


def test_axes_in_contradicting_orders() -> None:
    x, w = planned("a2b2", '[{"b", "a"}, {}]', '[{}, {"a", "b"}]')
    assert (x, w) == ([["b", "a"], []], [[], ["a", "b"]])


def test_uneven_shards() -> None:
    x, _ = planned("a3b2", '[{"a"}, {}]', "[{?}, {?}]")
    assert x == [["a"], []]


def test_open_dims_begin_with_their_axes() -> None:
    x, w = planned("a2b2c2d2e2", '[{"e", "a"}, {"c", ?}]', '[{}, {"b"}]')
    assert x[0] == ["e", "a"]
    assert x[1][:1] == ["c"]
    assert w == [[], ["b"]]
