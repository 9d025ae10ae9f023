"""Finds the arguments, results and annotations of functions in MLIR text, so that they can be changed in place."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Span

CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|->|[()\[\]{}<>]')
_ATTRIBUTES = re.compile(r"\s*attributes\s*")


class UnsupportedTextError(Exception):
    """The text has another form than the one that is searched for."""


@dataclass(frozen=True, slots=True)
class FunctionText:
    """The offsets of the header of a function: of each argument, of each result, and of the first line of its body.

    `results_are_bare` means that the only result has no parentheses around it, and thus no attributes.
    """

    arguments: tuple[tuple[int, int], ...]
    results: tuple[tuple[int, int], ...]
    results_are_bare: bool
    body: int
    end: int


class ProgramText:
    """The text of a program, searched by bracket structure. Strings are skipped."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def offset(self, op: Operation) -> int:
        """Return the offset at which the name of an op begins. Raises: UnsupportedTextError if it has no location."""
        location = op.location
        if not isinstance(location, FileLineColLoc) or location.line.data > len(self._line_starts):
            raise UnsupportedTextError
        return self._line_starts[location.line.data - 1] + location.column.data - 1

    def line(self, offset: int) -> tuple[int, int]:
        """Return the start and the end of the line of an offset; the end is that of its newline."""
        index = bisect_left(self._line_starts, offset + 1)
        return self._line_starts[index - 1], self._line_starts[index] if index < len(self._line_starts) else len(
            self.text
        )

    def span(self, start: int, end: int, file: str) -> Span:
        """Return the location of a part of the text without the blanks around it; it ends with its line."""
        part = self.text[start:end]
        start += len(part) - len(part.lstrip())
        first, last = self.line(start)
        length = max(1, min(len(self.text[start:end].rstrip()), len(self.text[start:last].rstrip())))
        line = bisect_left(self._line_starts, start + 1)
        return Span(file, line, start - first + 1, length)

    def closing(self, start: int) -> int:
        """Return the offset after the bracket that closes the one at `start`."""
        expected: list[str] = []
        for match in _TOKEN.finditer(self.text, start):
            token = match.group()
            if token in CLOSING:
                expected.append(CLOSING[token])
            elif expected and token == expected[-1]:
                expected.pop()
                if not expected:
                    return match.end()
        raise UnsupportedTextError

    def find(self, bracket: str, start: int, end: int) -> int | None:
        """Return the offset of an opening bracket that is not inside of others; None if there is none before `end`."""
        position = start
        while (match := _TOKEN.search(self.text, position, end)) is not None:
            if match.group() == bracket:
                return match.start()
            position = self.closing(match.start()) if match.group() in CLOSING else match.end()
        return None

    def type_end(self, start: int, end: int) -> int:
        """Return the offset after the type that begins at `start` or after blanks, such as `tensor<8xf32>`."""
        bracket = self.find("<", start, end)
        if bracket is None:
            raise UnsupportedTextError
        return self.closing(bracket)

    def function(self, offset: int) -> FunctionText:
        """Return the header of the function that begins at an offset."""
        first = self.text.index("(", offset)
        position = self.closing(first)
        arguments = tuple(self._elements(first, position))
        results: tuple[tuple[int, int], ...] = ()
        is_bare = False
        arrow = re.compile(r"\s*->\s*").match(self.text, position)
        if arrow is not None:
            is_bare = self.text[arrow.end()] != "("
            if is_bare:
                position = self.type_end(arrow.end(), len(self.text))
                results = ((arrow.end(), position),)
            else:
                position = self.closing(arrow.end())
                results = tuple(self._elements(arrow.end(), position))
        attributes = _ATTRIBUTES.match(self.text, position)
        if attributes is not None:
            position = self.closing(attributes.end())
        brace = self.text.index("{", position)
        return FunctionText(arguments, results, is_bare, self.line(brace)[1], self.closing(brace))

    def _elements(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the elements of a list in brackets, which are separated by commas."""
        start = position = first + 1
        while position < last - 1:
            character = self.text[position]
            if character == ",":
                yield start, position
                start = position = position + 1
            elif character == '"' or character in CLOSING:
                match = _TOKEN.match(self.text, position)
                position = self.closing(position) if character in CLOSING else match.end() if match else position + 1
            else:
                position += 1
        if self.text[start:position].strip():
            yield start, position
