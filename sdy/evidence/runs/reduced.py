"""Verifies a program in smaller sizes, which fit into the memory and the time that a run may take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.compile.signature import Call
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.progress import note_step
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.evidence.runs.arrays import arrays_of_call, check_arrays, is_empty
from sdy.evidence.runs.both_programs import Watch, unwatched
from sdy.evidence.runs.run_estimate import (
    RunEstimate,
    check_memory,
    estimate_of_run,
    estimate_on_devices,
    is_within_budget,
)
from sdy.evidence.runs.verification import (
    OutputComparisons,
    ReducedSizes,
    Verdict,
    Verification,
    verify_sizes_as_they_are,
)
from sdy.evidence.sizes.reduce_sizes import ReducedPrograms, reduce_sizes

# Programs that differ in the smallest sizes run in larger ones, if one run takes at most so long.
SECONDS_FOR_OTHER_SIZES = 2.0
EXACT_SHARE = 4  # the time of a run in a field, as a multiple of the time in floats, at most


def verify_reduced(program: Compiled[Any], seed: int = 0, watch: Watch = unwatched) -> Verification:
    """Run both programs in smaller sizes, in finite fields and on special values, and decide.

    Both programs are rewritten by the same map of sizes: nothing is partitioned anew.
    Raises: SdyError SDY-X151 if the run is too large even so, SDY-X152 if the sizes cannot be changed.
    """
    note_step("choose smaller sizes")
    tried: list[Verification] = []
    failure: SdyError | None = None
    for programs in _sizes_to_try(program):
        try:
            tried.append(verified(programs, program, seed, watch))
        except SdyError as error:
            failure = error
            continue
        has_all_devices = programs.boundary.mesh == program.mesh
        if tried[0].verdict is Verdict.SAME and failure is None and has_all_devices:
            break
    if not tried:
        assert failure is not None  # there is a first size
        raise failure
    if all(each.verdict is Verdict.SAME for each in tried):
        return tried[0]
    # The largest sizes are the most like those of the program: they decide, unless their numbers hide an output.
    return next((each for each in reversed(tried) if each.verdict is not Verdict.UNDECIDED), tried[-1])


def _sizes_to_try(program: Compiled[Any]) -> Iterator[ReducedPrograms]:
    """Yield the programs in the smallest sizes, and in larger ones that show whether the sizes matter.

    What a device does wrong that fewer devices leave out is seen on all of them alone; and the smaller sizes may break
    what ties the sizes of the local program to those of the program. So the program runs on all devices, and if it
    differs in its own sizes, where a run takes no longer than `SECONDS_FOR_OTHER_SIZES`.
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


def verified(
    small: ReducedPrograms,
    program: Compiled[Any],
    seed: int = 0,
    watch: Watch = unwatched,
    *,
    finds_parting: bool = True,
) -> Verification:
    """Run a program and its local one in sizes that were chosen. Raises: SdyError SDY-X151 if these are too large."""
    check_budget(small, program.written)
    reduced = replace(program, written=small.written, folded=small.written, local=small.local, boundary=small.boundary)
    found = verify_sizes_as_they_are(
        reduced, seed, special=True, interprets=False, finds_parting=finds_parting, watch=watch
    )
    devices = (program.mesh.device_count, small.boundary.mesh.device_count)
    counts = (len(pre_order(small.written)), len(pre_order(small.local)))
    return replace(found, sizes=ReducedSizes(small.changes, devices, *counts))


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
    own = ReducedPrograms(program.written, program.local, program.boundary, ())
    if is_within_budget(_needed(own, is_freed=False)):  # which is known in less time
        return RunSizes(is_reduced=False)
    needed = _needed(own)
    if reduced is None and not has_arrays and not is_within_budget(needed):
        return RunSizes(is_reduced=True, needed=needed)
    check_memory(needed, program.written, hint)
    return RunSizes(is_reduced=False, needed=needed)


@garbage_collection_paused()
def _needed(small: ReducedPrograms, *, is_freed: bool = True) -> RunEstimate:
    """Return the estimate of a run of both programs in the declared types; see `estimate_of_run`."""
    on_devices = estimate_on_devices(small.local, small.boundary, is_freed=is_freed)
    return estimate_of_run(small.written, is_freed=is_freed) + on_devices


def check_budget(small: ReducedPrograms, written: ModuleOp) -> None:
    """Check that a program may be run in reduced sizes. Raises: SdyError SDY-X151 if they are too large."""
    needed = RunEstimate(0, 0.0)
    for is_freed in (False, True):  # what takes less time to estimate is tried first
        declared = _needed(small, is_freed=is_freed)
        needed = RunEstimate(2 * declared.bytes, EXACT_SHARE * declared.seconds)  # numbers of a field have 64 bits
        if is_within_budget(needed):
            return
    kept = [each for each in small.changes if each.reason is not None]
    largest = max(kept, key=lambda each: each.after, default=None)
    reason = "" if largest is None else f"; the size {largest.before} is kept: {largest.reason}"
    message = f"the program in reduced sizes still takes {needed}{reason}"
    hint = "sdy verify --full runs the program as it is; sdy verify --prove does not run it"
    raise SdyError(Diagnostic("SDY-X151", message, span_of(main_function(written)), hint=hint))


@dataclass(frozen=True, slots=True)
class VerifiedCall:
    """The arguments of `Program.verify` that are arrays: those of a call, some by name, and the expected results.

    Arrays that are not given are random ones from `seed`.
    """

    call: Call
    inputs: Mapping[str, object] | None
    expected: object
    seed: int


def compare_call(program: Compiled[Any], verified: VerifiedCall, *, reduced: bool) -> OutputComparisons:
    """Run a program on one device and on all, and compare the results; see `Program.verify`."""
    given = verified.call.args, verified.call.kwargs, verified.inputs, verified.expected
    hint = "verify(reduced=True) runs smaller sizes"
    if choose_sizes(program, reduced=reduced, given=given, hint=hint).is_reduced:
        return OutputComparisons(verify_reduced(program, verified.seed))
    written, origin = program.written, program.origin
    outputs = None if is_empty(verified.expected) else origin.signature.flat_results(verified.expected)
    is_given = bool(verified.call.args or verified.call.kwargs or verified.inputs) or outputs is not None
    if not is_given:
        return OutputComparisons(verify_sizes_as_they_are(program, verified.seed))
    arrays = arrays_of_call(written, origin, verified.call, verified.inputs or {}, verified.seed)
    check_arrays(main_function(written), arrays, outputs)
    return OutputComparisons(verify_sizes_as_they_are(program, verified.seed, arrays, outputs))
