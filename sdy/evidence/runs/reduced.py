"""Verifies a program in smaller sizes, which fit into the memory and the time that a run may take."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.progress import note_step
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.evidence.runs.adversarial import VerifiedRound, adversarial_rounds
from sdy.evidence.runs.argument_uses import argument_uses
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.comparison import OutputComparison
from sdy.evidence.runs.run_estimate import (
    RunEstimate,
    check_memory,
    estimate_of_run,
    estimate_on_devices,
    is_within_budget,
)
from sdy.evidence.runs.verification import Watch, compare_runs, unwatched
from sdy.evidence.sizes.reduce_sizes import ReducedPrograms, SizeChange, reduce_sizes
from sdy.interpreter.arrays.element_types import Array, is_float

MOST_SEEDS = 8  # of random inputs
# Every other seed draws floats that are so many times as large: sums of fewer terms are smaller than in the original
# sizes, where exponentials may overflow.
LARGE = 8
SECONDS_FOR_ROUNDS = 10.0  # after which no further inputs are tried
# Programs that differ in the smallest sizes run in larger ones, if one run takes at most so long. To tell rounding from
# a fault takes up to 25 runs.
SECONDS_FOR_OTHER_SIZES = 2.0


@dataclass(frozen=True, slots=True)
class ReducedVerification:
    """The outcome of a verification in smaller sizes: the sizes, the devices, the number of ops, and the rounds."""

    changes: tuple[SizeChange, ...]
    devices: tuple[int, int]  # before and after
    ops: int
    local_ops: int
    rounds: tuple[VerifiedRound, ...]

    @property
    def agrees(self) -> bool:
        """Return whether all outputs agree on all inputs."""
        return all(each.agrees for each in self.rounds)

    @property
    def comparisons(self) -> list[OutputComparison]:
        """The comparison of each output: the first in which it differs, or that on the first inputs."""
        outputs = zip(*(each.comparisons for each in self.rounds), strict=True)
        return [next((each for each in output if not each.agrees), output[0]) for output in outputs]

    def to_json(self) -> dict[str, object]:
        """Return the outcome as plain data."""
        return {
            "agrees": self.agrees,
            "sizes": [asdict(each) for each in self.changes],
            "devices": {"before": self.devices[0], "after": self.devices[1]},
            "ops": self.ops,
            "local_ops": self.local_ops,
            "rounds": [each.to_json() for each in self.rounds],
        }


def verify_reduced(program: Compiled[Any], seed: int = 0, watch: Watch = unwatched) -> ReducedVerification:
    """Run both programs in smaller sizes on several inputs, in the declared types and in 64-bit floats, and compare.

    Both programs are rewritten by the same map of sizes: nothing is partitioned anew. Random inputs come first, then
    adversarial ones, as long as time is left.
    Raises: SdyError SDY-X151 if the run is too large even so, SDY-X152 if the sizes cannot be changed.
    """
    note_step("choose smaller sizes")
    least_rounds = 1
    found: ReducedVerification | None = None
    failure: SdyError | None = None
    for programs in _sizes_to_try(program):
        try:
            found, failure = _verified(programs, program, seed, watch, least_rounds), None
        except SdyError as error:
            failure = error
            continue
        if found.agrees:
            break
        least_rounds = max(least_rounds, len(found.rounds))  # the one that differs must run, however long it takes
    if failure is not None:
        raise failure
    assert found is not None  # there is a first size
    return found


def _sizes_to_try(program: Compiled[Any]) -> Iterator[ReducedPrograms]:
    """Yield the programs in the smallest sizes, and in larger ones that show whether the sizes matter.

    If something is wrong with fewer devices, the devices themselves may matter; and the smaller sizes may break what
    ties the sizes of the local program to those of the program. So the program runs on all devices, then in its own
    sizes, where a run takes no longer than `SECONDS_FOR_OTHER_SIZES`.
    """
    modules = program.written, program.local, program.boundary
    small = reduce_sizes(*modules)
    yield small
    own = ReducedPrograms(*modules, ())
    if small.boundary.mesh != program.mesh:
        on_all = reduce_sizes(*modules, reduce_mesh=False)
        if _is_short(on_all):
            yield on_all
    if _is_short(own):
        yield own


def _is_short(programs: ReducedPrograms) -> bool:
    return _needed(programs, is_freed=False).seconds <= SECONDS_FOR_OTHER_SIZES


def _verified(
    small: ReducedPrograms,
    program: Compiled[Any],
    seed: int,
    watch: Watch,
    least_rounds: int = 1,
) -> ReducedVerification:
    _check_budget(small, program.written)
    reduced = replace(program, written=small.written, folded=small.written, local=small.local, boundary=small.boundary)
    rounds: list[VerifiedRound] = []
    start = time.monotonic()
    for found in _rounds(reduced, seed, watch):
        rounds.append(found)
        is_late = len(rounds) >= least_rounds and time.monotonic() - start > SECONDS_FOR_ROUNDS
        if is_late or not found.agrees:
            break
    devices = (program.mesh.device_count, small.boundary.mesh.device_count)
    counts = (len(pre_order(small.written)), len(pre_order(small.local)))
    return ReducedVerification(small.changes, devices, *counts, tuple(rounds))


def _rounds(program: Compiled[Any], seed: int, watch: Watch) -> Iterator[VerifiedRound]:
    """Yield the comparisons on random inputs of several seeds, and on adversarial ones after the first of them."""
    for number in range(seed, seed + MOST_SEEDS):
        factor = LARGE if number % 2 else 1
        inputs = _inputs(program.written, number, factor)
        exact = True if number == seed else None
        found = compare_runs(program, inputs, exact=exact, watch=watch)
        name = f"random, seed {number}" + (f", times {factor}" if factor > 1 else "")
        yield VerifiedRound(name, tuple(found))
        if number == seed:
            yield from adversarial_rounds(program, seed)


def _inputs(module: ModuleOp, seed: int, factor: int = 1) -> tuple[Array, ...]:
    """Return random inputs: integers that are indices cover the dims that they index, floats are multiplied."""
    generator = np.random.default_rng([seed, 1])
    arrays: list[Array] = []
    for array, use in zip(random_inputs(module, seed), argument_uses(module), strict=True):
        if array.dtype.kind in "iu" and use.indexed_sizes and not use.ends_loops:
            sizes = sorted(use.indexed_sizes)  # of which some seed draws indices that are all in range
            limit = min(127, max(2, sizes[seed % len(sizes)]))
            array = generator.integers(0, limit, array.shape).astype(array.dtype)
        arrays.append(np.multiply(array, factor).astype(array.dtype) if is_float(array.dtype) else array)
    return tuple(arrays)


class RunSizes(NamedTuple):
    """The sizes of a verification: reduced ones or those of the program, and what a run in those would take.

    `needed` is None if that did not matter.
    """

    is_reduced: bool
    needed: RunEstimate | None = None


def choose_sizes(program: Compiled[Any], *, reduced: bool | None, given: Sequence[object], hint: str) -> RunSizes:
    """Choose the sizes in which to verify a program: as `reduced` says, or by what a run in its own sizes would take.

    If `reduced` is None, sizes are reduced if no arrays are given, and a run would take too much time or memory.
    Raises: SdyError SDY-T270 if sizes are to be reduced but any of `given` is an array, or SDY-X150 with the hint if a
    run in the sizes of the program takes more memory than is available.
    """
    has_arrays = any(each not in (None, ()) and each != {} for each in given)
    if reduced and has_arrays:
        message = "a reduced verification draws its own inputs, expected no arrays"
        raise SdyError(Diagnostic("SDY-T270", message, hint="pass reduced=False to verify with these arrays"))
    if reduced:
        return RunSizes(is_reduced=True)
    needed = estimate_of_run(program.written) + estimate_on_devices(program.local, program.boundary)
    if reduced is None and not has_arrays and not is_within_budget(needed):
        return RunSizes(is_reduced=True, needed=needed)
    check_memory(needed, program.written, hint)
    return RunSizes(is_reduced=False, needed=needed)


@garbage_collection_paused()
def _needed(small: ReducedPrograms, *, is_freed: bool = True) -> RunEstimate:
    """Return the estimate of a run of both programs in the declared types; see `estimate_of_run`."""
    on_devices = estimate_on_devices(small.local, small.boundary, is_freed=is_freed)
    return estimate_of_run(small.written, is_freed=is_freed) + on_devices


def _check_budget(small: ReducedPrograms, written: ModuleOp) -> None:
    needed = RunEstimate(0, 0.0)
    for is_freed in (False, True):  # what takes less time to estimate is tried first
        declared = _needed(small, is_freed=is_freed)
        needed = RunEstimate(2 * declared.bytes, 2 * declared.seconds)  # they run in 64-bit floats, too
        if is_within_budget(needed):
            return
    kept = [each for each in small.changes if each.reason is not None]
    largest = max(kept, key=lambda each: each.after, default=None)
    reason = "" if largest is None else f"; the size {largest.before} is kept: {largest.reason}"
    message = f"the program in reduced sizes still takes {needed}{reason}"
    hint = "sdy verify --full runs the program as it is; sdy verify --prove does not run it"
    raise SdyError(Diagnostic("SDY-X151", message, span_of(main_function(written)), hint=hint))
