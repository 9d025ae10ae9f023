"""Pairs of programs that compute different results, and were once proved to be equal; each differs on its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from support.execution.one_op import MESHES, Axes, is_proved, is_right, placement, program

from sdy.interpreter.arrays.element_types import Array
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement

MESH = MESHES[0]


@dataclass(frozen=True)
class Pair:
    """A global and a local program of ops on `%arg0`, ... that return `%r`; and arguments for which they differ."""

    whole: str
    local: str
    inputs: Sequence[Array]
    types: Sequence[str]  # of arguments of both programs, and the result
    axes: Axes = ()  # of the dims of the first argument
    unreduced: int = -1  # the number of the argument that is unreduced
    local_types: Sequence[str] = ()

    def programs(self) -> tuple[str, str, ProgramPlacement]:
        """Return both programs, and the shardings of their arguments; the result is on all devices."""
        local_types = self.local_types or self.types
        places: list[TensorPlacement] = []
        for number, array in enumerate(self.inputs):
            axes = self.axes if number == 0 and self.axes else ((),) * array.ndim
            places.append(placement(array.shape, axes, MESH, ("x",) * (number == self.unreduced)))
        shape = tuple(map(int, self.types[-1].split("x")[:-1]))
        texts = (
            program(body, [f"tensor<{each}>" for each in types[:-1]], f"tensor<{types[-1]}>")
            for body, types in ((self.whole, self.types), (self.local, local_types))
        )
        whole, local = texts
        return whole, local, ProgramPlacement(MESH, tuple(places), (placement(shape, ((),) * len(shape), MESH),))


def summed(value: str, kind: str) -> str:
    """Return the sum of a scalar over both devices."""
    return f"""%r = "stablehlo.all_reduce"({value}) <{{
  replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
  channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids
}}> ({{
^bb0(%a: tensor<{kind}>, %b: tensor<{kind}>):
  %s = stablehlo.add %a, %b : tensor<{kind}>
  stablehlo.return %s : tensor<{kind}>
}}) : (tensor<{kind}>) -> tensor<{kind}>"""


GATHERED_TWICE = """%h = stablehlo.slice %arg0 [0:2, 0:2] : (tensor<4x2xi32>) -> tensor<2x2xi32>
%n = stablehlo.negate %h : tensor<2x2xi32>
%r = "stablehlo.all_gather"(%n) <{
  all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
  channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids
}> : (tensor<2x2xi32>) -> tensor<4x2xi32>"""


def any_of(result: str) -> str:
    """Return a reduction of shards of booleans by `add`, converted to a float."""
    return f"""%c = stablehlo.constant dense<false> : tensor<i1>
%u = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [0]
  : (tensor<SIZExi1>, tensor<i1>) -> tensor<i1>
{result} = stablehlo.convert %u : (tensor<i1>) -> tensor<f32>"""


PAD = (
    "%r = stablehlo.pad %arg0, %arg1, low = [1], high = [0], interior = [0] "
    ": (tensor<2xi32>, tensor<i32>) -> tensor<3xi32>"
)
MAP = """%r = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<i32>):
  %s = stablehlo.multiply %a, %arg1 : tensor<i32>
  stablehlo.return %s : tensor<i32>
}) : (tensor<2xi32>) -> tensor<2xi32>"""
LARGEST = """%c = stablehlo.constant dense<-0.0> : tensor<f8E5M2>
%r = stablehlo.reduce(%arg0 init: %c) applies stablehlo.maximum across dimensions = [0]
  : (tensor<1xf8E5M2>, tensor<f8E5M2>) -> tensor<f8E5M2>"""
NUMBER = """%p = stablehlo.partition_id : tensor<ui32>
%r = stablehlo.add %arg0, %p : tensor<ui32>"""
TOTAL = """%c = stablehlo.constant dense<[-0.0, 1.0]> : tensor<2xf32>
%d = stablehlo.constant dense<0.0> : tensor<2xf32>
%r = stablehlo.compare LT, %c, %d, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>"""


def added(number: int) -> str:
    """Return a sum with a constant."""
    return f"%c = stablehlo.constant dense<{number}> : tensor<2xi64>\n%r = stablehlo.add %arg0, %c : tensor<2xi64>"


def scaled(first: int, second: int) -> str:
    """Return a product with two constants."""
    return f"""%c = stablehlo.constant dense<{first}> : tensor<2xi32>
