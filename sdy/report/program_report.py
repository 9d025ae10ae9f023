"""The text of `sdy report`: meshes, totals, a diagnosis, shardings, collectives, conflicts and remarks.

What is long is folded, so that the report on a large program is read on one screen: values that are sharded alike, the
collectives that send most, and the first conflicts.
"""

from __future__ import annotations

from collections import Counter
from io import StringIO
from itertools import islice
from textwrap import TextWrapper
from typing import Any

from rich.console import Console

from sdy.compile.compiled import Compiled
from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Hardware
from sdy.cost.quantities import seconds_text
from sdy.cost.traffic import CollectiveUse, Sends, executed_collectives, sends_of
from sdy.diagnostics.diagnostic import render
from sdy.diagnostics.wording import counted, first_names
from sdy.dialects.meshes import meshes_of
from sdy.model.axis import AxisList
from sdy.report.boundary import boundary_rows
from sdy.report.explanation.causes import CollectiveCauses, resharded_arguments
from sdy.report.explanation.explainer import Explainer
from sdy.report.explanation.value_names import line_of
from sdy.report.similar_entries import folded_layers
from sdy.report.tables.fitted_table import WIDTH, print_tables
from sdy.report.tables.program_tables import (
    NO_MESH,
    dearest_collectives_lines,
    mesh_table,
    placed_collectives_table,
    print_boundary,
)

# Longer lists are folded.
MOST_COLLECTIVES, MOST_CONFLICTS, MOST_REMARKS = 10, 3, 3

_EDIT_LINES = TextWrapper(WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)

Placed = tuple[str, CollectiveUse]  # a collective on a source line
Belonging = tuple[int | None, list[int]]  # the line of the text, and the arguments that are resharded


