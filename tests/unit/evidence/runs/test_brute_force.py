"""Local programs by brute force: they agree in exact numbers if, and only if, they are right for each start."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.execution.one_op import MESHES, is_right, is_the_same, placement
from support.random_ops.draft import region

from sdy.model.devices.placement import ProgramPlacement

SIZE = 8  # of a value, in shards of 4
PARTS = {"dynamic_update_slice": 2, "scatter": 1}  # sizes of an update
TABLE = """%t = stablehlo.constant dense<[0, 4]> : tensor<2xi32>
  %p = stablehlo.partition_id : tensor<ui32>
  %q = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
  %o = stablehlo.reshape %q : (tensor<1xi32>) -> tensor<i32>"""


def margins(op: str, margin: int, shift: int, last: int) -> str:
    """Return a program that updates a shard with margins, at a start that is clamped before it is shifted."""
    part = PARTS[op]
    size = SIZE // 2 + 2 * margin
    types = f"(tensor<{size}xi32>, tensor<{part}xi32>, tensor<i32>) -> tensor<{size}xi32>"
    update = f"stablehlo.dynamic_update_slice %padded, %u, %start : {types}"
    if op == "scatter":
        types = f"(tensor<{size}xi32>, tensor<i32>, tensor<{part}xi32>) -> tensor<{size}xi32>"
        update = scatter("%padded, %start, %u", types)
    clamped = "%n = stablehlo.clamp %zero, %i, %last : tensor<i32>" if op != "scatter" else ""
    return f"""func.func @main(%x: tensor<{SIZE // 2}xi32>, %u: tensor<{part}xi32>, %i: tensor<i32>) -> tensor<4xi32> {{
  {TABLE}
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<{last}> : tensor<i32>
  %shift = stablehlo.constant dense<{shift}> : tensor<i32>
  %padded = stablehlo.pad %x, %zero, low = [{margin}], high = [{margin}], interior = [0]
      : (tensor<4xi32>, tensor<i32>) -> tensor<{size}xi32>
  {clamped}
  %own = stablehlo.subtract {"%i" if op == "scatter" else "%n"}, %o : tensor<i32>
  %start = stablehlo.add %own, %shift : tensor<i32>
  %new = {update}
  %r = stablehlo.slice %new [{margin}:{margin + 4}] : (tensor<{size}xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}}"""


def scatter(operands: str, types: str) -> str:
    numbers = "update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 0"
    attributes = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>"
    body = region("i32", "stablehlo.add %a, %b")
    return f'"stablehlo.scatter"({operands}) <{{{attributes}}}> {body} : {types}'


def whole_update(op: str) -> str:
    part, value = PARTS[op], f"tensor<{SIZE}xi32>"
    update = f"stablehlo.dynamic_update_slice %x, %u, %i : ({value}, tensor<{part}xi32>, tensor<i32>) -> {value}"
    if op == "scatter":
        update = scatter("%x, %i, %u", f"({value}, tensor<i32>, tensor<{part}xi32>) -> {value}")
    arguments = f"%x: {value}, %u: tensor<{part}xi32>, %i: tensor<i32>"
    return f"func.func @main({arguments}) -> {value} {{\n  %r = {update}\n  return %r : {value}\n}}"


@pytest.mark.parametrize("op", ["dynamic_update_slice", "scatter"])
def test_updates_in_margins_agree_if_they_are_right(op: str) -> None:
    """Try margins, shifts and bounds, most of them wrong: what agrees in exact numbers agrees with every start."""
    mesh = MESHES[0]
    places = placement((SIZE,), (("x",),), mesh), placement((PARTS[op],), ((),), mesh), placement((), (), mesh)
    boundary = ProgramPlacement(mesh, places, places[:1])
    whole = whole_update(op)
    starts = [np.array(start, np.int32) for start in range(-6, SIZE + 6)]
    value, part = np.arange(10, 10 + SIZE, dtype=np.int32), np.array([1, 2], np.int32)[: PARTS[op]]
    found: list[bool] = []
    for margin, shift, last in product(range(4), range(-1, 4), range(4, 8) if op != "scatter" else (0,)):
        local = margins(op, margin, shift, last)
        found.append(all(is_right(local, whole, boundary, [value, part, start]) for start in starts))
        assert is_the_same(local, whole, boundary) == found[-1], (margin, shift, last)
    assert {*found} == {True, False}


MASKED = """func.func @main(%x: tensor<4xi32>, %i: tensor<1xi32>) -> tensor<i32> {{
  {table}
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<{last}> : tensor<i32>
  %shift = stablehlo.constant dense<{shift}> : tensor<i32>
  %low = stablehlo.constant dense<{low}> : tensor<i32>
  %high = stablehlo.constant dense<{high}> : tensor<i32>
  %n = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>
  %c = stablehlo.clamp %zero, %n, %last : tensor<i32>
  %d = stablehlo.subtract %c, %o : tensor<i32>
  %own = stablehlo.add %d, %shift : tensor<i32>
  %part = stablehlo.dynamic_slice %x, %own, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
  %element = stablehlo.reshape %part : (tensor<1xi32>) -> tensor<i32>
  %above = stablehlo.compare GE, %own, %low : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %below = stablehlo.compare LE, %own, %high : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %mask = stablehlo.and %above, %below : tensor<i1>
  %kept = stablehlo.select %mask, %element, %zero : tensor<i1>, tensor<i32>
  %r = "stablehlo.all_reduce"(%kept) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}}> {body} : (tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}}"""
TAKEN = """func.func @main(%x: tensor<8xi32>, %i: tensor<1xi32>) -> tensor<i32> {
  %n = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>
  %part = stablehlo.dynamic_slice %x, %n, sizes = [1] : (tensor<8xi32>, tensor<i32>) -> tensor<1xi32>
  %r = stablehlo.reshape %part : (tensor<1xi32>) -> tensor<i32>
  return %r : tensor<i32>
}"""


def test_masked_elements_agree_if_they_are_right() -> None:
    """Try bounds of clamps and masks, most of them wrong: what agrees in exact numbers agrees with every start."""
    mesh = MESHES[0]
    places = placement((SIZE,), (("x",),), mesh), placement((1,), ((),), mesh)
    boundary = ProgramPlacement(mesh, places, (placement((), (), mesh),))
    value = np.arange(10, 10 + SIZE, dtype=np.int32)
    body, found = region("i32", "stablehlo.add %a, %b"), list[bool]()
    for last, shift, low, high in product((6, 7, 8), (-1, 0, 1), (-1, 0, 1), (2, 3, 4)):
        local = MASKED.format(table=TABLE, last=last, shift=shift, low=low, high=high, body=body)
        starts = (np.array([start], np.int32) for start in range(-3, SIZE + 3))
        found.append(all(is_right(local, TAKEN, boundary, [value, start]) for start in starts))
        assert is_the_same(local, TAKEN, boundary) == found[-1], (last, shift, low, high)
    assert {*found} == {True, False}
