"""Reuse of parsed lines: ops on lines that differ from an earlier line only in the names of values.

Most lines of a large program repeat the same op, clauses, attributes and types with other values. Such a line is not
parsed again: the op of the first line is copied with the operands of this line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from sdy.dialects.ir.fast_ops import operands_of, type_of

MAX_LINE_LENGTH = 2000  # longer lines hold large constants, which rarely repeat

_VALUE_NAME = re.compile(r"%([A-Za-z0-9_$.-]+(?:#[0-9]+)?)")
_RESULT_END = re.compile(r"(?::[0-9]+)?\s*=\s")  # after the only name of results


class HasImplicitRegions:
    """An op whose text may be a single line although it has regions."""

    def implicit_regions(self) -> Callable[[], list[Region]] | None:
        """Return a function that creates copies of the regions, or None if the regions are printed."""
        raise NotImplementedError


class Template(NamedTuple):
    """The op of a line, except for its operands and location."""

    op_class: type[Operation]
    operands: Sequence[tuple[int, Attribute]]  # the index of each among the names on the line, and its type
    result_types: Sequence[Attribute]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    regions: Callable[[], list[Region]] | None
    has_result_name: bool  # the first name on the line is that of the results
    column: int  # of the op, not counting the name of the results
    location: LocationAttr | None  # named at the end of the line


def split_line(line: str) -> tuple[str, list[str]]:
    """Return a pattern, equal for lines that differ only in names of values, and the names, such as `0#1`.

    The pattern has a line break in place of each name. A line that is too long has the pattern of an empty line.
    """
    if len(line) > MAX_LINE_LENGTH:
        return "", []
    pieces = _VALUE_NAME.split(line)
    return "\n".join(pieces[::2]), pieces[1::2]


def make_template(
    line: str, start: int, op: Operation, resolved: Sequence[tuple[int, SSAValue]], named: LocationAttr | None
) -> Template | None:
    """Return the template of an op parsed from the line at offset `start`, or None if the line does not determine it.

    `resolved` are the operands that were resolved while the line was parsed, with the offsets of their names; `named`
    is the location at the end of the line. The location of the op is the place of its name.
    """
    if not _is_plain(line) or op.successors or tuple([value for _, value in resolved]) != operands_of(op):
        return None
    regions: Callable[[], list[Region]] | None = None
    if op.regions:
        regions = op.implicit_regions() if isinstance(op, HasImplicitRegions) else None
        if regions is None:
            return None
    assert isinstance(op.location, FileLineColLoc)  # it was parsed
    column = op.location.column.data
    names = list(_VALUE_NAME.finditer(line))
    has_result_name = line.lstrip().startswith("%")
    if has_result_name:
        if _RESULT_END.match(line, names[0].end()) is None:  # there are several names
            return None
        column -= len(names[0][1])
    positions = {start + name.start(): position for position, name in enumerate(names)}
    operands = [(positions.pop(offset, 0), type_of(value)) for offset, value in resolved]
    if len(positions) != has_result_name or len(operands) + has_result_name != len(names):
        return None
    types = tuple(map(type_of, op.results))
    return Template(type(op), operands, types, op.properties, op.attributes, regions, has_result_name, column, named)


def _is_plain(line: str) -> bool:
    """Return whether a line is short, and each `%` on it begins a name: none is in a string or in a comment."""
    if len(line) > MAX_LINE_LENGTH or "\\" in line or "//" in line:
        return False
    return all(piece.count('"') % 2 == 0 for piece in line.split("%"))
