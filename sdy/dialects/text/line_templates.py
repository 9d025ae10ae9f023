"""Ops built from lines that differ from an earlier line in the names of values alone.

Most lines of a large program repeat: the same op, clauses, attributes and types on other values. Such a line is not
parsed again; what the first one gave is copied for the values that this one names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Operation, Region, SSAValue

MAX_LINE_LENGTH = 2000  # a line with a large constant is not worth remembering

_LINE = re.compile(
    r"[ \t\n]*(?:%(?P<result>[A-Za-z0-9_$.-]+)(?::(?P<count>[0-9]+))? = )?"
    r'(?P<name>[A-Za-z_][A-Za-z0-9_$.]*|"[A-Za-z0-9_$.-]+")(?P<rest>[^\n]*)'
)
_VALUE = re.compile(r"%[A-Za-z0-9_$.-]+(?:#[0-9]+)?")

LineKey = tuple[str, str, str]


class HasImplicitRegions:
    """An op whose text may stand on one line although it has regions."""

    def implicit_regions(self) -> list[Region] | None:
        """Copies of the regions; None where these have text of their own."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Line:
    """The next line of a text, where an op may stand."""

    key: LineKey  # what lines of the same template have in common
    start: int  # of the name of the op
    end: int
    result: str | None
    result_count: int
    values: Sequence[str]  # as they are spelled, `%0#1`
    value_starts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Template:
    """What a line says of its op."""

    op_class: type[Operation]
    operand_places: Sequence[int]  # which value on the line each operand is
    operand_types: Sequence[Attribute]
    result_types: Sequence[Attribute]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    regions: Callable[[], list[Region] | None] | None


def next_line(content: str, position: int, scope: str) -> Line | None:
    """The line at `position`, if an op may begin there. `scope` is what the meaning of a name depends on."""
    match = _LINE.match(content, position)
    if match is None or match.end() - position > MAX_LINE_LENGTH:
        return None
    rest, first = match["rest"], match.start("rest")
    values = list(_VALUE.finditer(rest))
    key = (scope, match["name"], _VALUE.sub("%", rest))
    return Line(
        key,
        match.start("name"),
        match.end(),
        match["result"],
        int(match["count"] or 1),
        [value[0] for value in values],
        [first + value.start() for value in values],
    )


def make_template(line: Line, op: Operation, resolved: Sequence[tuple[int, SSAValue]]) -> Template | None:
    """The template of an op that was parsed from a line.

    `resolved` are the values that were looked up, with the places of their names. None where the op is more than the
    line says, or where a name stands for something else than an operand.
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
