"""Compares what our partitioner makes of a program with what XLA and jaxlib's Shardy make of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.cost.hlo_statistics import HloModule
from sdy.cost.statistics import Statistics, statistics_of
from sdy.diagnostics.argument_types import require_type
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.similar_names import similar_name_hint
from sdy.dialects.module_text import make_context, print_module
from sdy.interpreter.arrays.element_types import Array
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.run import run_passes
from sdy.program.arrays import random_inputs
from sdy.program.comparison import OutputComparison
from sdy.program.local_program import local_program
from sdy.program.optional_jax import require_jax
from sdy.program.partitioned import PartitionedProgram
from sdy.program.program import Program, read_module
from sdy.program.rounding import RoundingCheck
from sdy.program.sharded_program import boundary_of
from sdy.program.verification import compare_results, compare_runs

OURS = "sdy"
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class PartitionerResult:
    """The program that a partitioner made: its statistics and its results.

    `statistics` are those of one device, and None if the partitioner failed. `comparisons` are those of the outputs
    with a run on one device. If the partitioner failed, or the outputs are not compared, `problem` says why.
    """

    partitioner: str
    statistics: Statistics | None = None
    comparisons: Sequence[OutputComparison] = ()
    problem: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the result as plain data."""
        return {
            "partitioner": self.partitioner,
            "problem": self.problem or None,
            "statistics": None if self.statistics is None else self.statistics.to_json(),
            "outputs": [
                {"index": each.index, "agrees": each.agrees, "problem": each.problem or None}
                for each in self.comparisons
            ],
        }


def compare_partitioners(
    program: Program[Any], others: Sequence[str] = ("xla", "shardy"), *, seed: int = 0, seconds: float = SECONDS
) -> list[PartitionerResult]:
    """Partition a program with sdy and with others, and run each result on random inputs from `seed`.

    XLA compiles the program for as many devices of the host as its mesh has. Each of the others has a process of its
    own and `seconds` of time; if it fails, its result says how.
    Raises: SdyError SDY-T221 if a name is unknown, SDY-T205 if JAX is not installed, or if sdy cannot partition the
    program.
    """
    require_type(program, Program, "sdy.compare_partitioners: program", "sdy.load(path) returns a program")
    for name in others:
        if name not in OTHERS:
            hint = similar_name_hint(name, OTHERS) or f"known partitioners: {', '.join(OTHERS)}"
            raise SdyError(Diagnostic("SDY-T221", f"unknown partitioner {name}", hint=hint))
    require_jax()
    inputs = random_inputs(program.module, seed)
    ours = _run(OURS, program, program.partition(), inputs)
    return [ours, *(_result_of(name, program, inputs, seconds) for name in others)]


def _run(
    name: str, program: Program[Any], partitioned: PartitionedProgram[Any], inputs: Sequence[Array]
) -> PartitionerResult:
    """Run a partitioned program. If an op has no kernel, the result has statistics all the same."""
    statistics = statistics_of(partitioned.local)
    try:
        return PartitionerResult(name, statistics, compare_runs(program.module, partitioned, inputs))
    except SdyError as error:
        return PartitionerResult(name, statistics, problem=f"not run: {error.diagnostics[0].message}")


def _result_of(name: str, program: Program[Any], inputs: Sequence[Array], seconds: float) -> PartitionerResult:
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        _write_program(program.module if name == "xla" else _without_chlo(program.module), program, inputs, folder)
        words = [sys.executable, "-m", "sdy.backends.jax.other_partitioners", name, str(folder)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return PartitionerResult(name, problem=f"stopped after {seconds:g} seconds")
        if done.returncode:
            return PartitionerResult(name, problem=_last_line(done.stderr) or f"ended with status {done.returncode}")
        return OTHERS[name](program, inputs, folder)


def _without_chlo(module: ModuleOp) -> ModuleOp:
    """Return the module as XLA gives it to Shardy: with CHLO ops expanded."""
    expanded = module.clone()
    run_passes(make_context(), expanded, [ChloLegalizeToStablehloPass()], verify_each=False)
    return expanded


def _write_program(module: ModuleOp, program: Program[Any], inputs: Sequence[Array], folder: Path) -> None:
    (folder / "program.mlir").write_text(print_module(module), encoding="utf-8")
    named: dict[str, Any] = {str(index): array for index, array in enumerate(inputs)}
    np.savez(folder / "inputs.npz", **named)
    dtypes = [array.dtype.name for array in inputs]
    description: dict[str, object] = {"devices": program.partition().boundary.mesh.device_count, "dtypes": dtypes}
    (folder / "program.json").write_text(json.dumps(description), encoding="utf-8")


def _result_of_xla(program: Program[Any], inputs: Sequence[Array], folder: Path) -> PartitionerResult:
    hlo = HloModule((folder / "compiled.hlo").read_text(encoding="utf-8"))
    statistics = hlo.statistics(int((folder / "peak_bytes.txt").read_text()))
    try:
        expected = program.run_flat(inputs)
    except SdyError as error:
        return PartitionerResult("xla", statistics, problem=f"not compared: {error.diagnostics[0].message}")
    with np.load(folder / "outputs.npz") as file:
        actual = [file[str(index)].view(array.dtype) for index, array in enumerate(expected)]
    check = RoundingCheck(program.module, program.partition(), inputs)
    return PartitionerResult("xla", statistics, compare_results(check, actual, expected))


def _result_of_shardy(program: Program[Any], inputs: Sequence[Array], folder: Path) -> PartitionerResult:
    text = (folder / "partitioned.mlir").read_text(encoding="utf-8")
    try:
        module = read_module(text, "Shardy's output")
        local = local_program(module, make_context(), optimize_communication=False)
    except SdyError as error:
        # Shardy leaves ops to XLA's partitioner that cannot run on shards as they are.
        return PartitionerResult("shardy", problem=f"not a complete partition: {error.diagnostics[0].message}")
    partitioned = replace(program.partition(), folded=module, local=local, boundary=boundary_of(module))
    return _run("shardy", program, partitioned, inputs)


OTHERS: dict[str, Callable[[Program[Any], Sequence[Array], Path], PartitionerResult]] = {
    "xla": _result_of_xla,
    "shardy": _result_of_shardy,
}


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