class ProgramReport:
    """The report on a partitioned program, whose propagation `explainer` explains; times are those of a machine.

    `diagnosis` has the lines of the finding that is worth most, if there is one. Tables are at most `width` columns
    wide. If `verbose`, nothing is folded. `textbook` is what each device sends as JAX would compile
    the program; None if it is not from JAX.
    """

    def __init__(
        self,
        program: Compiled[Any],
        explainer: Explainer,
        hardware: Hardware,
        textbook: Sends | None = None,
        *,
        width: int = WIDTH,
        verbose: bool,
    ) -> None:
        self._program, self._explainer, self._hardware = program, explainer, hardware
        self._textbook, self._verbose = textbook, verbose
        self._stream = StringIO()
        self._console = Console(file=self._stream, width=width, highlight=False)

    def text(self, diagnosis: tuple[str, ...] = ()) -> str:
        """Return the report, with the lines of a diagnosis."""
        meshes = meshes_of(self._program.global_module)
        if meshes:
            print_tables(self._console, mesh_table(meshes))
        else:
            self._print(NO_MESH)
        self._totals()
        for line in diagnosis[:1]:
            self._print(line)  # a sentence, as those of conflicts
        for line in diagnosis[1:]:
            self._print("\n".join(_EDIT_LINES.wrap(line)))
        self._values()
        self._collectives()
        self._conflicts()
        self._remarks()
        return self._stream.getvalue()

    def _print(self, text: str, *, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False, soft_wrap=True)

    def _totals(self) -> None:
        """Print what each device sends: as JAX would compile the program, and as sdy partitions it."""
        cost = self._program.cost(self._hardware)
        for line in sends_lines(sends_of(self._program.local), self._textbook):
            self._print(line)
        self._print(f"below is sdy's program: each device holds at most {cost.peak_bytes:,} bytes")
        communication = cost.communication_seconds
        self._print(
            f"on {self._hardware.name} a run takes {seconds_text(cost.seconds)}; its collectives alone would take "
            f"{seconds_text(communication)}"
        )

    def _values(self) -> None:
        rows = boundary_rows(self._program.global_module, self._program.origin.argument_names)
        print_boundary(self._console, rows, verbose=self._verbose)

    def _collectives(self) -> None:
        program, uses = self._program, Counter[Placed]()
        lines: dict[Placed, Belonging] = {}
        for op, use, times in executed_collectives(program.local, program.mesh):
            line, arguments = line_of(op), resharded_arguments(op)
            placed = program.origin.place_of_reshard(line, arguments), use
            uses[placed] += times
            lines.setdefault(placed, (line, [each.index for each in arguments]))
        if not uses:
            self._print("no collectives")
        elif self._verbose or len(uses) <= MOST_COLLECTIVES:
            print_tables(self._console, placed_collectives_table(uses))
        else:
            self._dearest(uses, lines)

    def _dearest(self, uses: Counter[Placed], lines: dict[Placed, Belonging]) -> None:
        """Print the collectives that send most; those that are alike, as in equal layers, share a row.

        The first gather has the first sentence on its cause.
        """
        causes = CollectiveCauses(self._explainer, self._program.remarks)
        joined: dict[tuple[CollectiveKind, AxisList, float, str], list[Placed]] = {}
        for placed in uses:
            (line, arguments), use = lines[placed], placed[1]
            cause = causes.kind(use.kind, line, use.axes, arguments).short
            joined.setdefault((use.kind, use.axes, use.bytes_per_device, cause), []).append(placed)
        groups = sorted(
            ((cause, sum(uses[each] for each in group), group) for (*_, cause), group in joined.items()),
            key=lambda each: -each[2][0][1].bytes_per_device * each[1],
        )
        rows: list[tuple[CollectiveUse, int, str, str]] = []
        for cause, count, group in groups[:MOST_COLLECTIVES]:
            (line, arguments), use = lines[group[0]], group[0][1]
            is_first_gather = use.kind is CollectiveKind.ALL_GATHER and all(row[0].kind is not use.kind for row in rows)
            reasons = causes.of(line, use.axes, arguments) if is_first_gather else ()
            text = ": ".join((cause, *islice(reasons, 1)))
            rows.append((use, count, text, first_names(folded_layers([source for source, _ in group]), 2)))
        sent = sum(use.bytes_per_device * count for (_, use), count in uses.items())
        self._print("the dearest collectives", style="bold")
        for line in dearest_collectives_lines(rows, sent, self._console.width):
            self._print(line)
        rest = uses.total() - sum(count for _, count, *_ in rows)
        if rest:
            self._print(f"... and {counted(rest, 'run')} of others; -v lists all")

    def _conflicts(self) -> None:
        self._console.print("[bold]conflicts[/bold]")
        every = list(self._explainer.conflict_sites())
        sites = [site for site in every if not site.is_of_stored]
        if self._verbose or len(every) <= MOST_CONFLICTS:
            for line in self._explainer.conflicts(verbose=True):
                self._print(f"  {line}")
            return
        for site in sites[:MOST_CONFLICTS]:
            self._print(f"  {site.line_text}: {site.op}, along {', '.join(sorted(map(str, site.axes)))}")
        if len(sites) < len(every):
            self._print(f"  {counted(len(every) - len(sites), 'op')} read arguments that are stored in shards")
        self._print(f"  ... {len(every):,} in all: `sdy explain --conflicts` lists them with reasons")

    def _remarks(self) -> None:
        remarks = self._program.remarks
        if self._verbose or len(remarks) <= MOST_REMARKS:
            for remark in remarks:
                self._print(render(remark))
        else:
            self._print(f"{len(remarks):,} remarks of the communication optimizer; -v lists all")


def sends_lines(ours: Sends, textbook: Sends | None) -> list[str]:
    """Return lines on what each device sends: as JAX would compile a program, if it is from JAX, and as sdy does."""

    def text(sends: Sends) -> str:
        return f"{sends.bytes:,.0f} bytes in {counted(sends.runs, 'collective')}"

    jit = [] if textbook is None else [f"as jax.jit lowers it: each device sends about {text(textbook)}"]
    return [*jit, f"as sdy partitions it: each device sends {text(ours)}"]
