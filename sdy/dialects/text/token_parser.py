"""The state of a parser: tokens that are lexed on demand, and errors at places of the text."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, repeat
from operator import add
from typing import NoReturn

from xdsl.context import Context
from xdsl.parser import Parser, ParserState, Position
from xdsl.utils import lexer
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, Span, span_at
from sdy.dialects.text.lexer import LazyTokenState, RegexLexer


class TokenParser(Parser):
    """A parser of the text of `file`, with a faster lexer than that of xDSL."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        super().__init__(context, "", file)
        self._state = LazyTokenState(RegexLexer(lexer.Input(text, file)))
        self._parser_state = self._state
        self.lines = SourceLines(file, text)
        self.consumed = 0
        """The end of the last token consumed."""

    @property
    def _current_token(self) -> MLIRToken:
        return self._state.token or self._state.current_token  # without the properties that xDSL calls

    def position(self) -> int:
        """Return the offset at which the next token begins, or the blanks before it."""
        token = self._state.token
        return self.lexer.pos if token is None else token.span.start

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        consumed = self._current_token
        self._state.token = None
        self.consumed = consumed.span.end
        return consumed

    def _resume_from(self, pos: Position | ParserState[MLIRTokenKind, str]) -> None:
        if isinstance(pos, ParserState):
            super()._resume_from(pos)
            return
        self.lexer.pos = self.consumed = pos
        self._state.token = None

    def fail(
        self, code: str, message: str, span: lexer.Span, hint: str | None = None, notes: tuple[Note, ...] = ()
    ) -> NoReturn:
        """Raise SdyError at a span of the text."""
        raise SdyError(Diagnostic(code, message, self.lines.span(span.start, span.end), hint, notes))


class SourceLines:
    """The lines of the text of `file`. Lines and columns count from 1, indices and offsets from 0."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self.texts = text.split("\n")
        """The lines, without line breaks."""
        self.starts = list(accumulate(map(add, map(len, self.texts), repeat(1)), initial=0))
        """The offset of each line, and that of the line after the last one."""

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset."""
        index = self._index_of(offset)
        return index + 1, offset - self.starts[index] + 1

    def index_at_begin(self, offset: int) -> int | None:
        """Return the index of the line that begins at an offset, not counting blanks before and after it; else None."""
        index = self._index_of(offset)
        before, after = self._text[self.starts[index] : offset], self._text[offset : self.starts[index + 1]]
        if not before.strip():
            return index
        return None if after.strip() else index + 1

    def _index_of(self, offset: int) -> int:
        return bisect_right(self.starts, offset, hi=len(self.texts)) - 1

    def span(self, start: int, end: int | None = None) -> Span:
        """Return the span from `start` to `end`, truncated at the end of its line."""
        return span_at(self._file, self._text, start, end)
