"""The constant tensor `dense<...> : tensor<...>`, which stores a value that all elements share only once."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Never, cast

from xdsl.dialects.builtin import TensorType, VectorType
from xdsl.ir import Attribute, BuiltinAttribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.diagnostics.diagnostic import InternalError
from sdy.dialects.constants.elements import ElementCodec, Scalar, codec_of

DenseType = TensorType[Attribute] | VectorType[Attribute]

# Longer lists are printed as hexadecimal digits, as MLIR does.
MAX_PRINTED_ELEMENTS = 100
_PLAIN = re.compile(r"[A-Za-z_][\w$.]*")


@dataclass(frozen=True, slots=True)
class DenseResource:
    """Where the bytes of a constant stand in the text: under a name, at the end of the file."""

    name: str
    alignment: int  # bytes

    @property
    def key(self) -> str:
        """The name as it is written: in quotes where it is no plain word."""
        return self.name if _PLAIN.fullmatch(self.name) else f'"{self.name}"'


@dataclass(frozen=True, slots=True)
class DenseElements:
    """Elements in row-major order, little endian; a single one where all are equal."""

    type: DenseType
    raw: bytes
    resource: DenseResource | None = None

    @property
    def codec(self) -> ElementCodec:
        """How the elements are stored."""
        codec = codec_of(self.type.get_element_type())
        if codec is None:
            raise InternalError(f"no dense constant has elements of type {self.type.get_element_type()}")
        return codec

    @property
    def count(self) -> int:
        """How many elements the tensor has."""
        return math.prod(self.type.get_shape())

    @property
    def is_splat(self) -> bool:
        """Whether all elements are equal, and stored once."""
        return len(self.raw) == self.codec.byte_width


@irdl_attr_definition
class DenseElementsAttr(Data[DenseElements], BuiltinAttribute):
    """`dense<[1, 2]> : tensor<2xi32>`."""

    name = "sdy.dense"

    @staticmethod
    def from_values(dense_type: DenseType, values: Sequence[Scalar]) -> DenseElementsAttr:
        """The constant of all elements in row-major order, or of one value for all.

        Raises: ValueError where the element type cannot hold a value.
        """
        codec = DenseElements(dense_type, b"").codec
        return DenseElementsAttr.from_bytes(dense_type, codec.encode_all(values))

    @staticmethod
    def from_bytes(dense_type: DenseType, raw: bytes, resource: DenseResource | None = None) -> DenseElementsAttr:
        """The constant of the bytes of all elements, or of one for all.

        Raises: ValueError where `raw` has another size.
        """
        elements = DenseElements(dense_type, raw)
        width = elements.codec.byte_width
        if len(raw) not in (width, width * elements.count):
            raise ValueError(f"{len(raw)} bytes for {elements.count} elements of {width} bytes")
        if raw == raw[:width] * (len(raw) // width):
            raw = raw[:width]
        return DenseElementsAttr(DenseElements(dense_type, raw, resource))

    @property
    def type(self) -> DenseType:
        """The type of the tensor."""
        return self.data.type

    @property
    def is_splat(self) -> bool:
        """Whether all elements are equal."""
        return self.data.is_splat

    def get_values(self) -> tuple[Scalar, ...]:
        """All elements in row-major order."""
        codec, raw = self.data.codec, self.data.raw
        if self.is_splat:
            return (codec.decode(raw),) * self.data.count
        return codec.decode_all(raw)

    def get_ints(self) -> tuple[int, ...]:
        """All elements of a constant whose elements are integers."""
        return cast(tuple[int, ...], self.get_values())

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Never:
        parser.raise_error("a dense constant is written dense<...> : type")

    def print_parameter(self, printer: Printer) -> None:
        self.print_builtin(printer)

    def print_builtin(self, printer: Printer) -> None:
        resource = self.data.resource
        printer.print_string(
            f"dense<{self._literal()}> : " if resource is None else f"dense_resource<{resource.key}> : "
        )
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
