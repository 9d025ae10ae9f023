"""Check the inputs of a run against the arguments of its function."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp

from sdy.dialects.ir.op_location import located
from sdy.dialects.stablehlo.attributes.types import AnyTensor, as_tensor
from sdy.interpreter.arrays.element_types import DType, dtype_of
from sdy.interpreter.failure import failure
from sdy.model.shape import StaticShape


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
