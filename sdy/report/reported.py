"""Base of results that are tables with notes: one text for `print()` and commands, and one page for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sdy.model.mesh import Mesh
from sdy.report.html.markup import tables_html
from sdy.report.tables.fitted_table import WIDTH, FittedTable, tables_text


class Reported:
    """A result with tables, lines of notes below them, and meshes whose axes have colours in a notebook."""

    __slots__ = ()

    def _tables(self) -> Sequence[FittedTable]:
        raise NotImplementedError

    def _notes(self) -> Iterable[str]:
        return ()

    def _meshes(self) -> Mapping[str, Mesh]:
        return {}

    def report(self, width: int = WIDTH) -> str:
        """Return the tables and the notes in plain text, at most `width` characters wide."""
        return tables_text(self._tables(), self._notes(), width=width)

    def __str__(self) -> str:
        """Return the report, which the command prints."""
        return self.report()

    def _repr_html_(self) -> str:
        """Return the tables that notebooks show."""
        return tables_html(repr(self), self._tables(), self._notes(), self._meshes())
