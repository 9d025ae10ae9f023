"""Products of the matrices of all devices: the same bits for equal operands, wherever these are in memory."""

from __future__ import annotations

import numpy as np

from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid, grid_of
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.executor import Executor
from sdy.interpreter.host import Host
from sdy.interpreter.kernel import KernelContext
from sdy.interpreter.ops.contract import ContractedDims, contracted
from sdy.interpreter.run import run_spmd

DEVICES, ROWS, SUMMED, COLUMNS = 8, 32, 24, 16
CONTEXT = KernelContext((DEVICES,), grid_of(DEVICES), Executor(parse_module("")), Host())
FLOAT = np.dtype(np.float32)


def rights() -> dict[str, Array]:
    """Return the same matrix in two places: alone, and as columns of a larger one."""
    matrix = np.random.default_rng(1).standard_normal((SUMMED, COLUMNS)).astype(FLOAT)
    larger = np.zeros((SUMMED, 1024), FLOAT)
    larger[:, 64 : 64 + COLUMNS] = matrix
    return {"alone": matrix, "columns": larger[:, 64 : 64 + COLUMNS]}


def test_columns_of_a_matrix_that_many_devices_read_give_the_same_bits_as_a_copy() -> None:
    lefts = np.random.default_rng(2).standard_normal((DEVICES, ROWS, SUMMED)).astype(FLOAT)
    lefts[5] = lefts[0]
    dims = ContractedDims((), (), (1,), (0,))
    alone, other = (contracted(CONTEXT, lefts, rights()[each][None], dims, FLOAT) for each in ("alone", "columns"))
    assert (alone == other).all()
    assert (other[5] == other[0]).all()
    expected = np.einsum("drs,sc->drc", lefts.astype(np.float64), rights()["alone"].astype(np.float64))
    assert np.allclose(other.astype(np.float64), expected, rtol=1e-5, atol=1e-5)


def test_a_selection_between_repeated_elements_is_stored_once() -> None:
    module = parse_module("""
        func.func @main(%p: tensor<1xi1>) -> tensor<1024x4xf32> {
          %0 = stablehlo.constant dense<1.0> : tensor<1024x4xf32>
          %1 = stablehlo.constant dense<2.0> : tensor<1024x4xf32>
          %2 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<1xi1>) -> tensor<1024x4xi1>
          %3 = stablehlo.select %2, %0, %1 : tensor<1024x4xi1>, tensor<1024x4xf32>
          return %3 : tensor<1024x4xf32>
        }""")
    grid = Grid((DEVICES,), 1, DEVICES)
    flags = (np.arange(DEVICES) % 3 == 0).reshape(DEVICES, 1)
    (result,) = run_spmd(module, [DeviceArray(flags, grid)], grid)
    assert result.array.strides[-1] == 0
    for device in range(DEVICES):
        assert (result.device_view(device) == (1.0 if flags[device] else 2.0)).all()
