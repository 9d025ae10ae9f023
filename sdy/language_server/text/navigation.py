"""Finds the definition and the uses of what a token names: a value, a mesh, a function or an axis.

The text is not parsed: values are found by brackets. A result (`%0 = ...`) and an argument of a block (`^bb0(%a: ...)`)
are visible in the braces around them. An argument in the header of an op is visible in the regions that follow: of a
function, a reducer, a loop or a manual computation. In a text that parses, these definitions are those that the parser
finds.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sdy.language_server.text.document import Document, Token, TokenKind

_MESH = re.compile(r"\bsdy\.mesh\s+@(?P<name>[\w$.]+)\s*=\s*<\[(?P<axes>[^\]\n]*)")
_AXIS = re.compile(r'"(?P<name>[^"\n]+)"\s*=\s*(?P<size>\d+)')
_FUNCTION = re.compile(r"\bfunc\.func\s+(?:(?:public|private|nested)\s+)?@(?P<name>[\w$.]+)")
_MESH_NAME = re.compile(r"<@([\w$.]+)")


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis that a text defines: its name, its size and the offset of its name with the quotes."""

    name: str
    size: int
    start: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A mesh or a function that a text defines: its name without `@`, and the offset of the `@`."""

    name: str
    start: int
    axes: tuple[Axis, ...] = ()


class Symbols:
    """The symbols of a text."""

    def __init__(self, document: Document) -> None:
        self._document = document

    @cached_property
    def meshes(self) -> dict[str, Symbol]:
        """The meshes, by name."""
        text = self._document.text
        found: dict[str, Symbol] = {}
        for match in _MESH.finditer(text):
            axes = (
                Axis(axis["name"], int(axis["size"]), axis.start())
                for axis in _AXIS.finditer(text, *match.span("axes"))
            )
            found.setdefault(match["name"], Symbol(match["name"], match.start("name") - 1, tuple(axes)))
        return found

    @cached_property
    def functions(self) -> dict[str, Symbol]:
        """The functions, by name."""
        matches = _FUNCTION.finditer(self._document.text)
        return {match["name"]: Symbol(match["name"], match.start("name") - 1) for match in matches}

    def definition(self, name: str) -> Symbol | None:
        """Return the mesh or the function with a name without `@`."""
        return self.meshes.get(name) or self.functions.get(name)

    def uses(self, name: str) -> Iterator[int]:
        """Yield the offsets of `@name` in the text, its definition included."""
        for match in re.finditer(rf"@{re.escape(name)}(?![\w$.])", self._document.text):
            token = self._document.token_at(match.start() + 1)
            if token is not None and token.kind is TokenKind.SYMBOL:
                yield match.start()

    def axis(self, token: Token) -> tuple[Symbol, Axis] | None:
        """Return the axis, with its mesh, that a string in quotes names; None if it names none."""
        if token.kind is not TokenKind.STRING:
            return None
        mesh = self.mesh_around(token.start)
        for each in self.meshes.values() if mesh is None else (mesh,):
            for axis in each.axes:
                if f'"{axis.name}"' == token.text:
                    return each, axis
        return None

    def axis_uses(self, mesh: Symbol, axis: Axis) -> Iterator[int]:
        """Yield the offsets at which the text names an axis of a mesh, its definition included."""
        for match in re.finditer(re.escape(f'"{axis.name}"'), self._document.text):
            token = self._document.token_at(match.start() + 1)
            if token is not None and token.start == match.start() and self.axis(token) == (mesh, axis):
                yield match.start()

    def mesh_around(self, offset: int) -> Symbol | None:
        """Return the mesh of an axis at an offset: that of the mesh or the sharding around it, or one on its line."""
        text, start = self._document.text, self._document.line_start(offset)
        for mesh in self.meshes.values():
            if start <= mesh.start < offset:
                return mesh
        names = list(_MESH_NAME.finditer(text, start, self._document.line_end(offset)))
        before = [match[1] for match in names if match.start() < offset]
        return self.meshes.get(before[-1] if before else names[0][1]) if names else None


# A run of other characters, then a bracket as group 1, or a token without brackets: a string, a comment, parentheses
# around types. Runs and possessive quantifiers make the search three times as fast as one for brackets alone.
_BRACKET = re.compile(r"""[^"/(){}]*+(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|//[^\n]*+|\([^"/(){}%]*+\)|([(){}])|["/])""")
_OPENING = {")": "(", "}": "{"}

