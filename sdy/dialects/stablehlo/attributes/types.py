"""Which types StableHLO adds to MLIR's, and the questions about tensor types that everybody asks."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, TensorType
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.dialects.stablehlo.attributes.attrs import parse_int

Shape = tuple[int, ...]
AnyTensor = TensorType[Attribute]


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!stablehlo.token`: orders side effects, holds no data."""

    name = "stablehlo.token"


@irdl_attr_definition
class FutureType(ParametrizedAttribute, TypeAttribute):
    """`!stablehlo.future<tensor<2xf32>>`: what an op that was started will give."""

    name = "stablehlo.future"
    types: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_type))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.types, printer.print_attribute)


@irdl_attr_definition
class BoundsAttr(Data[tuple[int, ...]]):
    """`#stablehlo.bounds<?, 8>`: how large each dim of unknown size can be; ? for the others."""

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
    """The type where it is a ranked tensor, else None."""
    return cast(AnyTensor, value_type) if isinstance(value_type, TensorType) else None


def tensor_type_of(value: SSAValue) -> AnyTensor | None:
    """The type of `value` where it is a ranked tensor, else None."""
    return as_tensor(value.type)


def scalar_of(tensor: AnyTensor) -> AnyTensor:
    """The type of one element, as a tensor without dims."""
    return TensorType(tensor.element_type, [])


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
