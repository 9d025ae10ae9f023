"""The errors of a text that changes again and again: most changes cost the lines that changed, not the whole text.

A new text differs from the last valid one in consecutive lines. The ops on these lines are parsed in the state that a
parser of the whole text has there, they replace the old ops in the module, and what depends on them is verified. If
they have errors, so has the text, and the module stays as it was.

Other lines might get errors, too, if the change defines other names, or if it is not one of whole ops in a block. Then
the text must be parsed as a whole.
"""

from __future__ import annotations

import gc
import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.lexer import Span

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.fast_ops import make_location
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.walk import block_of, op_and_nested_ops, ops_around, pre_order
from sdy.dialects.module_text import make_context
from sdy.dialects.text.locating_parser import LocatingParser, located_errors, parse_text
from sdy.dialects.verification.recheck import VerifiedModule
from sdy.dialects.verification.verify_module import verify_module
from sdy.language_server.text.document import Document, LineMap, Position
from sdy.language_server.text.value_index import ValueIndex, arguments_in, position_in, results_before


@dataclass(frozen=True, slots=True)
class ParserState:
    """The state of a parser at an offset: visible values by name without `%`, the ops around it, and the aliases.

    Each enclosing op is given with the offset of its name, outermost first. `locations` are the aliases that the text
    defines as locations, which it may do after the offset.
    """

    values: Mapping[str, Sequence[SSAValue]]
    enclosing: Sequence[tuple[type[Operation], int]]
    aliases: Mapping[str, Attribute]
    locations: Container[str]


@dataclass(frozen=True, slots=True)
class ResumedParse:
    """The ops that were parsed, and the offset of the token after them.

    `is_complete` is False if a full parse may find an error in them: if they use values or aliases that the parser
    did not know.
    """

    ops: Sequence[Operation]
    end: int
    is_complete: bool


class ResumedParser(LocatingParser):
    """A parser that begins at an offset of a text, in the state that a parser of the text has there."""

    def __init__(self, context: Context, text: str, file: str, state: ParserState) -> None:
        super().__init__(context, text, file)
        self.ssa_values = {name: tuple(values) for name, values in state.values.items()}
        self.attribute_aliases = dict(state.aliases)
        self._known_locations = state.locations
        for op_class, start in state.enclosing:
            self._enclosing.append((op_class, Span(start, start + len(op_class.name), self.lexer.input)))

    def parse_ops(self, start: int, end: int) -> ResumedParse:
        """Parse ops from the offset `start`, until one ends at or after the offset `end`, or a block ends.

        Raises: SdyError at the first mistake, the same as a parser of the whole text that gets there.
        """
        ops: list[Operation] = []
        self._resume_from(start)
        with located_errors(self):
            while self._current_token.span.start < end and (op := self.parse_optional_operation()) is not None:
                ops.append(op)
        are_located = all(name in self._known_locations for name in self._location_aliases)
        is_complete = are_located and not self.forward_ssa_references
        return ResumedParse(ops, self._current_token.span.start, is_complete)