%d = stablehlo.constant dense<{second}> : tensor<2xi32>
%v = stablehlo.multiply %arg0, %c : tensor<2xi32>
%r = stablehlo.multiply %v, %d : tensor<2xi32>"""


PRIMES = 2**31 - 1, 2**31 - 19
NARROW = """%c = stablehlo.constant dense<[[100, 99], [98, 97]]> : tensor<2x2xi8>
%v = stablehlo.add %c, %c : tensor<2x2xi8>
%r = stablehlo.convert %v : (tensor<2x2xi8>) -> tensor<2x2xi32>"""
UNSIGNED = """%c = stablehlo.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xui32>
%d = stablehlo.constant dense<[[1, 0], [0, 0]]> : tensor<2x2xui32>
%e = stablehlo.constant dense<5> : tensor<2x2xui32>
%v = stablehlo.subtract %c, %d : tensor<2x2xui32>
%r = stablehlo.compare LT, %v, %e : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xi1>"""
MASK = """%c = stablehlo.constant dense<0.0> : tensor<2xf32>
%m = stablehlo.compare NE, %arg1, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
"""
QUOTIENTS = f"""{MASK}%v = stablehlo.divide %arg0, %arg1 : tensor<2xf32>
%r = stablehlo.select %m, %v, %c : tensor<2xi1>, tensor<2xf32>"""
NUMERATORS = f"""{MASK}%v = stablehlo.select %m, %arg0, %c : tensor<2xi1>, tensor<2xf32>
%r = stablehlo.divide %v, %arg1 : tensor<2xf32>"""
UPDATE = """%z = stablehlo.constant dense<0.0> : tensor<4xf32>
%s = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<4xf32>
%o = stablehlo.reshape %arg2 : (tensor<f32>) -> tensor<1xf32>
"""
WRITE = "stablehlo.dynamic_update_slice %z, {}, %arg1 : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>"
FIRST_DIVIDED = f"{UPDATE}%v = stablehlo.divide %arg0, %o : tensor<1xf32>\n%r = {WRITE.format('%v')}"
THEN_DIVIDED = f"{UPDATE}%v = {WRITE.format('%arg0')}\n%r = stablehlo.divide %v, %s : tensor<4xf32>"
WHOLE_NUMBERS = (np.array([1, 2], np.int32), np.array(3, np.int32))
DIVISION = (np.array([1, 2], np.float32), np.array([0, 3], np.float32))
SHIFTED_BACK = """%c = stablehlo.constant dense<1> : tensor<2xi32>
%m = stablehlo.compare GT, %c, %arg0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
%v = stablehlo.subtract %arg0, %c : tensor<2xi32>
%w = stablehlo.select %m, %c, %c : tensor<2xi1>, tensor<2xi32>
%r = stablehlo.add %v, %w : tensor<2xi32>"""
ONE_SLICE = """%r = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1],
  start_index_map = [DIM]>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x2xi32>, tensor<1xi32>) -> tensor<1x1xi32>"""
MINIMUM = """%c = stablehlo.constant dense<3> : tensor<2xi32>
%r = stablehlo.minimum %arg0, %c : tensor<2xi32>"""
PAIRS = {
    "an integer that is shifted there and back": Pair(
        SHIFTED_BACK, MINIMUM, [np.array([1, 9], np.int32)], ("2xi32", "2xi32")
    ),
    "a start along another dim": Pair(
        ONE_SLICE.replace("DIM", "0"),
        ONE_SLICE.replace("DIM", "1"),
        [np.array([[1, 2], [3, 4]], np.int32), np.array([1], np.int32)],
        ("2x2xi32", "1xi32", "1x1xi32"),
    ),
    "a conversion of shards of any": Pair(
        any_of("%r").replace("SIZE", "2"),
        f"{any_of('%v').replace('SIZE', '1')}\n{summed('%v', 'f32')}",
        [np.array([True, True])],
        ("2xi1", "f32"),
        (("x",),),
        local_types=("1xi1", "f32"),
    ),
    "padding that is partial": Pair(PAD, PAD, WHOLE_NUMBERS, ("2xi32", "i32", "3xi32"), unreduced=1),
    "a region that captures a partial value": Pair(MAP, MAP, WHOLE_NUMBERS, ("2xi32", "i32", "2xi32"), unreduced=1),
    "a maximum of small floats": Pair(
        LARGEST,
        "%r = stablehlo.reshape %arg0 : (tensor<1xf8E5M2>) -> tensor<f8E5M2>",
        [np.array([-3.0]).astype(ml_dtypes.float8_e5m2)],
        ("1xf8E5M2", "f8E5M2"),
    ),
    "the number of the device": Pair(NUMBER, NUMBER, [np.array(3, np.uint32)], ("ui32", "ui32")),
    "a total order": Pair(TOTAL, "%r = stablehlo.constant dense<false> : tensor<2xi1>", [], ("2xi1",)),
    "a sum with both primes": Pair(
        added(0), added(PRIMES[0] * PRIMES[1]), [np.array([1, 2], np.int64)], ("2xi64", "2xi64")
    ),
    "a product with both primes": Pair(scaled(0, 0), scaled(*PRIMES), [np.array([1, 2], np.int32)], ("2xi32", "2xi32")),
    "a narrow sum": Pair(
        NARROW, "%r = stablehlo.constant dense<[[200, 198], [196, 194]]> : tensor<2x2xi32>", [], ("2x2xi32",)
    ),
    "an unsigned difference": Pair(UNSIGNED, "%r = stablehlo.constant dense<true> : tensor<2x2xi1>", [], ("2x2xi1",)),
    "a quotient of masked numbers": Pair(
        QUOTIENTS,
        NUMERATORS,
        DIVISION,
        ("2xf32", "2xf32", "2xf32"),
    ),
    "the first half that is gathered twice": Pair(
        "%r = stablehlo.negate %arg0 : tensor<4x2xi32>",
        GATHERED_TWICE,
        [np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.int32)],
        ("4x2xi32", "4x2xi32"),
    ),
    "a quotient after an update": Pair(
        FIRST_DIVIDED,
        THEN_DIVIDED,
        [np.array([1], np.float32), np.array(1, np.int32), np.array(0, np.float32)],
        ("1xf32", "i32", "f32", "4xf32"),
    ),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_programs_that_differ_are_not_proved(pair: Pair) -> None:
    whole, local, boundary = pair.programs()
    assert not is_right(local, whole, boundary, pair.inputs)
    assert not is_proved(local, whole, boundary)


def test_custom_calls_with_other_attributes_are_not_proved() -> None:
    call = "%r = stablehlo.custom_call @largest(%arg0) {{mhlo.attributes = {{largest = {}}}}} : ({}) -> {}"
    kind = "tensor<2xf32>"
    one, other = (program(call.format(flag, kind, kind), [kind], kind) for flag in ("true", "false"))
    place = placement((2,), ((),), MESH)
    boundary = ProgramPlacement(MESH, (place,), (place,))
    assert is_proved(one, one, boundary)
    assert not is_proved(other, one, boundary)


def test_custom_calls_with_other_functions_are_not_proved() -> None:
    call = "%r = stablehlo.custom_call @largest(%arg0) {called_computations = [@order]} : (tensor<4xf32>) -> "
    order = """