_TOKENS_BEFORE = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*')
_BEFORE_RESULT = re.compile(r"(?:^|[{}])\s*(?:%[\w$.-]+(?::\d+)?\s*,\s*)*$")
_AFTER_RESULT = re.compile(r"(?::\d+)?\s*(?:,\s*%[\w$.-]+(?::\d+)?\s*)*=(?!=)")
_AFTER_ARGUMENT = re.compile(r"\s*:(?!:)")
_AFTER_LOOP_ARGUMENT = re.compile(r"\s*=\s*%")
_LOOP = re.compile(r"\bwhile\s*$")
_BODY = re.compile(r"\{[ \t]*$", re.MULTILINE)
_BLOCK_LABEL = re.compile(r"\^[\w$.-]+\s*$")
_ATTRIBUTES = re.compile(r"\battributes\s*$")
_NEXT_REGION = re.compile(r"\s*do\s*$")


@dataclass(frozen=True, slots=True)
class NameDefinition:
    """The definition of a name at the offset `start`, which is visible from `first` up to `last`."""

    start: int
    first: int
    last: int


class Scopes:
    """The definitions of names in a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._brackets = Brackets(text)

    def definition(self, name: str, offset: int) -> int | None:
        """Return the offset of the definition of `%name` that is visible at an offset; None if there is none."""
        found = _visible(self._definitions(self._mentions(name), name), offset)
        return None if found is None else found.start

    def occurrences(self, name: str, offset: int) -> list[int]:
        """Return the offsets of the definition of `%name` that is visible at an offset, and of all its uses."""
        mentions = self._mentions(name)
        definitions = self._definitions(mentions, name)
        wanted = _visible(definitions, offset)
        return [] if wanted is None else [each for each in mentions if _visible(definitions, each) is wanted]

    def end_of_body(self, first: int, last: int) -> int | None:
        """Return the end of the first braces after which a line ends, between two offsets; None if there are none."""
        found = _BODY.search(self._text, first, last)
        return None if found is None else self._brackets.at(found.start()).end + 1

    def _mentions(self, name: str) -> list[int]:
        """Return the offsets of a name in the text, without those in strings and comments."""
        pattern = re.compile(re.escape(name) + r"(?![\w$.-])")
        return [match.start() for match in pattern.finditer(self._text) if not self._is_in_token(match.start())]

    def _is_in_token(self, offset: int) -> bool:
        """Return whether an offset is inside a string or a comment."""
        start = self._text.rfind("\n", 0, offset) + 1
        before = self._text[start : offset + 1]
        if '"' not in before and "//" not in before:
            return False
        end = self._text.find("\n", offset)
        tokens = _TOKENS_BEFORE.finditer(self._text, start, end if end >= 0 else len(self._text))
        return any(match.start() <= offset < match.end() for match in tokens)

    def _definitions(self, mentions: list[int], name: str) -> list[NameDefinition]:
        found = (self._as_definition(start, start + len(name)) for start in mentions)
        return [each for each in found if each is not None]

    def _as_definition(self, start: int, end: int) -> NameDefinition | None:
        """Return the definition that a mention of a name is; None if it is a use."""
        around = self._brackets.around(start)
        if around is not None and around.kind == "(":
            is_argument = _AFTER_ARGUMENT.match(self._text, end) or (
                _AFTER_LOOP_ARGUMENT.match(self._text, end) and _LOOP.search(self._line_before(around.start))
            )
            return self._argument(start, around) if is_argument else None
        if _AFTER_RESULT.match(self._text, end) and _BEFORE_RESULT.search(self._line_before(start)):
            return self._inside(start, self._brackets.braces_around(start))
        return None

    def _argument(self, start: int, parentheses: Pair) -> NameDefinition | None:
        """Return the definition of an argument in parentheses; None if they belong to no region."""
        if _BLOCK_LABEL.search(self._line_before(parentheses.start)):
            return self._inside(start, self._brackets.braces_around(start))
        region = self._brackets.next_braces(parentheses)
        if region is not None and _ATTRIBUTES.search(self._line_before(region.start)):
            region = self._brackets.next_braces(region)
        if region is None:
            return None
        last, following = region.end, self._brackets.next_braces(region)
        if following is not None and _NEXT_REGION.fullmatch(self._text, region.end + 1, following.start):
            last = following.end
        return NameDefinition(start, region.start, last)

    def _inside(self, start: int, braces: Pair | None) -> NameDefinition:
        return NameDefinition(start, *((0, len(self._text)) if braces is None else (braces.start, braces.end)))

    def _line_before(self, offset: int) -> str:
        """Return the text of a line before an offset on it."""
        return self._text[self._text.rfind("\n", 0, offset) + 1 : offset]


def _visible(definitions: list[NameDefinition], offset: int) -> NameDefinition | None:
    """Return the definition with the innermost scope around an offset; of several, the last one before it."""
    around = [each for each in definitions if each.start == offset or each.first <= offset < each.last]
    return max(
        around, key=lambda each: (each.start == offset, each.first, each.start <= offset, each.start), default=None
    )


@dataclass(slots=True)
class Pair:
    """A bracket that opens at `start`; `end` is the offset of the one that closes it, or the end of the text."""

    kind: str
    start: int
    end: int
    outer: Pair | None


class Brackets:
    """The parentheses and braces of a text, without those in strings and comments, and those around types.

    A brace closes the parentheses inside it that are still open; a parenthesis that closes nothing is ignored.
    """

    def __init__(self, text: str) -> None:
        self._pairs: list[Pair] = []
        self._starts: list[int] = []
        self._offsets: list[int] = []  # of all brackets
        self._innermost: list[Pair | None] = []  # after each bracket
        inner: Pair | None = None
        for match in _BRACKET.finditer(text):
            kind = match[1]
            if kind is None:
                continue
            offset = match.end() - 1
            if kind in ("(", "{"):
                inner = Pair(kind, offset, len(text), inner)
                self._pairs.append(inner)
                self._starts.append(offset)
            else:
                inner = _closed(inner, _OPENING[kind], offset)
            self._offsets.append(offset)
            self._innermost.append(inner)

    def around(self, offset: int) -> Pair | None:
        """Return the innermost pair around an offset; None at the outermost level."""
        index = bisect_left(self._offsets, offset) - 1
        return self._innermost[index] if index >= 0 else None

    def at(self, start: int) -> Pair:
        """Return the pair that begins at an offset."""
        return self._pairs[bisect_left(self._starts, start)]

    def braces_around(self, offset: int) -> Pair | None:
        """Return the innermost braces around an offset."""
        found = self.around(offset)
        while found is not None and found.kind != "{":
            found = found.outer
        return found

    def next_braces(self, pair: Pair) -> Pair | None:
        """Return the first braces after a pair, inside the same brackets; None if there are none."""
        for index in range(bisect_right(self._starts, pair.end), len(self._pairs)):
            found = self._pairs[index]
            if found.kind == "{" and found.outer is pair.outer:
                return found
            if pair.outer is not None and found.start > pair.outer.end:
                return None
        return None


def _closed(inner: Pair | None, kind: str, offset: int) -> Pair | None:
    """Return the innermost pair after a bracket that closes pairs of a kind."""
    if kind == "{":
        while inner is not None and inner.kind == "(":
            inner.end, inner = offset, inner.outer
    if inner is None or inner.kind != kind:
        return inner
    inner.end = offset
    return inner.outer


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
