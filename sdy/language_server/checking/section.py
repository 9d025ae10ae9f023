"""The ops of a block that take the place of changed lines, and what the parser knows before them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from sdy.dialects.ir.walk import block_of
from sdy.dialects.text.resumed_parser import ParserState
from sdy.language_server.text.document import Document, LineMap, Position

_NAME = re.compile(r"%[\w$.-]+")
_ALIAS = re.compile(r"[#!][A-Za-z_$][\w$.]*")
_TOP_LEVEL = ("#", "!", "{-#")  # how definitions of aliases and the resources of a file begin
_BEFORE_OP = re.compile(r"\s*(?:(?:%[\w$.:-]+\s*,\s*)*%[\w$.:-]+\s*=\s*)?")
_BEFORE_FIRST_OP = re.compile(r".*\{\s*|\s*\^.*:\s*")  # the line before the first op of a block
_BLANK = re.compile(r"\s*(?://.*)?")


@dataclass(frozen=True, slots=True)
class Listing:
    """The ops that a document lists, with the positions of their names, in its order; and the values of each name."""

    document: Document
    positions: Sequence[Position]
    ops: Sequence[Operation]
    values: Mapping[str, Sequence[Sequence[SSAValue]]]


@dataclass(frozen=True, slots=True)
class Section:
    """Consecutive ops of a block, whose text in a new document is between the offsets `start` and `end`.

    `rows` are their rows in the listing, with those of the ops inside them; `following` is the next op of the block.
    """

    ops: Sequence[Operation]
    rows: slice
    following: Operation
    start: int
    end: int


def changed_section(listing: Listing, document: Document, lines: LineMap) -> Section | None:
    """Return the ops that changed lines belong to, and the op before, whose text might go on in these lines.

    Return None if the lines are not part of whole ops in one block.
    """
    old, new = listing.document.lines[lines.prefix : lines.old_end], document.lines[lines.prefix : lines.new_end]
    last = bisect_left(listing.positions, Position(lines.old_end, 0))
    if last == len(listing.ops) or any(line.lstrip().startswith(_TOP_LEVEL) for line in (*old, *new)):
        return None
    following = listing.ops[last]
    block = following.parent
    if block is None or block.parent is None or len(block.parent.blocks) > 1:
        return None
    ops, rows = _ops_before(listing, last, lines.prefix)
    first = rows[0] if rows else last
    if rows and listing.positions[first].line < lines.prefix:
        start = _op_start(listing, first, document, lines)
    else:
        is_first = _begins_block(listing, listing.positions[first].line, lines)
        start = document.offset(Position(lines.prefix, 0)) if is_first else None
    end = _op_start(listing, last, document, lines)
    return None if start is None or end is None else Section(ops, slice(first, last), following, start, end)


def _ops_before(listing: Listing, last: int, line: int) -> tuple[list[Operation], list[int]]:
    """Return the ops before the one in a row, in its block, from the last one that begins before a line; their rows."""
    ops: list[Operation] = []
    rows: list[int] = []
    op = listing.ops[last].prev_op
    while op is not None and (position := _position(op)) is not None:
        ops.insert(0, op)
        rows.insert(0, bisect_left(listing.positions, position))
        if position.line < line:
            break
        op = op.prev_op
    return ops, rows


def _op_start(listing: Listing, row: int, document: Document, lines: LineMap) -> int | None:
    """Return the offset in the new document of an op on a line that did not change; None if it does not begin there."""
    position = listing.positions[row]
    line = lines.to_new(position.line)
    before = listing.document.lines[position.line][: position.column]
    if line is None or not _BEFORE_OP.fullmatch(before):
        return None
    return document.offset(Position(line, len(before) - len(before.lstrip())))


def _begins_block(listing: Listing, line: int, lines: LineMap) -> bool:
    """Return whether the changed lines are the first ones of a block, whose first op is on a line of the old text."""
    old = listing.document.lines
    return (
        lines.prefix > 0
        and _BEFORE_FIRST_OP.fullmatch(old[lines.prefix - 1]) is not None
        and all(map(_BLANK.fullmatch, old[lines.prefix : line]))
    )


def parser_state(
    listing: Listing, section: Section, document: Document, window: str, aliases: Mapping[str, Attribute]
) -> ParserState | None:
    """Return what a parser knows at the start of a section, of the names in the text `window` that it parses there.

    Return None where values of other blocks of a region are visible.
    """
    blocks = _visible_blocks(section.following)
    if any(block.parent is not None and len(block.parent.blocks) > 1 for block in blocks):
        return None
    line = document.position(section.start).line
    values = {name[1:]: _visible(listing.values.get(name, ()), blocks, line) for name in _NAME.findall(window)}
    used = {name: aliases[name] for name in _ALIAS.findall(window) if name in aliases}
    defined = {
        name: value
        for name, value in used.items()
        if re.compile(rf"^\s*{re.escape(name)}\s*=", re.MULTILINE).search(document.text, 0, section.start)
    }
    locations = {name for name, value in used.items() if isinstance(value, LocationAttr)}
    known = {name: found for name, found in values.items() if found}
    return ParserState(known, _enclosing(section.following, document), defined, locations)


def _visible_blocks(op: Operation) -> list[Block]:
    """Return the block of an op, and the blocks around it whose values it may use, innermost first."""
    blocks: list[Block] = []
    around: Operation | None = op
    while around is not None and around.parent is not None:
        blocks.append(around.parent)
        around = around.parent.parent_op()
        if around is not None and around.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            break
    return blocks


def _visible(definitions: Sequence[Sequence[SSAValue]], blocks: Sequence[Block], line: int) -> list[SSAValue]:
    """Return the values of the definition that is visible on a line in the first one of the blocks."""
    around = [block.parent_op() for block in blocks]

    def is_defined(value: SSAValue) -> bool:
        owner = value.owner
        if isinstance(owner, Block):
            return True
        position = _position(owner)
        # The results of an op are not defined yet while its regions are parsed.
        return position is not None and position.line < line and owner not in around

    for values in definitions:
        owned = [each for each in values if block_of(each) in blocks]
        if owned and all(map(is_defined, owned)):
            return owned
    return []


def _enclosing(op: Operation, document: Document) -> list[tuple[type[Operation], int]]:
    """Return the classes of the ops around an op, outermost first, with the offsets of their names."""
    found: list[tuple[type[Operation], int]] = []
    around = op.parent_op()
    while around is not None:
        position = _position(around)
        found.insert(0, (type(around), 0 if position is None else document.offset(position)))
        around = around.parent_op()
    return found


def _position(op: Operation) -> Position | None:
    location = op.location
    return Position(location.line.data - 1, location.column.data - 1) if isinstance(location, FileLineColLoc) else None
