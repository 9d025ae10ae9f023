"""Devices that send other numbers of rows to each other device: results, cost, proof and mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import sdy
from sdy.cost.statistics import statistics_of
from sdy.interpreter.arrays.element_types import Array

ROWS, RESULT, NUMBERS = 3, 4, 2  # of one device


def program(spec: str, devices: int) -> sdy.Program[list[Array]]:
    """Return a program whose values have the elements of some devices, with one sharding for all."""
    local = ", ".join(f"tensor<{size}xi32>" for size in (ROWS, RESULT, *[NUMBERS] * 4))
    whole = ", ".join(f"tensor<{devices * size}xi32>" for size in (ROWS, RESULT, *[NUMBERS] * 4))
    outer, inner = (
        [f"%{letter}: {each}" for letter, each in zip("abcdef", types.split(", "), strict=True)]
        for types in (whole, local)
    )
    names, result = "%a, %b, %c, %d, %e, %f", f"tensor<{devices * RESULT}xi32>"
    return sdy.Program.from_text(f"""
sdy.mesh @m = <["x"=2]>
func.func @main({", ".join(outer)}) -> {result} {{
  %0 = sdy.manual_computation({names}) in_shardings=[{", ".join([spec] * 6)}] out_shardings=[{spec}] manual_axes={{"x"}}
      ({", ".join(inner).replace("%", "%x")}) {{
    %1 = stablehlo.custom_call @ragged_all_to_all({names.replace("%", "%x")}) {{api_version = 4 : i32,
      backend_config = {{channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}}}
      : ({local}) -> tensor<{RESULT}xi32>
    sdy.return %1 : tensor<{RESULT}xi32>
  }} : ({whole}) -> {result}
  return %0 : {result}
}}""")


SHARDED = program('<@m, [{"x"}]>', devices=2)
INPUTS = [[1, 2, 2, 3, 4, 0], [9] * 8, [0, 1, 0, 1], [1, 2, 1, 1], [0, 0, 1, 2], [1, 1, 2, 1]]


def arrays(sizes: list[int]) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
    given = [*INPUTS[:3], sizes, *INPUTS[4:]]
    return [np.array(each, np.int32) for each in given]


def test_rows_are_sent_to_the_places_that_the_sender_names() -> None:
    """The first device sends one row to itself and two to the other one, which sends one row to each."""
    for result in (*SHARDED.run_flat(arrays(INPUTS[3])), *SHARDED.partition().run_flat(arrays(INPUTS[3]))):
        assert result.tolist() == [1, 3, 9, 9, 2, 2, 4, 9]


def test_all_rows_count_as_sent() -> None:
    """Half of the three rows of each device go to the other device."""
    assert statistics_of(SHARDED.partition().local).bytes_sent == 3 * 4 / 2


def test_devices_with_equal_rows_get_other_results() -> None:
    """Each device receives other rows, so the results differ even if all devices have equal operands."""
    assert SHARDED.prove().is_proved
    assert not program("<@m, [{}]>", devices=1).prove().is_proved


def test_drawn_numbers_of_rows_are_within_range() -> None:
    assert SHARDED.verify().verdict.value == "the same function"
    assert SHARDED.verify(reduced=True).verdict.value == "the same function"


def test_a_range_outside_of_the_rows_is_an_error() -> None:
    with pytest.raises(sdy.SdyError, match="rows 0 to 7 of the operand of member 0, which has 3 rows"):
        SHARDED.run_flat(arrays([7, 2, 1, 1]))
