"""The types of StableHLO: tensors and the bounds of their dims, tokens and futures."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, TensorType
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.dialects.stablehlo.attributes.attrs import parse_int


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!stablehlo.token`: orders side effects and holds no data."""

    name = "stablehlo.token"


@irdl_attr_definition
class FutureType(ParametrizedAttribute, TypeAttribute):
    """`!stablehlo.future<tensor<2xf32>>`: the future results of an asynchronous op."""

    name = "stablehlo.future"
    types: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_type))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.types, printer.print_attribute)


DimSizes = tuple[int, ...]  # of a tensor type; DYNAMIC_INDEX stands for an unknown size
AnyTensor = TensorType[Attribute]


@irdl_attr_definition
class BoundsAttr(Data[tuple[int, ...]]):
    """`#stablehlo.bounds<?, 8>`: upper bounds of dims of unknown size; `?` for other dims."""

    name = "stablehlo.bounds"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        def parse_bound() -> int:
            is_unknown = parser.parse_optional_punctuation("?") is not None
            return DYNAMIC_INDEX if is_unknown else parse_int(parser)

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_bound))

    def print_parameter(self, printer: Printer) -> None:
        printed = ("?" if bound == DYNAMIC_INDEX else str(bound) for bound in self.data)
        printer.print_string(f"<{', '.join(printed)}>")


def as_tensor(value_type: Attribute) -> AnyTensor | None:
    """Return the type if it is a ranked tensor, otherwise None."""
    return cast(AnyTensor, value_type) if isinstance(value_type, TensorType) else None


def tensor_type_of(value: SSAValue) -> AnyTensor | None:
    """Return the type of `value` if it is a ranked tensor, otherwise None."""
    return as_tensor(value.type)


def scalar_of(tensor: AnyTensor) -> AnyTensor:
    """Return the type of one element, as a tensor of rank 0."""
    return TensorType(tensor.element_type, [])


def shape_of(value: SSAValue) -> DimSizes:
    """Return the dim sizes of a ranked tensor; `DYNAMIC_INDEX` stands for an unknown size.

    Raises: TypeError if `value` is not a ranked tensor.
    """
    tensor = tensor_type_of(value)
    if tensor is None:
        raise TypeError(f"expected a ranked tensor, got {value.type}")
    return tensor.get_shape()


def rank_of(value: SSAValue) -> int:
    """Return the rank of a ranked tensor."""
    return len(shape_of(value))


def element_type_of(value: SSAValue) -> Attribute:
    """Return the element type of a ranked tensor.

    Raises: TypeError if `value` is not a ranked tensor.
    """
    tensor = tensor_type_of(value)
    if tensor is None:
        raise TypeError(f"expected a ranked tensor, got {value.type}")
    return tensor.element_type


def is_dynamic(size: int) -> bool:
    """Return whether a dim size is unknown (`?`)."""
    return size == DYNAMIC_INDEX
