"""Parse the inputs of a run from text, and check them against the arguments of its function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import located
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.attributes.types import AnyTensor, as_tensor
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.failure import failure
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
