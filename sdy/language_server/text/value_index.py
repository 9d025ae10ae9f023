"""The positions of the ops of a module, and of the names of its values, in its text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from sdy.advice.lint.annotated_text import ProgramText, UnsupportedTextError
from sdy.language_server.text.document import Document, Position

_NAME = re.compile(r"%[\w$.-]+")
_RESULTS = re.compile(r"((?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?)\s*=\s*$")
_RESULT = re.compile(r"(%[\w$.-]+)(?::(\d+))?")

Definition = tuple[Position, str]  # where the name of a value begins at its definition, and the name


class ValueIndex:
    """Ops and values that were read from a document, by their positions in it."""

    def __init__(self, ops: Iterable[Operation], document: Document, file: str) -> None:
        """Index the ops in the order of the text, and their results and the arguments of their blocks."""
        self._text = ProgramText(document.text)
        self._document = document
        self._file = file
        self.ops: dict[Position, Operation] = {}
        """The ops by the position of their names, in the order of the text."""
        self.values: dict[Definition, list[SSAValue]] = defaultdict(list)
        """The values of each name: several for `%0:2`, and for an argument of both regions of a loop."""
        for op in ops:
            position = position_in(op.location, file)
            if position is None:
                continue
            self.ops[position] = op
            for definition, values in results_before(op, document.lines[position.line], position):
                self.values[definition] += values
            if isinstance(op, FuncOp):
                self._index_header(op)
            else:
                for argument in arguments_in(op):
                    self._index_argument(argument)

    def _index_header(self, func: FuncOp) -> None:
        """Index the arguments in the header of a function, which may have locations in another file."""
        if not func.body.blocks:
            return
        try:
            spans = self._text.function(self._text.offset(func)).arguments
        except (UnsupportedTextError, ValueError):  # the generic form
            return
        for argument, (start, end) in zip(func.body.blocks[0].args, spans, strict=False):
            name = _NAME.search(self._document.text, start, end)
            if name is not None:
                self.values[self._document.position(name.start()), name[0]].append(argument)

    def _index_argument(self, argument: BlockArgument) -> None:
        position = position_in(argument.location, self._file)
        if position is not None:
            name = _NAME.match(self._document.lines[position.line], position.column)
            if name is not None:
                self.values[position, name[0]].append(argument)


def arguments_in(op: Operation) -> Iterator[BlockArgument]:
    """Yield the arguments of the blocks of an op."""
    return (argument for region in op.regions for block in region.blocks for argument in block.args)


def results_before(op: Operation, line: str, position: Position) -> Iterator[tuple[Definition, Sequence[SSAValue]]]:
    """Yield the names before an op on its line, with the results that each one names."""
    before = _RESULTS.search(line[: position.column]) if op.results else None
    if before is None:
        return
    first = 0
    for match in _RESULT.finditer(line, before.start(1), before.end(1)):
        count = int(match[2] or 1)
        yield (Position(position.line, match.start()), match[1]), op.results[first : first + count]
        first += count


def position_in(location: Attribute, file: str) -> Position | None:
    """Return the position of a location in a file, and None for one in another file."""
    if not isinstance(location, FileLineColLoc) or location.filename.data != file:
        return None
    return Position(location.line.data - 1, location.column.data - 1)
