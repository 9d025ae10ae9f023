"""A loop that writes into shards with margins, by brute force: what is proved is right for each start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from support.execution.one_op import MESHES, is_proved, is_right, placement, small_array
from support.slow_cases import slow_except

from sdy.model.devices.placement import ProgramPlacement

ROWS, SHARD = 8, 4
WHOLE = """
func.func @main(%a: tensor<8x2xi32>, %first: tensor<i32>, %end: tensor<i32>) -> tensor<8x2xi32> {{
  %v = stablehlo.constant dense<0> : tensor<8x2xi32>
  {loop}
}}
"""
LOCAL = """
func.func @main(%a: tensor<8x2xi32>, %first: tensor<i32>, %end: tensor<i32>) -> tensor<4x2xi32> {{
  %v = stablehlo.constant dense<0> : tensor<4x2xi32>
  {loop}
}}
"""
LOOP = """%0:2 = stablehlo.while(%i = %first, %w = %v) : tensor<i32>, tensor<{rows}x2xi32>
  cond {{
    %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %r = stablehlo.dynamic_slice %a, %i, %zero, sizes = [{size}, 2]
        : (tensor<8x2xi32>, tensor<i32>, tensor<i32>) -> tensor<{size}x2xi32>
    {update}
    stablehlo.return %next, %x : tensor<i32>, tensor<{rows}x2xi32>
  }}
  return %0#1 : tensor<{rows}x2xi32>"""
UPDATE = """%x = stablehlo.dynamic_update_slice %w, %r, %i, %zero
        : (tensor<8x2xi32>, tensor<{size}x2xi32>, tensor<i32>, tensor<i32>) -> tensor<8x2xi32>"""
SHARD_UPDATE = """%p = stablehlo.pad %w, %zero, low = [{low}, 0], high = [{high}, 0], interior = [0, 0]
        : (tensor<4x2xi32>, tensor<i32>) -> tensor<{padded}x2xi32>
    %end_of_whole = stablehlo.constant dense<{whole_last}> : tensor<i32>
    %g = stablehlo.clamp %zero, %i, %end_of_whole : tensor<i32>
    %id = stablehlo.partition_id : tensor<ui32>
    %bases = stablehlo.constant dense<{bases}> : tensor<2xi32>
    %one_base = stablehlo.dynamic_slice %bases, %id, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %base = stablehlo.reshape %one_base : (tensor<1xi32>) -> tensor<i32>
    %s = stablehlo.subtract %g, %base : tensor<i32>
    %m = stablehlo.constant dense<{added}> : tensor<i32>
    %t = stablehlo.add %s, %m : tensor<i32>
    %end_of_shard = stablehlo.constant dense<{last}> : tensor<i32>
    %k = stablehlo.clamp %zero, %t, %end_of_shard : tensor<i32>
    %u = stablehlo.dynamic_update_slice %p, %r, %k, %zero
        : (tensor<{padded}x2xi32>, tensor<{size}x2xi32>, tensor<i32>, tensor<i32>) -> tensor<{padded}x2xi32>
    %x = stablehlo.slice %u [{start}:{stop}, 0:2] : (tensor<{padded}x2xi32>) -> tensor<4x2xi32>"""


@dataclass(frozen=True)
class Case:
    """The numbers of the local program: margins, starts of the shards, ends of clamps, and the slice at the end."""

    size: int
    low: int
    high: int
    bases: tuple[int, int]
    whole_last: int
    added: int
    last: int
    start: int

    def text(self) -> str:
        """Return the text of the local program."""
        numbers = {name: getattr(self, name) for name in self.__dataclass_fields__} | {"bases": list(self.bases)}
        padded = self.low + SHARD + self.high
        update = SHARD_UPDATE.format(**numbers, padded=padded, stop=self.start + SHARD)
        return LOCAL.format(loop=LOOP.format(rows=SHARD, size=self.size, update=update))


def whole_text(size: int) -> str:
    loop = LOOP.format(rows=ROWS, size=size, update=UPDATE.format(size=size))
    return WHOLE.format(loop=loop)


def right_case(size: int, low: int, high: int) -> Case:
    return Case(size, low, high, (0, SHARD), ROWS - size, low, low + SHARD + high - size, low)


def changed(case: Case) -> list[Case]:
    """Return the case with one number changed."""
    found = [replace(case, bases=bases) for bases in ((SHARD, 0), (0, 3), (0, 0), (1, 5))]
    for name, change in product(("whole_last", "added", "last", "start"), (-1, 1)):
        found.append(replace(case, **{name: getattr(case, name) + change}))
    in_bounds = (each for each in found if 0 <= each.start <= each.low + each.high)
    return [each for each in in_bounds if each.last >= 0]


BOUNDARY = ProgramPlacement(
    MESHES[0],
    (placement((ROWS, 2), ((), ()), MESHES[0]), placement((), (), MESHES[0]), placement((), (), MESHES[0])),
    (placement((ROWS, 2), (("x",), ()), MESHES[0]),),
)
STARTS = ((0, 8), (2, 3), (5, 6), (-3, 4), (3, 12), (7, 8), (4, 5))


def is_right_for_all_starts(case: Case) -> bool:
    whole, array = whole_text(case.size), small_array((ROWS, 2), 0)
    inputs = [[array, np.array(first, np.int32), np.array(end, np.int32)] for first, end in STARTS]
    return all(is_right(case.text(), whole, BOUNDARY, each) for each in inputs)


@pytest.mark.parametrize("size", slow_except([2], [1, 2]))
def test_updates_of_shards_are_proved_where_they_are_right(size: int) -> None:
    counts = {True: 0, False: 0}
    for low, high in product(range(size - 1, size + 2), repeat=2):
        right = right_case(size, low, high)
        has_margins = min(low, high) >= size
        assert not has_margins or is_right_for_all_starts(right)
        for case in (right, *changed(right)):
            proved = is_proved(case.text(), whole_text(size), BOUNDARY)
            counts[proved] += 1
            assert proved or case != right or not has_margins
            assert not proved or is_right_for_all_starts(case), case
    assert counts[True] == 4
    assert counts[False] > 80
