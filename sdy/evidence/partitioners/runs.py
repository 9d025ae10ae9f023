"""Runs our partitioner and others, XLA and jaxlib's Shardy, on one program, and compares what they make of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled, lowered
from sdy.compile.options import CompileOptions
from sdy.compile.propagated import boundary_of
from sdy.compile.source_text import read_module
from sdy.compile.written_program import WrittenProgram
from sdy.cost.statistics import HloModule, Statistics, statistics_of
from sdy.diagnostics.diagnostic import SdyError
from sdy.diagnostics.progress import note_step
from sdy.diagnostics.wording import exit_text
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import make_context, print_module
from sdy.dialects.sdy.ops import ReshardOp, ShardingConstraintOp
from sdy.dialects.stablehlo.calls import check_no_python_call, python_call_in
from sdy.evidence.partitioners.table import PartitionerResult
from sdy.evidence.runs.verification import compare_up_to, deviations
from sdy.interpreter.arrays.element_types import Array
from sdy.jax.optional_jax import require_jax
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.rewriting.insertion import replace_op
from sdy.passes.run import run_passes

OURS = "sdy"
SECONDS = 600.0


def partitioner_results(
    program: WrittenProgram[Any], others: Sequence[str], inputs: Sequence[Array], seconds: float, *, is_run: bool = True
) -> list[PartitionerResult]:
    """Partition a program with sdy and with others, and run what they make of it; without `is_run`, only count it.

    Raises: SdyError SDY-T205 if JAX is not installed, or if sdy cannot partition the program.
    """
    require_jax()
    reference = _Reference(program, program.partition(), inputs, is_run)
    ours = reference.result_of(OURS, reference.partitioned)
    return [ours, *(_result_of(name, reference, seconds) for name in others)]


@dataclass(frozen=True)
class _Reference:
    """A program with its inputs and, computed once, its results on one device, to which all partitioners are held."""

    program: WrittenProgram[Any]
    partitioned: Compiled[Any]
    inputs: Sequence[Array]
    is_run: bool

    @cached_property
    def expected(self) -> Sequence[Array] | SdyError:
        """The results on one device, or the reason why there are none: an op has no kernel."""
        note_step("run the program on one device")
        try:
            return self.program.run_flat(self.inputs)
        except SdyError as error:
            return error

    @cached_property
    def deviations(self) -> Sequence[float]:
        """How much rounding changes each result: the difference between our partition and the program itself."""
        assert not isinstance(self.expected, SdyError)
        return deviations(self.partitioned.run_flat(self.inputs), self.expected)

    def result_of(self, name: str, partitioned: Compiled[Any]) -> PartitionerResult:
        """Run a partitioned program. If an op has no kernel, the result has statistics all the same."""
        statistics = statistics_of(partitioned.local)
        return self.compared(name, statistics, lambda _: partitioned.run_flat(self.inputs))

    def compared(
        self, name: str, statistics: Statistics, run: Callable[[Sequence[Array]], Sequence[Array]]
    ) -> PartitionerResult:
        """Compare the results of `run`, called with those on one device, with the latter."""
        if not self.is_run:
            return PartitionerResult(name, statistics)
        if isinstance(self.expected, SdyError):
            return PartitionerResult(name, statistics, problem=f"not compared: {_message(self.expected)}")
        try:
            compared = compare_up_to(run(self.expected), self.expected, self.deviations)
            return PartitionerResult(name, statistics, compared)
        except SdyError as error:
            return PartitionerResult(name, statistics, problem=f"not run: {_message(error)}")


def _message(error: SdyError) -> str:
    return error.diagnostics[0].message


def _result_of(name: str, reference: _Reference, seconds: float) -> PartitionerResult:
    other = OTHERS[name]
    note_step(f"{name} partitions the program{' and runs it' if reference.is_run else ''}, in a process of its own")
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        devices = reference.partitioned.boundary.mesh.device_count
        _write_program(other.text(reference.program.module), reference, devices, folder)
        words = [sys.executable, "-m", "sdy.jax.to_devices.other_partitioners", name, str(folder)]
        environment = _environment(devices, is_run=reference.is_run)
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False, env=environment)
        except subprocess.TimeoutExpired:
            return PartitionerResult(name, problem=f"stopped after {seconds:g} seconds")
        if done.returncode:
            is_signal = done.returncode < 0
            said = "" if is_signal else _last_line(done.stderr)  # after a crash, the last line is about something else
            return PartitionerResult(name, problem=said or f"its process {exit_text(done.returncode)}")
        return other.read(reference, folder)


def _environment(devices: int, *, is_run: bool) -> dict[str, str]:
    """Return the environment in which JAX has as many devices on the host, and 64-bit types.

    The machine code of a program that does not run need not be fast.
    """
    flags = f"--xla_force_host_platform_device_count={devices}"
    if not is_run:
        flags += " --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    return {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1", "XLA_FLAGS": flags}


def _text_without_chlo(module: ModuleOp) -> str:
    """Return the text of the module as XLA gives it to Shardy: with CHLO ops expanded."""
    expanded = copy_with_regions(module)
    run_passes(make_context(), expanded, [ChloLegalizeToStablehloPass()], verify_each=False)
    return print_module(expanded)


def _text_for_xla(module: ModuleOp) -> str:
    """Return the text of the module with constraints in place of reshards, which XLA does not know."""
    known = copy_with_regions(module)
    for op in list(ops_of(known, ReshardOp)):
        replace_op(op, ShardingConstraintOp(op.input, op.sharding.data))
    return print_module(known)


def _write_program(text: str, reference: _Reference, devices: int, folder: Path) -> None:
    (folder / "program.mlir").write_text(text, encoding="utf-8")
    named: dict[str, Any] = {str(index): array for index, array in enumerate(reference.inputs)}
    np.savez(folder / "inputs.npz", **named)
    dtypes = [array.dtype.name for array in reference.inputs]
    is_run = reference.is_run and python_call_in(reference.program.module) is None
    description: dict[str, object] = {"devices": devices, "dtypes": dtypes, "is_run": is_run}
    (folder / "program.json").write_text(json.dumps(description), encoding="utf-8")


def _result_of_xla(reference: _Reference, folder: Path) -> PartitionerResult:
    hlo = HloModule((folder / "compiled.hlo").read_text(encoding="utf-8"))
    statistics = hlo.statistics(int((folder / "peak_bytes.txt").read_text()))

    def outputs(expected: Sequence[Array]) -> Sequence[Array]:
        """Return the outputs with their own dtypes; a file has raw bytes for those that NumPy does not know."""
        check_no_python_call(reference.program.module, "XLA")
        with np.load(folder / "outputs.npz") as file:
            stored = [file[str(index)] for index in range(len(file.files))]
        return [array.view(each.dtype) for array, each in zip(stored, expected, strict=True)]

    return reference.compared("xla", statistics, outputs)


def _result_of_shardy(reference: _Reference, folder: Path) -> PartitionerResult:
    text = (folder / "partitioned.mlir").read_text(encoding="utf-8")
    try:
        module = read_module(text, "Shardy's output")
        local = lowered(module, make_context(), CompileOptions(optimize_communication=False))
    except SdyError as error:
        # Shardy leaves ops to XLA's partitioner that cannot run on shards as they are.
        return PartitionerResult("shardy", problem=f"not a complete partition: {_message(error)}")
    partitioned = replace(reference.partitioned, folded=module, local=local, boundary=boundary_of(module))
    return reference.result_of("shardy", partitioned)


@dataclass(frozen=True)
class _OtherPartitioner:
    """The functions that write a module for another partitioner, and read what it leaves in a folder."""

    text: Callable[[ModuleOp], str]
    read: Callable[[_Reference, Path], PartitionerResult]


OTHERS = {
    "xla": _OtherPartitioner(_text_for_xla, _result_of_xla),
    "shardy": _OtherPartitioner(_text_without_chlo, _result_of_shardy),
}


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
