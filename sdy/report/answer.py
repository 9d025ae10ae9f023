"""The answer to a question about a program: a text, which is also plain data and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Answer(str):
    """Lines of text. `to_json` returns what they say as plain data."""

    __slots__ = ("_parts",)
    _parts: Sequence[object]

    @classmethod
    def of(cls, lines: Iterable[str], parts: Sequence[object]) -> Answer:
        """Return the answer with these lines, which say what `parts` hold as plain data."""
        answer = cls("\n".join(lines))
        answer._parts = parts
        return answer

    def to_json(self) -> list[object]:
        """Return the parts of the answer as plain data."""
        return list(self._parts)

    def __repr__(self) -> str:
        """Return the text, as a prompt shows it."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the text as notebooks show it."""
        return f"<pre>{escape(self)}</pre>"
