"""Reuse of parsed lines: ops on lines that differ from an earlier line only in the names of values.

Most lines of a large program repeat the same op, clauses, attributes and types with other values. Such a line is not
parsed again: the op of the first line is copied with the operands of this line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import Attribute, Operation, Region, SSAValue

MAX_LINE_LENGTH = 2000  # longer lines hold large constants, which rarely repeat

_LINE = re.compile(
    r"[ \t\n]*(?:%(?P<result>[A-Za-z0-9_$.-]+)(?::(?P<count>[0-9]+))? = )?"
    r'(?P<name>[A-Za-z_][A-Za-z0-9_$.]*|"[A-Za-z0-9_$.-]+")(?P<rest>[^\n]*)'
    r"(?P<location>(?:\s+|//[^\n]*)*+loc\b)?"  # the location of the op, on one of the next lines
)
_VALUE_NAME = re.compile(r"%([A-Za-z0-9_$.-]+(?:#[0-9]+)?)")
# The name of a value, as group 2; or, as group 1, a string or a comment, in which a % begins no name.
_STRING_OR_NAME = re.compile(rf'("(?:[^"\\\n]|\\.)*"|//[^\n]*)|{_VALUE_NAME.pattern}')

LineKey = tuple[str, str, str]


class HasImplicitRegions:
    """An op whose text may be a single line although it has regions."""

    def implicit_regions(self) -> list[Region] | None:
        """Return copies of the regions, or None if the regions are printed."""
        raise NotImplementedError


class Line(NamedTuple):
    """The next line of the text, which may begin with an op."""

    key: LineKey  # equal for lines with the same template
    start: int  # offset of the op name
    end: int
    result: str | None
    result_count: int
    values: Sequence[str]  # names as written, without the `%`, such as `0#1`
    is_followed_by_location: bool  # on one of the next lines

    def value_starts(self, content: str) -> list[int]:
        """Return the offset of each name in `values`, including its `%`, in the text."""
        found = _STRING_OR_NAME.finditer(content, self.start + len(self.key[1]), self.end)
        return [name.start() for name in found if name[1] is None]


class Template(NamedTuple):
    """The op of a line, except for its operands and location."""

    op_class: type[Operation]
    operands: Sequence[tuple[int, Attribute]]  # the index of each among the values on the line, and its type
    result_types: Sequence[Attribute]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    regions: Callable[[], list[Region] | None] | None


def next_line(content: str, position: int, scope: str) -> Line | None:
    """Return the line at `position` if an op may begin there. `scope` is the context that op names depend on."""
    match = _LINE.match(content, position)
    if match is None or match.end("rest") - position > MAX_LINE_LENGTH:
        return None
    result, count, name, rest, location = match.groups()
    pattern, values = _pattern_and_values(rest)
    return Line(
        (scope, name, pattern),
        match.start(3),
        match.end(4),
        result,
        1 if count is None else int(count),
        values,
        location is not None,
    )


def _pattern_and_values(rest: str) -> tuple[str, list[str]]:
    """Return the rest of a line with a line break in place of the name of each value, and the names."""
    if '"' not in rest and "//" not in rest:
        pieces = _VALUE_NAME.split(rest)
        return "\n".join(pieces[::2]), pieces[1::2]
    values = [found[2] for found in _STRING_OR_NAME.finditer(rest) if found[1] is None]
    return _STRING_OR_NAME.sub(r"\1\n", rest), values


def make_template(content: str, line: Line, op: Operation, resolved: Sequence[tuple[int, SSAValue]]) -> Template | None:
    """Return the template of an op parsed from a line of a text, or None if the line does not determine the op.

    `resolved` are the operands that were resolved while the line was parsed, with the offsets of their names.
    """
    regions: Callable[[], list[Region] | None] | None = None
    if op.regions:
        if not isinstance(op, HasImplicitRegions) or op.implicit_regions() is None:
            return None
        regions = op.implicit_regions
    if op.successors or [value for _, value in resolved] != list(op.operands):
        return None
    starts, value_starts = [start for start, _ in resolved], line.value_starts(content)
    if sorted(starts) != value_starts:
        return None
    return Template(
        type(op),
        [(value_starts.index(start), value_type) for start, value_type in zip(starts, op.operand_types, strict=True)],
        op.result_types,
        op.properties,
        op.attributes,
        regions,
    )