func.func private @order(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {{
  %c = stablehlo.compare {}, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %c : tensor<i1>
}}"""
    main = program(f"{call}tensor<2xf32>", ["tensor<4xf32>"], "tensor<2xf32>")
    whole, other = (main + order.format(direction) for direction in ("GT", "LT"))
    boundary = ProgramPlacement(MESH, (placement((4,), ((),), MESH),), (placement((2,), ((),), MESH),))
    assert is_proved(whole, whole, boundary)
    assert not is_proved(other, whole, boundary)
    assert not is_proved(main, whole, boundary)


def test_custom_calls_are_batches_only_along_the_dims_that_jax_notes() -> None:
    call = "%r = stablehlo.custom_call @inverse(%arg0) {{mhlo.frontend_attributes = {{{}}}}} : ({}) -> {}"
    whole, shard = "tensor<4x3x3xf32>", "tensor<2x3x3xf32>"
    place = placement((4, 3, 3), (("x",), (), ()), MESH)
    boundary = ProgramPlacement(MESH, (place,), (place,))
    for note, expected in (('num_batch_dims = "1"', True), ('num_batch_dims = "0"', False), ("", False)):
        local, program_of_all = (program(call.format(note, kind, kind), [kind], kind) for kind in (shard, whole))
        assert is_proved(local, program_of_all, boundary) == expected


def test_values_without_elements_are_equal_but_not_what_is_computed_from_them() -> None:
    place = placement((0,), ((),), MESH)
    text = program("%r = stablehlo.negate %arg0 : tensor<0xi32>", ["tensor<0xi32>"], "tensor<0xi32>")
    assert is_proved(text, text, ProgramPlacement(MESH, (place,), (place,)))
    none, one = (
        program(
            f"""%c = stablehlo.constant dense<{start}> : tensor<i32>
  %r = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [0]
      : (tensor<0xi32>, tensor<i32>) -> tensor<i32>""",
            ["tensor<0xi32>"],
            "tensor<i32>",
        )
        for start in (0, 1)
    )
    assert not is_proved(one, none, ProgramPlacement(MESH, (place,), (placement((), (), MESH),)))
