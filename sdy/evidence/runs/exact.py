"""Runs a program on one device, and its partitioned form on all, in finite fields: equal programs agree exactly."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation, SSAValue

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, with_sources
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.calls import CustomCallOp, names_of_call
from sdy.dialects.stablehlo.control import CaseOp, IfOp
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.evidence.runs.both_programs import BothPrograms, Watch, unwatched
from sdy.evidence.runs.comparison import OutputComparison, VerifiedRound, compare_exactly
from sdy.evidence.runs.draws import MOST_DRAWS, Draw, Draws
from sdy.evidence.runs.lockstep import Lockstep, RunValues
from sdy.evidence.runs.parting import KnownNumbers, Suspect, parting_at, suspects
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.shards import copies_problem, unshard
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.field.numbers import Field
from sdy.interpreter.ops.custom_calls import is_opaque, key_of_call
from sdy.model.devices.placement import TensorPlacement
from sdy.passes.rewriting.field_types import computes_floats, with_field_types

SECONDS_FOR_DRAWS = 10.0  # after which no draws are made beyond the least number
MOST_SUSPECTS = 8  # whose combination is tried
NO_EXACT_FORM = "SDY-X022"  # the code of errors for what cannot run in a field


class ExactRuns:
    """Both programs with numbers of a field in place of floats, and the blocks that ran so far."""

    def __init__(self, program: Compiled[Any]) -> None:
        with garbage_collection_paused():
            written, local = with_field_types(program.written), with_field_types(program.local)
        self._runs = BothPrograms(replace(program, written=written, folded=written, local=local))

    def round(self, draw: Draw, watch: Watch = unwatched) -> VerifiedRound:
        """Compare the results of both programs for one draw. Raises: SdyError if a program cannot be run."""
        expected, results = self.results(draw, watch)
        triples = zip(results, self._runs.program.boundary.results, expected, strict=True)
        return VerifiedRound(draw.name, tuple(compared(index, *each, draw.field) for index, each in enumerate(triples)))

    def results(self, draw: Draw, watch: Watch = unwatched) -> tuple[list[Array], list[DeviceArray]]:
        """Return the results of both programs for one draw. Raises: SdyError if a program cannot be run."""
        program = self._runs.program
        with watch("original program", main_function(program.written)) as observer:
            expected = self._runs.on_one_device(draw.inputs, draw.field, observer)
        with watch("partitioned program", main_function(program.local)) as observer:
            return expected, self._runs.on_devices(draw.inputs, draw.field, observer)

    def parting(self, draw: Draw, found: VerifiedRound, *, is_rewritten: bool) -> Diagnostic | None:
        """Return at which op the programs part in a draw that shows a difference, if their values tell.

        A program that `is_rewritten` may have other values and be right: it is told only what mends its results.
        """
        program = self._runs.program
        values, held = RunValues(program.written), RunValues(program.local)
        self._runs.on_one_device(draw.inputs, draw.field, values.observe)
        if not values.is_complete:
            return None
        self._runs.on_devices(draw.inputs, draw.field, held.observe)
        wrong = [each.index for each in found.comparisons if not each.agrees]
        known = KnownNumbers((*draw.inputs, *(each.array for each in values.arrays.values())))
        first: Suspect | None = None
        suspected = suspects(known, held, main_function(program.local), wrong, program.mesh, draw.field)
        for suspect in islice(suspected, MOST_SUSPECTS):
            first = first or suspect
            if self._is_mended(suspect, draw):
                return with_sources(suspect.diagnostic(), program.origin.source_lines)
        if is_rewritten:
            return None
        if first is None:
            return self._parting_in_lockstep(Lockstep(values, held), wrong)
        return with_sources(first._replace(missing=None).diagnostic(), program.origin.source_lines)

    def _parting_in_lockstep(self, lockstep: Lockstep, wrong: Sequence[int]) -> Diagnostic | None:
        """Return at which op the programs part if the devices have no values but those of the program."""
        program = self._runs.program
        ends = [terminator_of(main_function(each).body) for each in (program.local, program.written)]
        for index in wrong:
            if program.boundary.results[index].sharding.unreduced:
                continue  # the parts of a sum equal no value of the program
            value, original = (end.operands[index] for end in ends)
            found = lockstep.followed(value, original)
            op = found if isinstance(found, Operation) else value.owner
            if isinstance(op, Operation):
                return with_sources(parting_at(op), program.origin.source_lines)
        return None

    def _is_mended(self, suspect: Suspect, draw: Draw) -> bool:
        """Return whether the combination that a suspect lacks makes all results of a draw agree."""
        program = self._runs.program
        if suspect.missing is None or not suspect.is_in(program.local):
            return False
        return ExactRuns(replace(program, local=suspect.mended(program.local, program.mesh))).round(draw).agrees

    def branches_not_taken(self) -> list[tuple[Operation, int]]:
        """Return the ops with branches of which one never ran, though the op did, and the number of that branch."""
        return [
            (op, number)
            for op in pre_order(self._runs.program.written)
            if isinstance(op, IfOp | CaseOp) and op.parent is not None and self._runs.has_run(op.parent)
            for number, region in enumerate(op.regions)
            if not self._runs.has_run(region.block)
        ]


def compared(
    index: int, result: DeviceArray, placement: TensorPlacement, expected: Array, field: Field
) -> OutputComparison:
    """Compare a result of all devices, whose copies must be equal too."""
    problem = copies_problem(result, placement, index)
    if problem:
        return OutputComparison(index, agrees=False, problem=problem)
    actual = unshard(result, placement.sharding, placement.mesh, placement.shape, field)
    return compare_exactly(index, actual, expected, field)


@dataclass(frozen=True, slots=True)
class ExactOutcome:
    """The rounds in finite fields, what they did not reach, in words, and at which op the programs part."""

    rounds: tuple[VerifiedRound, ...]
    not_reached: tuple[str, ...] = ()
    parting: Diagnostic | None = None


def exact_outcome(
    program: Compiled[Any],
    draws: Draws,
    watch: Watch = unwatched,
    *,
    is_rewritten: bool = False,
    finds_parting: bool = True,
) -> ExactOutcome:
    """Run both programs on draws until one shows a difference, or all choices of paths and places were made.

    With `finds_parting`, look for the op at which they part, which takes longer than the runs.
    Raises: SdyError if a program cannot be run; with the code SDY-X022 if an op has no form in a finite field.
    """
    runs = ExactRuns(program)
    rounds: list[VerifiedRound] = []
    start = time.monotonic()
    for number in _numbers(runs, draws):
        if number >= draws.least and time.monotonic() - start > SECONDS_FOR_DRAWS:
            break
        draw = draws.draw(number)
        rounds.append(runs.round(draw, watch))
        if not rounds[-1].agrees:
            opaque = next(filter(computes_floats, (*pre_order(program.written), *pre_order(program.local))), None)
            if opaque is not None:
                name = f"@{opaque.call_target_name.data}" if isinstance(opaque, CustomCallOp) else opaque.name
                message = f"{name} computes floats, and has no form in exact numbers"
                raise SdyError(Diagnostic(NO_EXACT_FORM, message, span_of(opaque)))
            found = runs.parting(draw, rounds[-1], is_rewritten=is_rewritten) if finds_parting else None
            return ExactOutcome(tuple(rounds), parting=found)
    return ExactOutcome(tuple(rounds), tuple(dict.fromkeys(_not_reached(program, runs, draws, len(rounds)))))


def _numbers(runs: ExactRuns, draws: Draws) -> Iterator[int]:
    """Yield the numbers of draws: of all enumerated choices, and of more while branches remain that none takes."""
    yield from range(draws.count)
    number = draws.count
    while number < MOST_DRAWS and runs.branches_not_taken():
        yield number
        number += 1


def is_interpreted(op: Operation, program: Compiled[Any]) -> bool:
    """Return whether an op calls a kernel of Pallas that JAX traced in this process."""
    return is_opaque(op) and key_of_call(op) in program.origin.callbacks


def _not_reached(program: Compiled[Any], runs: ExactRuns, draws: Draws, count: int) -> Iterator[str]:
    for op, number in runs.branches_not_taken():
        name = ("true branch", "false branch")[number] if isinstance(op, IfOp) else f"branch {number}"
        line = span_of(op)
        yield f"the {name} of the {op.name}" + (f" at line {line.line}" if line is not None else "")
    for op in filter(is_opaque, pre_order(program.written)):
        kernel = f"the kernel of @{names_of_call(op)[0]}, which is taken for a function of its operands"
        yield f"{kernel}, and runs in interpret mode on floats" if is_interpreted(op, program) else kernel
    yield from _roundings(program)
    if count < draws.count or draws.missing:
        yield "some values of arguments that choose a path or a place"


def _roundings(program: Compiled[Any]) -> Iterator[str]:
    """Yield what the local program rounds to a type that the original program does not have: exact numbers stay."""
    conversions = [op for op in pre_order(program.local) if isinstance(op, ConvertOp)]
    types = ((op, _float_type(op.operand), _float_type(op.result)) for op in conversions)
    narrowing = [(op, to) for op, source, to in types if source and to and to.bitwidth < source.bitwidth]
    if not narrowing:
        return  # without a walk through the original program
    known = {_float_type(each) for op in pre_order(program.written) for each in (*op.operands, *op.results)}
    for op, target in narrowing:
        if target not in known:
            line = span_of(op)
            where = "" if line is None else f" at line {line.line}"
            yield f"the rounding to {target}{where}, a type that the original program does not have"


def _float_type(value: SSAValue) -> AnyFloat | None:
    tensor = as_tensor(value.type)
    return tensor.element_type if tensor is not None and isinstance(tensor.element_type, AnyFloat) else None
