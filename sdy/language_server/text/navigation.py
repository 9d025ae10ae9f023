"""Finds the definition and the uses of what a token names: a value, a mesh, a function or an axis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sdy.language_server.text.document import Document, Token, TokenKind
from sdy.language_server.text.scopes import Scopes
from sdy.language_server.text.symbols import Symbols

Extent = tuple[int, int]  # the offsets at which a name begins and ends


@dataclass(frozen=True)
class Names:
    """The names in one version of a text."""

    document: Document

    @cached_property
    def scopes(self) -> Scopes:
        """The definitions of values."""
        return Scopes(self.document.text)

    @cached_property
    def symbols(self) -> Symbols:
        """The meshes and functions."""
        return Symbols(self.document)

    def definition(self, offset: int) -> Extent | None:
        """Return where the name at an offset is defined; None if nothing is named there, or if it is not defined."""
        token = self.document.token_at(offset)
        if token is None:
            return None
        start = self._definition_start(token)
        return None if start is None else (start, start + len(token.text))

    def occurrences(self, offset: int) -> list[Extent]:
        """Return where the text names what is named at an offset: its definition and all uses, in order."""
        token = self.document.token_at(offset)
        if token is None:
            return []
        return [(start, start + len(token.text)) for start in self._starts(token)]

    def _definition_start(self, token: Token) -> int | None:
        match token.kind:
            case TokenKind.VALUE:
                return self.scopes.definition(token.text, token.start)
            case TokenKind.SYMBOL:
                symbol = self.symbols.definition(token.text[1:])
                return None if symbol is None else symbol.start
            case TokenKind.STRING:
                found = self.symbols.axis(token)
                return None if found is None else found[1].start
            case _:
                return None

    def _starts(self, token: Token) -> list[int]:
        match token.kind:
            case TokenKind.VALUE:
                return self.scopes.occurrences(token.text, token.start)
            case TokenKind.SYMBOL:
                return list(self.symbols.uses(token.text[1:]))
            case TokenKind.STRING:
                found = self.symbols.axis(token)
                return [] if found is None else list(self.symbols.axis_uses(*found))
            case _:
                return []
