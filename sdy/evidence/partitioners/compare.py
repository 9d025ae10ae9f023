"""Compares what our partitioner makes of a program with what XLA and jaxlib's Shardy make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdy.compile.written_program import WrittenProgram
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import require_type
from sdy.diagnostics.wording import similar_name_hint
from sdy.evidence.partitioners.runs import OTHERS, SECONDS, partitioner_results
from sdy.evidence.partitioners.table import PartitionerResults
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.reduced import choose_sizes


def compare_partitioners(
    program: WrittenProgram[Any],
    others: Sequence[str] = ("xla", "shardy"),
    *,
    seed: int = 0,
    seconds: float = SECONDS,
    run: bool | None = None,
) -> PartitionerResults:
    """Partition a program with sdy and with others, and run each result on random inputs from `seed`.

    Without `run`, nothing is run: this is the default for a program whose run would take over ten minutes or more
    memory than is available, which the `note` of the results says.

    XLA compiles the program for as many devices of the host as its mesh has. Each of the others has a process of its
    own and `seconds` of time; if it fails, its result says how.
    Raises: SdyError SDY-T221 if a name is unknown, SDY-T205 if JAX is not installed, or if sdy cannot partition the
    program.
    """
    require_type(program, WrittenProgram, "sdy.compare_partitioners: program", "sdy.load(path) returns a program")
    for name in others:
        if name not in OTHERS:
            hint = similar_name_hint(name, OTHERS) or f"known partitioners: {', '.join(OTHERS)}"
            raise SdyError(Diagnostic("SDY-T221", f"unknown partitioner {name}", hint=hint))
    note = ""
    if run is None:
        sizes = choose_sizes(program.partition(), reduced=None, given=(), hint="run=False only compiles the program")
        run = not sizes.is_reduced
        note = "" if run else f"a run would take {sizes.needed}, so the programs are only compiled"
    inputs = random_inputs(program.module, seed) if run else ()
    return PartitionerResults(partitioner_results(program, others, inputs, seconds, is_run=run), note)
