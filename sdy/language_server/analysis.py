"""The analysis of one version of a program: its module, its propagated shardings, and where its values are defined."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from sdy.advice.lint.program_text import ProgramText, UnsupportedTextError
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import make_context
from sdy.language_server.document import Document, Position
from sdy.model.mesh import Mesh
from sdy.program.program import Program
from sdy.report.explain import Explainer

_NAME = re.compile(r"%[\w$.-]+")
_RESULTS = re.compile(r"((?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?)\s*=\s*$")
_RESULT = re.compile(r"(%[\w$.-]+)(?::(\d+))?")

Definition = tuple[Position, str]  # where the name of a value begins at its definition, and the name


class Analysis:
    """A program and its propagation. `explainer` is None if the shardings could not be propagated: `problems`."""

    def __init__(self, text: str, file: str) -> None:
        """Parse, verify and propagate. Raises: SdyError with the first error in the text."""
        with garbage_collection_paused():
            self.document = Document(text)
            program = Program.from_text(text, file)
            self.module: ModuleOp = program.module
            self.meshes: dict[str, Mesh] = meshes_of(self.module)
            self.problems: Sequence[Diagnostic] = ()
            self.explainer: Explainer | None = None
            try:
                self.explainer = self._explained(program)
            except SdyError as error:
                self.problems = error.diagnostics
            self._file = file
            self._ops: dict[Position, Operation] = {}
            self._values: dict[Definition, list[SSAValue]] = defaultdict(list)
            self._by_line: dict[int, list[Definition]] = defaultdict(list)
            self._index(ProgramText(text))

    def _explained(self, program: Program) -> Explainer:
        context, origin = make_context(), program.origin
        explainer = Explainer(context, self.module, origin.text, origin.source_lines, origin.argument_names)
        self.problems = context.diagnostics
        return explainer

    def values(self, definition: Definition) -> list[SSAValue]:
        """Return the values with a name that is defined at a position: several for `%0:2`; none if none is there."""
        return self._values.get(definition, [])

    def op_at(self, position: Position) -> Operation | None:
        """Return the op whose name begins at a position."""
        return self._ops.get(position)

    def definitions(self, first: int, last: int) -> Iterator[tuple[Definition, list[SSAValue]]]:
        """Yield the definitions on the lines from `first` to `last`, with the values that they name."""
        for line in range(first, last + 1):
            for definition in self._by_line.get(line, ()):
                yield definition, self._values[definition]

    def _index(self, text: ProgramText) -> None:
        for op in pre_order(self.module):
            position = self._position(op.location)
            if position is None:
                continue
            self._ops[position] = op
            if op.results:
                self._index_results(op, position)
            if isinstance(op, FuncOp):
                self._index_header(op, text)
            else:
                for argument in (each for region in op.regions for block in region.blocks for each in block.args):
                    self._index_argument(argument)

    def _index_results(self, op: Operation, position: Position) -> None:
        """Index the names before an op on its line."""
        before = _RESULTS.search(self.document.lines[position.line][: position.column])
        if before is None:
            return
        results = iter(op.results)
        for match in _RESULT.finditer(self.document.lines[position.line], before.start(1), before.end(1)):
            definition = Position(position.line, match.start()), match[1]
            for _, value in zip(range(int(match[2] or 1)), results, strict=False):
                self._add(definition, value)

    def _index_header(self, func: FuncOp, text: ProgramText) -> None:
        """Index the arguments in the header of a function, which may have locations in another file."""
        if not func.body.blocks:
            return
        try:
            spans = text.function(text.offset(func)).arguments
        except (UnsupportedTextError, ValueError):  # the generic form
            return
        for argument, (start, end) in zip(func.body.blocks[0].args, spans, strict=False):
            name = _NAME.search(self.document.text, start, end)
            if name is not None:
                self._add((self.document.position(name.start()), name[0]), argument)

    def _index_argument(self, argument: BlockArgument) -> None:
        position = self._position(argument.location)
        if position is not None:
            name = _NAME.match(self.document.lines[position.line], position.column)
            if name is not None:
                self._add((position, name[0]), argument)

    def _add(self, definition: Definition, value: SSAValue) -> None:
        if definition not in self._values:
            self._by_line[definition[0].line].append(definition)
        self._values[definition].append(value)

    def _position(self, location: object) -> Position | None:
        """Return the position of a location in this text, and None for one in another file."""
        if not isinstance(location, FileLineColLoc) or location.filename.data != self._file:
            return None
        return Position(location.line.data - 1, location.column.data - 1)
