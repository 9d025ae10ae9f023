"""The meshes, axes and functions that a text defines, found without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
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
