"""Lookups in shards are proved if masks select what a device has, and no fault in them is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.execution.one_op import MESHES, Axes, is_proved, is_right, placement, program

from sdy.interpreter.arrays.element_types import Array
from sdy.model.devices.placement import ProgramPlacement

MESH = MESHES[0]
TABLE = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
INDICES = np.array([3, -1, 0, 9, 2], np.int32)  # two are out of range
SHARDED: Axes = (("x",), ())
WHOLE: Axes = ((), ())

START = """%p = stablehlo.partition_id : tensor<ui32>
  %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
  %e = stablehlo.constant dense<2> : tensor<i32>
  %s = stablehlo.multiply %q, %e : tensor<i32>
  %first = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<5xi32>"""
SUM = """"stablehlo.all_reduce"({}) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }}) : (tensor<5x3xf32>) -> tensor<5x3xf32>"""
GATHER = """"stablehlo.gather"(%arg0, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}}>
    : (tensor<{}x3xf32>, tensor<5xi32>) -> tensor<5x3xf32>"""
LOOKUP = f"""{START}
  %low = stablehlo.constant dense<0> : tensor<i32>
  %high = stablehlo.constant dense<3> : tensor<i32>
  %i = stablehlo.clamp %low, %arg1, %high : (tensor<i32>, tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %t = stablehlo.add %s, %o : tensor<i32>
  %last = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<i32>) -> tensor<5xi32>
  %j = stablehlo.subtract %i, %first : tensor<5xi32>
  %g = {GATHER.format("%j", 2)}
  %m0 = stablehlo.compare GE, %i, %first : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
  %m1 = stablehlo.compare LE, %i, %last : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
  %m2 = stablehlo.and %m0, %m1 : tensor<5xi1>
  %m = stablehlo.broadcast_in_dim %m2, dims = [0] : (tensor<5xi1>) -> tensor<5x3xi1>
  %z = stablehlo.constant dense<0.0> : tensor<5x3xf32>
  %w = stablehlo.select %m, %g, %z : tensor<5x3xi1>, tensor<5x3xf32>
  %r = {SUM.format("%w")}"""
SWAPPED = """%h = "stablehlo.collective_permute"(%g) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %m0 ="""
NARROWED = """%n0 = stablehlo.compare GE, %i, %last : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
  %n = stablehlo.and %n0, %m2 : tensor<5xi1>
  %m = """
SCATTER = """%c = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<{0}x3xf32>
  %r = "stablehlo.scatter"(%z, {1}, %arg1) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }}) : (tensor<{0}x3xf32>, tensor<5xi32>, tensor<5x3xf32>) -> tensor<{0}x3xf32>"""
LEFT_OUT = f"{START}\n  %j = stablehlo.subtract %arg0, %first : tensor<5xi32>\n  {SCATTER.format(2, '%j')}"
OF_ONE = f"""%p = stablehlo.partition_id : tensor<ui32>
  %q = stablehlo.constant dense<1> : tensor<ui32>
  %m = stablehlo.compare LT, %p, %q : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %z = stablehlo.constant dense<0.0> : tensor<5x3xf32>
  %w = stablehlo.select %m, %arg1, %z : tensor<i1>, tensor<5x3xf32>
  %d = stablehlo.dot_general %arg0, %arg2, contracting_dims = [1] x [0]
      : (tensor<5x2xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  %v = stablehlo.add %d, %w : tensor<5x3xf32>
  %r = {SUM.format("%v")}"""
OF_ALL = """%d = stablehlo.dot_general %arg0, %arg2, contracting_dims = [1] x [0]
      : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %r = stablehlo.add %d, %arg1 : tensor<5x3xf32>"""


class Case:
    """A global and a local program of ops on `%arg0`, ... that return `%r`, with arguments and their shardings."""

    def __init__(self, texts: tuple[str, str], inputs: Sequence[Array], axes: Sequence[Axes], result: Axes) -> None:
        shape = (4, 3) if result == SHARDED else (5, 3)
        places = [placement(array.shape, each, MESH) for array, each in zip(inputs, axes, strict=True)]
        self.inputs, self.boundary = inputs, ProgramPlacement(MESH, (*places,), (placement(shape, result, MESH),))
        self.whole, self.local = (
            program(
                text,
                [_type(each.shape, axes, each.dtype, is_local) for each, axes in zip(inputs, axes, strict=True)],
                _type(shape, result, np.dtype(np.float32), is_local),
            )
            for text, is_local in zip(texts, (False, True), strict=True)
        )


def _type(shape: Sequence[int], axes: Axes, dtype: np.dtype[np.generic], is_local: bool) -> str:
    sizes = [size // (1 + (is_local and bool(each))) for size, each in zip(shape, axes, strict=True)]
    return f"tensor<{'x'.join(map(str, sizes))}x{'f' if dtype.kind == 'f' else 'i'}32>"


UPDATES = np.arange(1, 16, dtype=np.float32).reshape(5, 3)
CASES = {
    "lookup": Case((f"%r = {GATHER.format('%arg1', 4)}", LOOKUP), [TABLE, INDICES], [SHARDED, ((),)], WHOLE),
    "scatter": Case((SCATTER.format(4, "%arg0"), LEFT_OUT), [INDICES, UPDATES], [((),), WHOLE], SHARDED),
    "sum": Case(
        (OF_ALL, OF_ONE),
        [np.arange(20, dtype=np.float32).reshape(5, 4), UPDATES, TABLE],
        [((), ("x",)), WHOLE, SHARDED],
        WHOLE,
    ),
}
FAULTS = [
    ("lookup", "dense<3> : tensor<i32>", "dense<2> : tensor<i32>"),
    ("lookup", "dense<1> : tensor<i32>", "dense<0> : tensor<i32>"),
    ("lookup", "compare GE, %i", "compare GE, %arg1"),
    ("lookup", "compare LE", "compare GE"),
    ("lookup", "compare GE, %i", "compare LE, %i"),
    ("lookup", "%m = ", NARROWED),
    ("lookup", "subtract %i, %first", "subtract %i, %last"),
    ("lookup", "gather\"(%arg0, %j)", "gather\"(%arg0, %i)"),
    ("lookup", "multiply %q, %e", "add %q, %e"),
    ("lookup", "select %m, %g, %z", "select %m, %z, %g"),
    ("lookup", "dense<0.0>", "dense<1.0>"),
    ("lookup", "all_reduce\"(%w)", "all_reduce\"(%g)"),
    ("lookup", "%m0 =", SWAPPED),
    ("scatter", "subtract %arg0, %first", "subtract %first, %arg0"),
    ("scatter", "multiply %q, %e", "multiply %e, %e"),
    ("scatter", "(%z, %j", "(%z, %arg0"),
    ("sum", "dense<1> : tensor<ui32>", "dense<2> : tensor<ui32>"),
    ("sum", "compare LT", "compare GT"),
    ("sum", "select %m, %arg1, %z", "select %m, %z, %z"),
    ("sum", "dense<0.0>", "dense<1.0>"),
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_lookups_in_shards_are_proved(name: str) -> None:
    case = CASES[name]
    assert is_right(case.local, case.whole, case.boundary, case.inputs)
    assert is_proved(case.local, case.whole, case.boundary)


@pytest.mark.parametrize(("name", "right", "wrong"), FAULTS)
def test_faulty_lookups_in_shards_are_not_proved(name: str, right: str, wrong: str) -> None:
    case = CASES[name]
    assert right in case.local
    faulty = case.local.replace(right, wrong)
    if wrong == SWAPPED:
        faulty = faulty.replace("%m, %g", "%m, %h")
    if wrong == NARROWED:
        faulty = faulty.replace("broadcast_in_dim %m2, dims = [0]", "broadcast_in_dim %n, dims = [0]")
    assert not is_right(faulty, case.whole, case.boundary, case.inputs)
    assert not is_proved(faulty, case.whole, case.boundary)
