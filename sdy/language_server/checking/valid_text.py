"""A text without errors, with its module, and what changes when some of its lines do.

A new text differs from the valid one in consecutive lines. The ops on these lines are parsed in the state that a parser
of the whole text has there, they replace the old ops in the module, and what depends on them is verified. If they have
errors, so has the text, and the module stays as it was.

Other lines might get errors, too, if the change defines other names, or if it is not one of whole ops in a block. Then
the text must be parsed as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from xdsl.context import Context
from xdsl.dialects.builtin import IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.fast_ops import make_location
from sdy.dialects.ir.walk import op_and_nested_ops, pre_order
from sdy.dialects.text.resumed_parser import ResumedParser
from sdy.dialects.verification.recheck import VerifiedModule
from sdy.language_server.checking.section import Listing, Section, changed_section, parser_state
from sdy.language_server.text.document import Document, LineMap, Position
from sdy.language_server.text.value_index import ValueIndex, arguments_in, position_in, results_before

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
