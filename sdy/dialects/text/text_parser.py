"""Parsing of types, attributes and `dense<...>`: xDSL's parser with a fast lexer, MLIR's literals and cached types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from string import hexdigits
from typing import NamedTuple, NoReturn, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    Float32Type,
    FloatAttr,
    FloatData,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    VectorType,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.parser import AttrParser, Position
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.constants.dense import DenseElements, DenseElementsAttr, DenseResource, DenseType
from sdy.dialects.constants.elements import ElementCodec, Scalar, codec_of
from sdy.dialects.constants.float_formats import FLOAT_FORMATS
from sdy.dialects.ir.context import load_dialects
from sdy.dialects.ir.walk import op_and_nested_ops
from sdy.dialects.text.token_parser import TokenParser
from sdy.dialects.text.unknown_ops import unknown_dialect_hint


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


MAX_INTEGER_BITS = 2**24 - 1  # MLIR's limit for integer types
MAX_DIM = 2**63 - 1  # MLIR's limit for dims
ELEMENT_TYPES = (*FLOAT_FORMATS, "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "index", "complex")
_TOO_WIDE = re.compile(r"[su]?i[0-9]{8,}")


class TypeParser(TokenParser):
    """A parser of shaped types and their element types."""

    def parse_shape(self) -> tuple[list[int] | None, Attribute]:
        if self.parse_optional_punctuation("*") is None:
            return self.parse_ranked_shape()
        self.parse_shape_delimiter()
        return None, self._parse_element_type()

    def parse_ranked_shape(self) -> tuple[list[int], Attribute]:
        dims = self.parse_dimension_list()
        if dims:
            self.parse_shape_delimiter()
        return dims, self._parse_element_type()

    def _parse_element_type(self) -> TypeAttribute:
        element = self.parse_optional_type()
        if element is None:
            self._fail_element_type(self._current_token)
        return element

    def _fail_element_type(self, token: MLIRToken) -> NoReturn:
        if token.kind is not MLIRTokenKind.BARE_IDENT:
            actual = token.text or "the end of the text"
            self.raise_error(f"expected a dim or an element type, got {actual}", token.span)
        hint = similar_name_hint(token.text, ELEMENT_TYPES)
        self.fail("SDY-P006", f"unknown element type {token.text}", token.span, hint)

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is MLIRTokenKind.BARE_IDENT and _TOO_WIDE.fullmatch(token.text):
            self.raise_error(f"integer types must have at most {MAX_INTEGER_BITS} bits, got {token.text}", token.span)
        return super()._parse_optional_integer_or_float_type()

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """Parse a dim of a type. Raises: ParseError also if it exceeds MLIR's limit."""
        span = self._current_token.span
        dim = super().parse_shape_dimension(allow_dynamic)
        if dim > MAX_DIM:
            self.raise_error(f"dims must be at most {MAX_DIM}, got {dim}", span)
        return dim


T = TypeVar("T")

ARRAY_ELEMENT_TYPES = (i1, i8, i16, i32, i64, f32, f64)

# Frequent types, which are matched as a whole and looked up in a cache.
_COMMON_TYPE = re.compile(r"tensor<(?:(?:[0-9]+|\?)x)*(?:[a-z][A-Za-z0-9]*|complex<f[0-9]+>)>")
# The attributes of a result of a JAX program: `{jax.result_info = "result[0]"}`.
_ONE_STRING = re.compile(r'\s*\{([A-Za-z_][A-Za-z0-9_$.]*) = "([^"\\\n]*)"\}')


