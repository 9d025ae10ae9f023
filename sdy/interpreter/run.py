"""Run a program on one device, or the program of each device on all at once, on arrays or on inputs given as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import located
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.attributes.types import AnyTensor, as_tensor
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.devices.grid import ONE_DEVICE, Grid
from sdy.interpreter.devices.replica_groups import grid_for
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.interpreter.executor import CompiledBlocks, Executor, OpObserver
from sdy.interpreter.failure import failure
from sdy.interpreter.field.numbers import Field
from sdy.interpreter.host import Host
from sdy.interpreter.kernel import KernelContext
from sdy.model.shape import StaticShape

_HINT = "write [dense<1> : tensor<2xi32>, ...], one constant per argument"


def check_inputs(function: FuncOp, inputs: Sequence[tuple[StaticShape, DType]]) -> None:
    """Compare shape and dtype of each input, as one device holds it, with its argument.

    Raises: SdyError SDY-X006 if the counts differ, SDY-X007 if an input has another shape or dtype.
    """
    arguments = function.body.block.args
    name = function.sym_name.data
    if len(inputs) != len(arguments):
        message = f"expected {len(arguments)} inputs for the arguments of @{name}, got {len(inputs)}"
        raise located(failure("SDY-X006", message), function)
    for index, (argument, (shape, dtype)) in enumerate(zip(arguments, inputs, strict=True)):
        tensor = as_tensor(argument.type)
        if tensor is not None and not _fits(tensor, shape, dtype):
            message = f"expected {tensor} for input {index} of @{name}, got a {dtype} array of shape {list(shape)}"
            hint = f"pass a {dtype_of(tensor.element_type)} array of shape {list(tensor.get_shape())}"
            raise located(failure("SDY-X007", message, hint=hint), function)


def _fits(tensor: AnyTensor, shape: StaticShape, dtype: DType) -> bool:
    expected = tensor.get_shape()
    return (
        dtype == dtype_of(tensor.element_type)
        and len(shape) == len(expected)
        and all(expected_size in (size, DYNAMIC_INDEX) for expected_size, size in zip(expected, shape, strict=True))
    )


def parse_inputs(text: str) -> list[Array]:
    """Return one array per constant of the list. Raises: SdyError SDY-X015 if the text is not a list of constants."""
    try:
        # The parser reads modules only, so the list is wrapped in one.
        module = parse_module(f"module attributes {{sdy.inputs = {text}\n}} {{}}")
    except SdyError as error:
        raise failure(
            "SDY-X015", f"expected a list of constants, got {text}: {error.diagnostics[0].message}", hint=_HINT
        ) from None
    values = module.attributes.get("sdy.inputs")
    if not isinstance(values, ArrayAttr):
        raise failure("SDY-X015", f"expected a list of constants, got {text}", hint=_HINT)
    return [_array(value) for value in cast(ArrayAttr[Attribute], values)]


def _array(value: Attribute) -> Array:
    if not isinstance(value, DenseElementsAttr):
        raise failure("SDY-X015", f"expected a tensor constant, got {value}", hint=_HINT)
    return array_of(value.data)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run.

    The `observer` is called after each op. A module whose floats are numbers of a finite field runs in `field`.
    `compiled` keeps the compiled blocks of the module from one run to the next; runs with and without an observer must
    not share them. `host` is the host side of the run, by default a new one.
    """

    observer: OpObserver | None = None
    field: Field | None = None
    compiled: CompiledBlocks | None = None
    host: Host | None = None


def interpret(
    module: ModuleOp,
    inputs: Sequence[Array] = (),
    function: str = "main",
    host: Host | None = None,
    settings: RunSettings | None = None,
) -> list[Array]:
    """Run a function on one device and return one array per result, which may share memory with inputs and constants.

    Raises: SdyError at an op that cannot be run or whose check fails; SDY-X004 if the function does not exist;
    SDY-X006 or SDY-X007 if the inputs do not match its arguments.
    """
    how = settings or RunSettings()
    executor = Executor(module, how.observer, how.compiled)
    check_inputs(executor.function(function), [(array.shape, array.dtype) for array in inputs])
    context = KernelContext(
        batch=(), grid=ONE_DEVICE, runner=executor, host=how.host or host or Host(), field=how.field
    )
    return [np.asarray(result) for result in executor.run(context, function, tuple(inputs))]


def run_spmd(
    module: ModuleOp,
    inputs: Sequence[DeviceArray],
    grid: Grid,
    function: str = "main",
    host: Host | None = None,
    settings: RunSettings | None = None,
) -> list[DeviceArray]:
    """Run a function on every device of `grid` and return what each device holds of the results.

    The grid of the results refines `grid` where replica groups need its axes split.
    Raises: as `interpret`; SDY-X009 or SDY-X010 if the groups of a collective do not match the devices.
    """
    how = settings or RunSettings()
    executor = Executor(module, how.observer, how.compiled)
    body = executor.function(function)
    check_inputs(body, [(value.local_shape, value.array.dtype) for value in inputs])
    fine = grid_for(grid, executor.groups_within(body))
    context = KernelContext(
        batch=fine.sizes, grid=fine, runner=executor, host=how.host or host or Host(), field=how.field
    )
    arguments = tuple(regridded(value, fine).array for value in inputs)
    return [DeviceArray(np.asarray(array), fine) for array in executor.run(context, function, arguments)]
