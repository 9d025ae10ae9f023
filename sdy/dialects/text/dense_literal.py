"""The parser of `dense<...>`: nested lists, a splat value, or hexadecimal digits."""

from __future__ import annotations

from collections.abc import Mapping
from string import hexdigits
from typing import NamedTuple, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, VectorType
from xdsl.parser import AttrParser

from sdy.dialects.constants.dense import DenseElementsAttr, DenseResource, DenseType
from sdy.dialects.constants.elements import ElementCodec, codec_of


class ElementLiteral(NamedTuple):
    """The text of one element, and its location."""

    text: str
    start: int
    end: int


def parse_dense(parser: AttrParser) -> DenseElementsAttr:
    """Parse `<literal> : type`, after the keyword `dense`.

    Raises: ParseError if the literal is not valid for the type.
    """
    parser.parse_punctuation("<")
    start = parser.pos
    if parser.parse_optional_punctuation(">") is not None:
        literals, shape = "0x", None
    else:
        digits = parser.parse_optional_str_literal()
        literals, shape = (digits, None) if digits is not None else _parse_nested(parser)
        parser.parse_punctuation(">")
    parser.parse_punctuation(":")
    dense_type, codec = _parse_dense_type(parser)
    try:
        if isinstance(literals, str):
            return DenseElementsAttr.from_bytes(dense_type, _bytes_of_hex(literals))
        _check_shape(shape, dense_type)
    except ValueError as error:
        parser.raise_error(str(error), start, start + 1)
    return DenseElementsAttr.from_bytes(dense_type, b"".join(_encode(parser, codec, item) for item in literals))


def parse_dense_resource(parser: AttrParser, blobs: Mapping[str, tuple[DenseResource, bytes]]) -> DenseElementsAttr:
    """Parse `<name> : type`, after the keyword `dense_resource`.

    Raises: ParseError if no blob has that name, or if the blob has a wrong size.
    """
    with parser.in_angle_brackets():
        start = parser.pos
        name = parser.parse_optional_str_literal() or parser.parse_identifier()
        end = parser.pos
    parser.parse_punctuation(":")
    dense_type, _ = _parse_dense_type(parser)
    if name not in blobs:
        parser.raise_error(f"expected resource {name} in the section {{-# ... #-}} of the file", start, end)
    resource, raw = blobs[name]
    try:
        return DenseElementsAttr.from_bytes(dense_type, raw, resource)
    except ValueError as error:
        parser.raise_error(f"resource {name}: {error}", start, end)


def _parse_nested(parser: AttrParser) -> tuple[list[ElementLiteral], tuple[int, ...] | None]:
    """Parse nested lists; return the literals in order and the list shape, None for a value without brackets."""
    start = parser.pos
    nested = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_nested(parser))
    if nested is None:
        return [_parse_literal(parser)], None
    inner_shapes = {shape or () for _, shape in nested}
    if len(inner_shapes) > 1:
        shapes = " and ".join(sorted(str(list(shape)) for shape in inner_shapes))
        parser.raise_error(f"nested lists must have the same shape, got {shapes}", start, start + 1)
    inner_shape = inner_shapes.pop() if inner_shapes else ()
    return [literal for literals, _ in nested for literal in literals], (len(nested), *inner_shape)


def _parse_literal(parser: AttrParser) -> ElementLiteral:
    start = parser.pos
    parts = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_number(parser))
    text = _parse_number(parser) if parts is None else f"({','.join(parts)})"
    if parts is not None and len(parts) != 2:
        parser.raise_error("expected a complex number (real,imaginary)", start, parser.pos)
    return ElementLiteral(text, start, parser.pos)


def _parse_number(parser: AttrParser) -> str:
    """Return the text of a number or boolean: only the type determines the value of a literal like `0x3F800000`."""
    start = parser.pos
    if parser.parse_optional_number(allow_boolean=True) is None:
        parser.raise_error("expected a number, true, false, a list or a complex number")
    return parser.lexer.input.content[start : parser.pos].split(maxsplit=1)[0]


def _parse_dense_type(parser: AttrParser) -> tuple[DenseType, ElementCodec]:
    start = parser.pos
    parsed_type = parser.parse_type()
    dense_type = cast(DenseType, parsed_type)
    if not isinstance(parsed_type, TensorType | VectorType) or DYNAMIC_INDEX in dense_type.get_shape():
        parser.raise_error(f"expected a tensor type with a static shape, got {parsed_type}", start, parser.pos)
    codec = codec_of(dense_type.get_element_type())
    if codec is None:
        parser.raise_error(
            f"dense constants do not support the element type {dense_type.get_element_type()}", start, parser.pos
        )
    return dense_type, codec


def _bytes_of_hex(text: str) -> bytes:
    if not text.startswith("0x"):
        raise ValueError("expected hexadecimal digits that start with 0x")
    digits = text[2:]
    invalid = next((character for character in digits if character not in hexdigits), None)
    if invalid is not None:
        raise ValueError(f"expected hexadecimal digits after 0x, got {invalid}")
    if len(digits) % 2:
        raise ValueError(f"expected an even number of hexadecimal digits, two per byte, got {len(digits)}")
    return bytes.fromhex(digits)


def _check_shape(shape: tuple[int, ...] | None, dense_type: DenseType) -> None:
    expected = dense_type.get_shape()
    if shape is not None and shape != expected:
        raise ValueError(f"expected lists of shape {list(expected)}, the shape of the type, got {list(shape)}")


def _encode(parser: AttrParser, codec: ElementCodec, literal: ElementLiteral) -> bytes:
    try:
        return codec.encode_text(literal.text)
    except ValueError as error:
        parser.raise_error(str(error), literal.start, literal.end)