class TextParser(TypeParser):
    """A parser of types and attributes in the text of `file`."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        super().__init__(context, text, file)
        self._types: dict[str, TypeAttribute] = {}
        self._repeated: dict[str, object] = {}  # what is parsed from a text, by the text
        self._blobs: dict[str, tuple[DenseResource, bytes]] | None = None

    def parse_optional_type(self) -> TypeAttribute | None:
        start = self.pos
        common = _COMMON_TYPE.match(self.lexer.input.content, start)
        if common is None:
            return super().parse_optional_type()
        cached = self._types.get(common[0])
        if cached is not None:
            self._resume_from(common.end())
            return cached
        parsed = super().parse_optional_type()
        if parsed is not None:
            self._types[common[0]] = parsed
        return parsed

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        match = _ONE_STRING.match(self.lexer.input.content, self.position())
        if match is None:
            return super().parse_optional_dictionary_attr_dict()
        self._resume_from(match.end())
        return {match[1]: StringAttr(match[2])}

    def parse_repeated(self, pattern: re.Pattern[str], parse: Callable[[], T]) -> T:
        """Return what `parse` parses at this position. If the pattern matches there, parse equal texts only once.

        What `parse` returns must depend only on the text up to the end of the match.
        """
        match = pattern.match(self.lexer.input.content, self.position())
        if match is None:
            return parse()
        if match[0] in self._repeated:
            self._resume_from(match.end())
            return cast("T", self._repeated[match[0]])
        parsed = parse()
        if self.consumed == match.end():
            self._repeated[match[0]] = parsed
        return parsed

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        boolean = self.try_parse_builtin_boolean_attr()
        start = self.pos
        if boolean is not None or (number := self.parse_optional_number()) is None:
            return boolean
        end = self.consumed
        if self.parse_optional_punctuation(":") is None:
            return FloatAttr(number, f64) if isinstance(number, float) else IntegerAttr(number, i64)
        value_type = self.parse_type()
        value = self._value_of(value_type, start, end)
        if isinstance(value_type, IntegerType | IndexType):
            return IntegerAttr(cast(int, value), cast("IntegerType | IndexType", value_type))
        # The constructor of FloatAttr would turn a signaling NaN into a quiet one.
        return FloatAttr.new([FloatData(cast(float, value)), cast(AnyFloat, value_type)])

    def _value_of(self, value_type: Attribute, start: int, end: int) -> Scalar:
        """Return the value of the literal between two offsets, given its type."""
        codec = codec_of(value_type)
        if codec is None:
            self.raise_error(f"expected an integer or float type, got {value_type}", start, end)
        try:
            return codec.decode(codec.encode_text(self.lexer.input.content[start:end].replace(" ", "")))
        except ValueError as error:
            self.raise_error(str(error), start, end)

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase:
        self.parse_punctuation("<")
        start = self.pos
        element = self.parse_type()
        if element not in ARRAY_ELEMENT_TYPES:
            self.raise_error(
                f"expected i1, i8, i16, i32, i64, f32 or f64 as element type of an array, got {element}",
                start,
                self.consumed,
            )
        values: list[Scalar] = []
        if self.parse_optional_punctuation(">") is None:
            self.parse_punctuation(":")
            values = self.parse_comma_separated_list(self.Delimiter.NONE, lambda: self._parse_element(element))
            self.parse_punctuation(">")
        if isinstance(element, IntegerType):
            return DenseArrayBase.from_list(cast("IntegerType", element), cast("list[int]", values))
        return DenseArrayBase.from_list(cast("Float32Type", element), cast("list[float]", values))

    def _parse_element(self, value_type: Attribute) -> Scalar:
        start = self.pos
        self.parse_number(allow_boolean=True)
        return self._value_of(value_type, start, self.consumed)

    def _parse_builtin_dense_attr(self) -> DenseElementsAttr:  # pyright: ignore[reportIncompatibleMethodOverride] -- returns our attribute instead of xDSL's
        return parse_dense(self)

    def _parse_file_metadata_dictionary(self) -> None:
        """Skip the resource section: constants search the text for their blobs."""
        begin = self._current_token.span
        end = self.lexer.input.content.find("#-}", begin.end)
        if end < 0:
            self.fail("SDY-P001", "expected #-} at the end of the section that begins here", begin)
        self._resume_from(end + len("#-}"))

    def _parse_builtin_dense_resource_attr(self) -> DenseElementsAttr:  # pyright: ignore[reportIncompatibleMethodOverride] -- returns our attribute instead of xDSL's
        if self._blobs is None:
            self._blobs = parse_blobs(self.lexer.input.content)
        return parse_dense_resource(self, self._blobs)

    def _parse_extended_type_or_attribute(  # pyright: ignore[reportIncompatibleMethodOverride] -- overloads in xDSL
        self, attr_or_dialect_name: str, is_type: bool
    ) -> Attribute:
        name = f"{'!' if is_type else '#'}{attr_or_dialect_name}"
        is_alias = "." not in name and self._current_token.kind is not MLIRTokenKind.LESS
        if is_alias and name not in self.attribute_aliases:
            span = Span(self.consumed - len(name), self.consumed, self.lexer.input)
            self.fail("SDY-P003", f"undefined alias {name}", span, similar_name_hint(name, self.attribute_aliases))
        parse = cast("Callable[[str, bool], Attribute]", super()._parse_extended_type_or_attribute)
        return parse(attr_or_dialect_name, is_type)

    def _parse_alias_def(self) -> None:
        token = self._current_token
        if token.text in self.attribute_aliases:
            self.fail("SDY-P004", f"{token.text} is already defined", token.span, "rename one of the two definitions")
        super()._parse_alias_def()

    def _parse_dialect_type_or_attribute_body(  # pyright: ignore[reportIncompatibleMethodOverride] -- a union in xDSL
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: Position | None
    ) -> Attribute:
        find = self.ctx.get_optional_type if is_type else self.ctx.get_optional_attr
        if "." in attr_name and find(attr_name) is None:
            load_dialects(self.ctx)
            cached = [each.name for each in (self.ctx.loaded_types if is_type else self.ctx.loaded_attrs)]
            span = Span(self.consumed - len(attr_name), self.consumed, self.lexer.input)
            kind = "type" if is_type else "attribute"
            hint = similar_name_hint(attr_name, cached) or unknown_dialect_hint(attr_name, cached)
            self.fail("SDY-P006", f"unknown {kind} {attr_name}", span, hint)
        return super()._parse_dialect_type_or_attribute_body(attr_name, is_type, is_opaque, starting_opaque_pos)


_SECTION = re.compile(r"\{-#(.*)#-\}", re.DOTALL)
_BLOBS = re.compile(r"\bbuiltin\s*:\s*\{([^{}]*)\}")
_BLOB = re.compile(r'(?P<name>"[^"\n]*"|[\w$.-]+)\s*:\s*"0x(?P<digits>[0-9A-Fa-f]*)"')
ALIGNMENT_BYTES = 4
ELIDED = "__elided__"  # the name that stands for elements that are left out of a text


def parse_blobs(text: str) -> dict[str, tuple[DenseResource, bytes]]:
    """Return the blobs of a text by name: alignment and bytes.

    The section `{-# ... #-}` comes after its uses, so all text is searched for it when the first constant refers to it.
    """
    section = _SECTION.search(text)
    blobs_text = None if section is None else _BLOBS.search(section[1])
    blobs: dict[str, tuple[DenseResource, bytes]] = {}
    for entry in _BLOB.finditer(blobs_text[1] if blobs_text is not None else ""):
        name = entry["name"].strip('"')
        raw = bytes.fromhex(entry["digits"]) if len(entry["digits"]) % 2 == 0 else b""
        if len(raw) >= ALIGNMENT_BYTES:
            alignment = int.from_bytes(raw[:ALIGNMENT_BYTES], "little")
            blobs[name] = DenseResource(name, alignment), raw[ALIGNMENT_BYTES:]
    return blobs


def resource_section(root: Operation) -> str:
    """Return the text of the section with the blobs of the constants inside `root`, in order of first use."""
    blobs: dict[str, tuple[str, str]] = {}
    for op in op_and_nested_ops(root):
        for constant in _constants_in((*op.properties.values(), *op.attributes.values())):
            resource = constant.data.resource
            if resource is not None and resource.name != ELIDED:
                blobs[resource.name] = resource.key, _blob_text(constant.data, resource)
    if not blobs:
        return ""
    lines = ",\n".join(f"      {key}: {digits}" for key, digits in blobs.values())
    return f"{{-#\n  dialect_resources: {{\n    builtin: {{\n{lines}\n    }}\n  }}\n#-}}"


def _constants_in(attributes: Iterable[Attribute]) -> Iterator[DenseElementsAttr]:
    for attribute in attributes:
        if isinstance(attribute, DenseElementsAttr):
            yield attribute
        elif isinstance(attribute, ArrayAttr):
            yield from _constants_in(cast("ArrayAttr[Attribute]", attribute))
        elif isinstance(attribute, DictionaryAttr):
            yield from _constants_in(attribute.data.values())


def _blob_text(elements: DenseElements, resource: DenseResource) -> str:
    raw = elements.raw * elements.count if elements.is_splat else elements.raw
    return f'"0x{(resource.alignment.to_bytes(ALIGNMENT_BYTES, "little") + raw).hex().upper()}"'
