"""The state of a parser: tokens that are lexed on demand, and errors at places of the text."""

from __future__ import annotations

from typing import NoReturn

from xdsl.context import Context
from xdsl.parser import Parser, ParserState, Position
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError
from sdy.dialects.text.lexer import LazyTokenState, RegexLexer
from sdy.dialects.text.text_lines import SourceLines


class TokenParser(Parser):
    """A parser of the text of `file`, with a faster lexer than that of xDSL."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        super().__init__(context, "", file)
        self._state = LazyTokenState(RegexLexer(Input(text, file)))
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
        self, code: str, message: str, span: Span, hint: str | None = None, notes: tuple[Note, ...] = ()
    ) -> NoReturn:
        """Raise SdyError at a span of the text."""
        raise SdyError(Diagnostic(code, message, self.lines.span(span.start, span.end), hint, notes))
