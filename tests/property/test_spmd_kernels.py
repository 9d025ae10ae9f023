"""An op on all devices computes on each the same as on one device."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_ops.families import FAMILIES, random_program

from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid
from sdy.interpreter.devices.values import DeviceArray, replicated
from sdy.interpreter.ops.check import ulp_distance
from sdy.interpreter.run import interpret, run_spmd

GRID = Grid((2, 3), replica_count=1, partition_count=6)
PROGRAMS_PER_FAMILY = 12


def spread(array: Array, random: np.random.Generator) -> DeviceArray:
    """Return values that differ between devices along some random axes of the grid."""
    leading = tuple(size if random.random() < 0.5 else 1 for size in GRID.sizes)
    turned = [np.roll(array.reshape(-1), place).reshape(array.shape) for place in range(int(np.prod(leading)))]
    return DeviceArray(np.stack(turned).reshape(leading + array.shape), GRID)


@pytest.mark.parametrize("seed", range(100, 100 + PROGRAMS_PER_FAMILY))
@pytest.mark.parametrize("family", FAMILIES)
def test_devices_compute_what_one_device_computes(family: str, seed: int) -> None:
    draft = random_program(family, seed)
    module = parse_module(draft.text_with_arguments())
    random = np.random.default_rng(seed)
    inputs = [
        replicated(array, GRID) if name in draft.deciding else spread(array, random)
        for name, array in draft.constants.items()
    ]
    results = run_spmd(module, inputs, GRID)
    for device in range(GRID.position_count):
        alone = interpret(module, [value.device_view(device) for value in inputs])
        for result, expected in zip(results, alone, strict=True):
            actual = result.device_view(device)
            assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
            agree = ulp_distance(actual, expected) == 0
            assert agree.all(), (
                f"device {device}: {actual[~agree][:4]} instead of {expected[~agree][:4]}\n{draft.text()}"
            )
