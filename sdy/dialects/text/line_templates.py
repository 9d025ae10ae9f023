"""Reuse of parsed lines: ops on lines that differ from an earlier line only in the names of values.

Most lines of a large program repeat the same op, clauses, attributes and types with other values. Such a line is not
parsed again: the op of the first line is copied with the operands of this line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Operation, Region, SSAValue

MAX_LINE_LENGTH = 2000  # longer lines hold large constants, which rarely repeat

_LINE = re.compile(
    r"[ \t\n]*(?:%(?P<result>[A-Za-z0-9_$.-]+)(?::(?P<count>[0-9]+))? = )?"
    r'(?P<name>[A-Za-z_][A-Za-z0-9_$.]*|"[A-Za-z0-9_$.-]+")(?P<rest>[^\n]*)'
)
# The name of a value; or, as group 1, a string or a comment, in which a % begins no name.
_VALUE_NAME = re.compile(r'("(?:[^"\\\n]|\\.)*"|//[^\n]*)|%[A-Za-z0-9_$.-]+(?:#[0-9]+)?')
_LOCATION = re.compile(r"(?:\s+|//[^\n]*)*+loc\b")

LineKey = tuple[str, str, str]


class HasImplicitRegions:
    """An op whose text may be a single line although it has regions."""

    def implicit_regions(self) -> list[Region] | None:
        """Return copies of the regions, or None if the regions are printed."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Line:
    """The next line of the text, which may begin with an op."""

    key: LineKey  # equal for lines with the same template
    start: int  # offset of the op name
    end: int
    result: str | None
    result_count: int
    values: Sequence[str]  # as written, such as `%0#1`
    value_starts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Template:
    """The op of a line, except for its operands and location."""

    op_class: type[Operation]
    operand_indices: Sequence[int]  # for each operand, its index among the values on the line
    operand_types: Sequence[Attribute]
    result_types: Sequence[Attribute]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    regions: Callable[[], list[Region] | None] | None


def next_line(content: str, position: int, scope: str) -> Line | None:
    """Return the line at `position` if an op may begin there. `scope` is the context that op names depend on."""
    match = _LINE.match(content, position)
    if match is None or match.end() - position > MAX_LINE_LENGTH:
        return None
    rest, first = match["rest"], match.start("rest")
    values = [found for found in _VALUE_NAME.finditer(rest) if found[1] is None]
    key = (scope, match["name"], _VALUE_NAME.sub(r"\1%", rest))
    return Line(
        key,
        match.start("name"),
        match.end(),
        match["result"],
        int(match["count"] or 1),
        [value[0] for value in values],
        [first + value.start() for value in values],
    )


def is_followed_by_location(content: str, end: int) -> bool:
    """Return whether the location of an op that ends at the offset `end` is on one of the next lines."""
    return _LOCATION.match(content, end) is not None


def make_template(line: Line, op: Operation, resolved: Sequence[tuple[int, SSAValue]]) -> Template | None:
    """Return the template of an op parsed from a line, or None if the line does not determine the op.

    `resolved` are the operands that were resolved while the line was parsed, with the offsets of their names.
    """
    regions: Callable[[], list[Region] | None] | None = None
    if op.regions:
        if not isinstance(op, HasImplicitRegions) or op.implicit_regions() is None:
            return None
        regions = op.implicit_regions
    if op.successors or [value for _, value in resolved] != list(op.operands):
        return None
    starts = [start for start, _ in resolved]
    if sorted(starts) != line.value_starts:
        return None
    return Template(
        type(op),
        [line.value_starts.index(start) for start in starts],
        op.operand_types,
        op.result_types,
        op.properties,
        op.attributes,
        regions,
    )
