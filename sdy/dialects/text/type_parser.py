"""A parser of the shapes and the integer and float types of MLIR, within MLIR's limits."""

from __future__ import annotations

import re
from typing import NoReturn

from xdsl.ir import Attribute, TypeAttribute
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from sdy.diagnostics.similar_names import similar_name_hint
from sdy.dialects.constants.float_formats import FLOAT_FORMATS
from sdy.dialects.text.token_parser import TokenParser

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
