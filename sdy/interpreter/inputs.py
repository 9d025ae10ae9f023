"""Whether the inputs of a run are what the arguments of its function say."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp

from sdy.dialects.stablehlo.attributes.types import AnyTensor, as_tensor
from sdy.interpreter.arrays.element_types import DType, dtype_of
from sdy.interpreter.failure import failure, located
from sdy.interpreter.kernel import Shape


def check_inputs(function: FuncOp, given: Sequence[tuple[Shape, DType]]) -> None:
    """Compares shape and dtype of each input, on one device, with its argument.

    Raises: SdyError SDY-X006 where their numbers differ, SDY-X007 where an input does not fit.
    """
    arguments = function.body.block.args
    name = function.sym_name.data
    if len(given) != len(arguments):
        message = f"@{name} has {len(arguments)} arguments, and {len(given)} inputs are given"
        raise located(failure("SDY-X006", message), function)
    for index, (argument, (shape, dtype)) in enumerate(zip(arguments, given, strict=True)):
        tensor = as_tensor(argument.type)
        if tensor is not None and not _fits(tensor, shape, dtype):
            message = f"input {index} of @{name} is a {dtype} array of shape {list(shape)}, the argument a {tensor}"
            hint = f"give a {dtype_of(tensor.element_type)} array"
            raise located(failure("SDY-X007", message, hint=hint), function)


def _fits(tensor: AnyTensor, shape: Shape, dtype: DType) -> bool:
    wanted = tensor.get_shape()
    return (
        dtype == dtype_of(tensor.element_type)
        and len(shape) == len(wanted)
        and all(size in (have, DYNAMIC_INDEX) for size, have in zip(wanted, shape, strict=True))
    )
