"""Updates that cover a sharded dim: they are proved if their starts along it are known to be 0."""

from __future__ import annotations

import pytest
from support.execution.covered_starts import FROM_ZERO, NOT_FROM_ZERO, starts_of
from support.execution.one_op import MESHES, is_proved, is_right, placement, program, small_array

from sdy.interpreter.arrays.element_types import Array
from sdy.model.devices.placement import ProgramPlacement

ROWS, COLUMNS, COUNT = 256, 1024, 4  # too many elements to follow one by one


def pair(starts: str, order: str = "%arg1, %h") -> tuple[str, str, ProgramPlacement]:
    """Return a program that adds rows, which start at `%arg1` and `%h`, the same on shards of columns, and placements.

    `order` has the starts in the order of the vectors. If `%h` is first, columns are the first dim that is indexed.
    """
    dims = "[0, 1]" if order.endswith("%h") else "[1, 0]"

    def on(columns: int) -> str:
        types = [f"tensor<{ROWS}x{columns}xi32>", *["tensor<4x1xi32>"] * 2, f"tensor<{COUNT}x{columns}xi32>"]
        body = f"""{starts_of(starts, "%arg1", "%arg2", COLUMNS)}
  %s = stablehlo.concatenate {order}, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %r = "stablehlo.scatter"(%arg0, %s, %arg3) <{{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = {dims},
      index_vector_dim = 1>}}> ({{
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %t = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }}) : ({types[0]}, tensor<4x2xi32>, {types[3]}) -> {types[0]}"""
        return program(body, types, types[0])

    mesh = MESHES[0]
    whole, update = placement((ROWS, COLUMNS), ((), ("x",)), mesh), placement((COUNT, COLUMNS), ((), ("x",)), mesh)
    starts_of_rows = placement((COUNT, 1), ((), ()), mesh)
    boundary = ProgramPlacement(mesh, (whole, starts_of_rows, starts_of_rows, update), (whole,))
    return on(COLUMNS // 2), on(COLUMNS), boundary


@pytest.mark.parametrize("order", ["%arg1, %h", "%h, %arg1"])
@pytest.mark.parametrize("starts", FROM_ZERO)
def test_updates_that_start_at_zero_are_proved(starts: str, order: str) -> None:
    local, whole, boundary = pair(FROM_ZERO[starts], order)
    assert is_proved(local, whole, boundary)
    assert is_right(local, whole, boundary, inputs())


@pytest.mark.parametrize("order", ["%arg1, %h", "%h, %arg1"])
@pytest.mark.parametrize("starts", NOT_FROM_ZERO)
def test_updates_that_may_start_elsewhere_are_not_proved(starts: str, order: str) -> None:
    local, whole, boundary = pair(NOT_FROM_ZERO[starts], order)
    assert not is_proved(local, whole, boundary)
    assert not is_right(local, whole, boundary, inputs())


def inputs() -> list[Array]:
    """Return arrays for the arguments."""
    shapes = ((ROWS, COLUMNS), (COUNT, 1), (COUNT, 1), (COUNT, COLUMNS))
    return [small_array(shape, seed) for seed, shape in enumerate(shapes)]
