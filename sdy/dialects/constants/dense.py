"""The constant tensor `dense<...> : tensor<...>`. A splat is stored as a single element."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Never, cast

from xdsl.dialects.builtin import TensorType, VectorType
from xdsl.ir import Attribute, BuiltinAttribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.diagnostics.diagnostic import InternalError
from sdy.dialects.constants.elements import ElementCodec, Scalar, codec_of

DenseType = TensorType[Attribute] | VectorType[Attribute]

RESOURCE = "dense_resource<"  # the start of a constant whose bytes are at the end of the file
# Longer lists are printed in hexadecimal, as in MLIR.
MAX_PRINTED_ELEMENTS = 100
_BARE_IDENTIFIER = re.compile(r"[A-Za-z_][\w$.]*")


class DenseResource(NamedTuple):
    """The name and alignment of a constant whose bytes are stored in the resource section at the end of the file."""

    name: str
    alignment: int  # bytes

    @property
    def key(self) -> str:
        """The name as printed: quoted unless it is a bare identifier."""
        return self.name if _BARE_IDENTIFIER.fullmatch(self.name) else f'"{self.name}"'


@dataclass(frozen=True, slots=True)
class DenseElements:
    """Elements in row-major order, little endian; only one element if all are equal."""

    type: DenseType
    raw: bytes
    resource: DenseResource | None = None

    @property
    def codec(self) -> ElementCodec:
        """The codec that encodes and decodes the elements."""
        codec = codec_of(self.type.get_element_type())
        if codec is None:
            raise InternalError(f"dense constants do not support the element type {self.type.get_element_type()}")
        return codec

    @property
    def count(self) -> int:
        """The number of elements of the tensor."""
        return math.prod(self.type.get_shape())

    @property
    def is_splat(self) -> bool:
        """Return whether all elements are equal, and only one is stored."""
        return len(self.raw) == self.codec.byte_width


@irdl_attr_definition
class DenseElementsAttr(Data[DenseElements], BuiltinAttribute):
    """`dense<[1, 2]> : tensor<2xi32>`."""

    name = "sdy.dense"

    @staticmethod
    def from_values(dense_type: DenseType, values: Sequence[Scalar]) -> DenseElementsAttr:
        """Return the constant with these elements in row-major order; a single value is repeated.

        Raises: ValueError if a value is out of range for the element type.
        """
        codec = DenseElements(dense_type, b"").codec
        return DenseElementsAttr.from_bytes(dense_type, codec.encode_all(values))

    @staticmethod
    def from_bytes(dense_type: DenseType, raw: bytes, resource: DenseResource | None = None) -> DenseElementsAttr:
        """Return the constant with these bytes of all elements; those of a single element are repeated.

        Raises: ValueError if `raw` has neither size.
        """
        elements = DenseElements(dense_type, raw)
        width = elements.codec.byte_width
        if len(raw) not in (width, width * elements.count):
            sizes = f"{elements.count} elements of {width} bytes, or one element for a splat"
            raise ValueError(f"expected {sizes}, got {len(raw)} bytes")
        if raw == raw[:width] * (len(raw) // width):
            raw = raw[:width]
        return DenseElementsAttr(DenseElements(dense_type, raw, resource))

    @property
    def type(self) -> DenseType:
        """The type of the tensor."""
        return self.data.type

    @property
    def is_splat(self) -> bool:
        """Return whether all elements are equal."""
        return self.data.is_splat

    @property
    def first_value(self) -> Scalar:
        """The first element of a constant that has any; each element of a splat, of which there may be many."""
        return self.data.codec.decode(self.data.raw[: self.data.codec.byte_width])

    def get_values(self) -> tuple[Scalar, ...]:
        """Return all elements in row-major order."""
        codec, raw = self.data.codec, self.data.raw
        if self.is_splat:
            return (codec.decode(raw),) * self.data.count
        return codec.decode_all(raw)

    def get_ints(self) -> tuple[int, ...]:
        """Return all elements of a constant with an integer element type."""
        return cast(tuple[int, ...], self.get_values())

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Never:
        parser.raise_error("expected dense<...> : type")

    def print_parameter(self, printer: Printer) -> None:
        self.print_builtin(printer)

    def print_builtin(self, printer: Printer) -> None:
        resource = self.data.resource
        printer.print_string(f"dense<{self._literal()}> : " if resource is None else f"{RESOURCE}{resource.key}> : ")
        printer.print_attribute(self.type)

    def _literal(self) -> str:
        codec, raw = self.data.codec, self.data.raw
        if self.is_splat:
            return codec.text(raw)
        if not raw:
            return ""
        if self.data.count > MAX_PRINTED_ELEMENTS:
            return f'"0x{raw.hex().upper()}"'
        width = codec.byte_width
        texts = [codec.text(raw[start : start + width]) for start in range(0, len(raw), width)]
        for size in reversed(self.type.get_shape()):
            texts = [f"[{', '.join(texts[start : start + size])}]" for start in range(0, len(texts), size)]
        return texts[0]
