"""Finds the definition and the uses of what a token names: a value, a mesh, a function or an axis."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from sdy.language_server.text.document import Document, Token, TokenKind
from sdy.language_server.text.scopes import Scopes
from sdy.language_server.text.symbols import Symbols

_NAME = re.compile(r"[a-zA-Z_$.-][\w$.-]*|\d+")
_ANY_NAME = re.compile(r'[^"\\\n]+')

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

    def renamed(self, offset: int, name: str) -> str | None:
        """Return a new name for what is named at an offset, as it is written; None if it cannot have it.

        The name may lack the `%`, the `@` or the quotes. It must not be taken where the old one is used.
        """
        token = self.document.token_at(offset)
        if token is None or self.definition(offset) is None:
            return None
        left, right = token.text[0], '"' if token.kind is TokenKind.STRING else ""
        bare = name.removeprefix(left).removesuffix(right)
        if (_ANY_NAME if right else _NAME).fullmatch(bare) is None:
            return None
        taken = (
            self._definition_start(replace(token, text=left + bare + right, start=at)) for at in self._starts(token)
        )
        return None if any(each is not None for each in taken) else left + bare + right

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