class CheckedText:
    """The texts of one file, one after another. The last one without errors is kept, to check the next ones faster."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._context = make_context()
        self._valid: ValidText | None = None
        self._make_valid: Callable[[], ValidText] | None = None  # of a text that was checked as a whole
        self._garbage = 0  # the number of modules that are not used any more
        self.full_checks = 0
        """The number of texts that were parsed and verified in full."""

    @garbage_collection_paused()
    def check(self, text: str) -> Sequence[Diagnostic]:
        """Return the errors of a text, the same that a parse and a verification of all of it find."""
        document = Document(text)
        valid = self._prepared()
        errors = None if valid is None else valid.change(document)
        return self._check_all(document) if errors is None else errors

    def prepare(self) -> None:
        """Use a pause to do what the next check would have to do: index a new text, collect garbage."""
        self._prepared()
        if self._garbage:
            self._garbage = 0
            gc.collect()

    def _prepared(self) -> ValidText | None:
        """Return the last text without errors."""
        if self._make_valid is not None:
            self._valid, self._make_valid = self._make_valid(), None
        return self._valid

    def _check_all(self, document: Document) -> Sequence[Diagnostic]:
        self.full_checks += 1
        self._garbage += 1
        try:
            module, parser = parse_text(self._context, document.text, self._file)
            verify_module(module)
        except SdyError as error:
            return error.diagnostics
        aliases = parser.attribute_aliases
        self._make_valid = lambda: ValidText(document, self._file, self._context, module, aliases)
        return ()


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
    places = [(type(around), _position(around)) for around in ops_around(op)]
    return [(kind, 0 if position is None else document.offset(position)) for kind, position in reversed(places)]


def _position(op: Operation) -> Position | None:
    location = op.location
    return Position(location.line.data - 1, location.column.data - 1) if isinstance(location, FileLineColLoc) else None


_LOOKAHEAD = 3  # lines after the changed ones, into which an op that is not finished may run

Values = Sequence[SSAValue]
Results = dict[str, Values]  # by name


class ValidText:
    """A document without errors, its module, and the aliases that it defines.

    Raises: SdyError at construction, for the first problem of the module.
    """

    def __init__(
        self, document: Document, file: str, context: Context, module: ModuleOp, aliases: Mapping[str, Attribute]
    ) -> None:
        self._file = file
        self._context = context
        self._aliases = aliases
        self._verified = VerifiedModule(module)
        index = ValueIndex(pre_order(module), document, file)
        self._positions = list(index.ops)
        self._ops = list(index.ops.values())
        self._values: dict[str, list[Values]] = {}
        self._add_values(index)
        self._document = document
        self._is_in_order = self._positions == sorted(self._positions)

    def change(self, document: Document) -> Sequence[Diagnostic] | None:
        """Return the errors of a new text, which replaces the valid one if there are none.

        Return None if the text must be parsed as a whole.
        """
        lines = LineMap.between(self._document.lines, document.lines)
        if lines.prefix == lines.old_end == lines.new_end:
            return ()
        listing = Listing(self._document, self._positions, self._ops, self._values)
        section = changed_section(listing, document, lines) if self._is_in_order else None
        if section is None:
            return None
        window_end = document.offset(Position(lines.new_end + _LOOKAHEAD, 0))
        state = parser_state(listing, section, document, document.text[section.start : window_end], self._aliases)
        if state is None:
            return None
        parser = ResumedParser(self._context, document.text, self._file, state)
        try:
            parsed = parser.parse_ops(section.start, section.end)
        except SdyError as error:
            return error.diagnostics if parser.consumed <= window_end else None
        if not parsed.is_complete or parsed.end != section.end:
            return None
        return self._replace(section, parsed.ops, document, lines)

    def _replace(
        self, section: Section, ops: Sequence[Operation], document: Document, lines: LineMap
    ) -> Sequence[Diagnostic] | None:
        """Replace the ops of a section unless the new ones have errors; return the errors, or None as `change`."""
        index = ValueIndex(chain.from_iterable(map(op_and_nested_ops, ops)), document, self._file)
        old, new = _results(section.ops, self._document, self._file), _results(ops, document, self._file)
        changed = [name for name in old.keys() | new.keys() if _types(old.get(name)) != _types(new.get(name))]
        if any(_is_mentioned(name, document.text, section) for name in changed):
            return None
        following = self._ops[section.rows.stop :]
        moved = lines.new_end - lines.old_end
        kept = [name for name in old if name not in changed]
        _move(following, moved, self._file)
        with self._verified.listening():
            _exchange(section.ops, ops, section.following, [(old[name], new[name]) for name in kept])
            try:
                self._verified.verify()
            except SdyError as error:
                _exchange(ops, section.ops, section.following, [(new[name], old[name]) for name in kept])
                self._verified.verify()  # what it remembers is then that of the old ops
                _move(following, -moved, self._file)
                _erase(ops)
                return error.diagnostics
        self._forget_values(section)
        _erase(section.ops)
        self._add_values(index)
        self._positions[section.rows.start :] = [
            *index.ops,
            *(Position(each.line + moved, each.column) for each in self._positions[section.rows.stop :]),
        ]
        self._ops[section.rows] = index.ops.values()
        self._document = document
        return ()

    def _add_values(self, index: ValueIndex) -> None:
        for name, definitions in _by_name(index).items():
            self._values.setdefault(name, []).extend(definitions)

    def _forget_values(self, section: Section) -> None:
        """Remove the values of the old ops and of their blocks."""
        inside = list(chain.from_iterable(map(op_and_nested_ops, section.ops)))
        values = chain.from_iterable((*op.results, *arguments_in(op)) for op in inside)
        removed = set(map(id, values))
        for name, definitions in self._values.items():
            if any(id(definition[0]) in removed for definition in definitions):
                self._values[name] = [each for each in definitions if id(each[0]) not in removed]


def _by_name(index: ValueIndex) -> dict[str, list[Values]]:
    """Return the values of each definition of a name."""
    found: dict[str, list[Values]] = {}
    for (_, name), values in index.values.items():
        found.setdefault(name, []).append(values)
    return found


def _results(ops: Iterable[Operation], document: Document, file: str) -> Results:
    """Return the results of ops by their names in a document."""
    found: Results = {}
    for op in ops:
        position = position_in(op.location, file)
        if position is not None:
            for (_, name), values in results_before(op, document.lines[position.line], position):
                found[name] = list(values)
    return found


def _types(values: Values | None) -> list[Attribute] | None:
    return None if values is None else [value.type for value in values]


def _is_mentioned(name: str, text: str, section: Section) -> bool:
    """Return whether the text has a name before or after a section."""
    mentions = re.finditer(re.escape(name) + r"(?![\w$.-])", text)
    return any(not section.start <= match.start() < section.end for match in mentions)


def _exchange(
    old: Iterable[Operation], new: Iterable[Operation], following: Operation, pairs: Iterable[tuple[Values, Values]]
) -> None:
    """Put new ops in the place of old ones, before the op that follows these, and let the new values be used."""
    block = following.parent
    assert block is not None  # the op is in a block
    for op in new:
        block.insert_op_before(op, following)
    for old_value, new_value in chain.from_iterable(zip(*pair, strict=True) for pair in pairs):
        old_value.replace_all_uses_with(new_value)
    for op in old:
        block.detach_op(op)


def _erase(ops: Iterable[Operation]) -> None:
    """Remove the uses of values by ops that are in no block."""
    for op in ops:
        op.drop_all_references()


def _move(ops: Iterable[Operation], lines: int, file: str) -> None:
    """Change the locations of ops, and of the arguments of their blocks, by a number of lines."""
    if lines == 0:
        return
    for op in ops:
        op.location = _moved(op.location, lines, file)
        for argument in arguments_in(op):
            argument.location = _moved(argument.location, lines, file)


def _moved(location: LocationAttr, lines: int, file: str) -> LocationAttr:
    position = position_in(location, file)
    if position is None:
        return location
    return make_location(StringAttr(file), position.line + lines + 1, IntAttr(position.column + 1))
