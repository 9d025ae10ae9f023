"""Which types StableHLO adds to MLIR's, and the questions about tensor types that everybody asks."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition

Shape = tuple[int, ...]
AnyTensor = TensorType[Attribute]


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!stablehlo.token`: orders side effects, holds no data."""

    name = "stablehlo.token"


def tensor_type_of(value: SSAValue) -> AnyTensor | None:
    """The type of `value` where it is a ranked tensor, else None."""
    value_type = value.type
    return cast(AnyTensor, value_type) if isinstance(value_type, TensorType) else None


def shape_of(value: SSAValue) -> Shape:
    """The dim sizes of a ranked tensor; `DYNAMIC_INDEX` stands for an unknown size.

    Raises: TypeError where `value` is no ranked tensor.
    """
    tensor = tensor_type_of(value)
    if tensor is None:
        raise TypeError(f"no ranked tensor: {value.type}")
    return tensor.get_shape()


def rank_of(value: SSAValue) -> int:
    """How many dims a ranked tensor has."""
    return len(shape_of(value))


def element_type_of(value: SSAValue) -> Attribute:
    """The element type of a ranked tensor.

    Raises: TypeError where `value` is no ranked tensor.
    """
    tensor = tensor_type_of(value)
    if tensor is None:
        raise TypeError(f"no ranked tensor: {value.type}")
    return tensor.element_type


def is_dynamic(size: int) -> bool:
    """Whether a dim size is `?`."""
    return size == DYNAMIC_INDEX
