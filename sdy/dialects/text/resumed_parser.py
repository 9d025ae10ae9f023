"""A parser of a few ops in the middle of a text, whose other ops have been parsed before."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.lexer import Span

from sdy.dialects.text.locating_parser import LocatingParser, located_errors


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
