"""The analysis of one version of a program: its module, its propagated shardings, and where its values are defined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.language_server.text.document import Document, Position
from sdy.language_server.text.value_index import Definition, ValueIndex
from sdy.model.mesh import Mesh
from sdy.program.program import Program
from sdy.report.explanation.explainer import Explainer


class AnalysedText:
    """A program and its propagation. `explainer` is None if the shardings could not be propagated: see `problems`."""

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
            self._index = ValueIndex(pre_order(self.module), self.document, file)
            self._by_line: dict[int, list[Definition]] = defaultdict(list)
            for definition in self._index.values:
                self._by_line[definition[0].line].append(definition)

    def _explained(self, program: Program) -> Explainer:
        explainer = Explainer(self.module, program.origin, program.options)
        self.problems = explainer.diagnostics
        return explainer

    def values(self, definition: Definition) -> list[SSAValue]:
        """Return the values with a name that is defined at a position; none if none is there."""
        return self._index.values.get(definition, [])

    def op_at(self, position: Position) -> Operation | None:
        """Return the op whose name begins at a position."""
        return self._index.ops.get(position)

    def definitions(self, first: int, last: int) -> Iterator[tuple[Definition, list[SSAValue]]]:
        """Yield the definitions on the lines from `first` to `last`, with the values that they name."""
        for line in range(first, last + 1):
            for definition in self._by_line.get(line, ()):
                yield definition, self._index.values[definition]
