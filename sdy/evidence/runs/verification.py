"""Decides by runs whether a partitioned program computes the same function as the program itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import log2, prod
from typing import Any

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.diagnostics.wording import counted
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.documents.document import document
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.both_programs import BothPrograms, Watch, unwatched
from sdy.evidence.runs.comparison import OutputComparison, VerifiedRound, compare
from sdy.evidence.runs.draws import EXPONENTIALS, KINDS, LAWS, LOGARITHMS, UNIFORM, Draws
from sdy.evidence.runs.exact import NO_EXACT_FORM, ExactOutcome, exact_outcome, is_interpreted
from sdy.evidence.runs.special_values import special_rounds
from sdy.evidence.sizes.reduce_sizes import SizeChange
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.arrays.rounding_errors import errors, largest
from sdy.interpreter.ops.custom_calls import is_opaque
from sdy.report.html.markup import tables_html
from sdy.report.tables.program_tables import errors_table

# Results of others may differ by so many times what two right programs, ours, differ by.
FACTOR = 16.0


class Verdict(Enum):
    """The outcome of the runs of two programs."""

    SAME = "the same function"
    DIFFERS = "differs"
    UNDECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class ReducedSizes:
    """The sizes of a verification in smaller sizes: changes, devices before and after, and the numbers of ops."""

    changes: tuple[SizeChange, ...]
    devices: tuple[int, int]
    ops: int
    local_ops: int


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of running a program on one device, and its partitioned form on all.

    `rounds` are runs on exact numbers, then those on special values. `floats` compares the results on arrays that were
    given, or on random ones if the program has no form in exact numbers: `undecided` says why it has none.
    `not_reached` says what no round reached, `parting` at which op the programs part if they differ. `sizes` is None if
    the program ran in its own sizes.
    """

    rounds: tuple[VerifiedRound, ...]
    floats: tuple[OutputComparison, ...] = ()
    not_reached: tuple[str, ...] = ()
    undecided: str = ""
    parting: Diagnostic | None = None
    sizes: ReducedSizes | None = None
    is_held_to_given: bool = False

    @property
    def agrees(self) -> bool:
        """Return whether no run showed a difference."""
        return all(each.agrees for each in self.comparisons)

    @property
    def verdict(self) -> Verdict:
        """The same function, if exact numbers agree in all rounds."""
        if not self.agrees:
            return Verdict.DIFFERS
        return Verdict.UNDECIDED if self.undecided else Verdict.SAME

    @property
    def comparisons(self) -> list[OutputComparison]:
        """The comparison of each output: the first in which it differs, if any, with the errors of floats."""
        judged = [each.comparisons for each in self.rounds]
        counts = self.is_held_to_given or bool(self.undecided)
        columns = list(zip(*judged, *([self.floats] if self.floats else []), strict=True))
        found: list[OutputComparison] = []
        for place, column in enumerate(columns):
            shown = self.floats[place] if self.floats else column[0]
            exact = column[: len(judged)]
            wrong = next((each for each in (column if counts else exact) if not each.agrees), None)
            errors_of_floats = {"absolute_error": shown.absolute_error, "relative_error": shown.relative_error}
            found.append(replace(wrong or replace(shown, agrees=True, problem=""), **errors_of_floats))
        return found

    @property
    def chance(self) -> float:
        """A bound of the chance that two different functions agree in the draws of any number, for an element."""
        kinds = [each.name.partition(",")[0] for each in self.rounds]
        return prod(SHARES.get(kind, 1.0) for kind in kinds)

    def to_json(self) -> dict[str, object]:
        """Return the outcome as plain data."""
        reduced = self.sizes
        if reduced is None:
            return document("Verdict", self, reason=self.undecided)
        before, after = reduced.devices
        return document(
            "ReducedVerification",
            self,
            reason=self.undecided,
            sizes=reduced.changes,
            devices={"before": before, "after": after},
            ops=reduced.ops,
            local_ops=reduced.local_ops,
        )


# Degrees of up to a thousand over primes next to 2 ** 26, of up to a hundred in arguments of one number, which may be
# from an eighth of the field, and of up to a hundred over primes above 2 ** 13.
SHARES = {UNIFORM: 2.0**-16, EXPONENTIALS: 2.0**-6, LOGARITHMS: 2.0**-6}


def verify_sizes_as_they_are(
    program: Compiled[Any],
    seed: int = 0,
    given: Sequence[Array] | None = None,
    expected: Sequence[Array] | None = None,
    *,
    special: bool = False,
    interprets: bool = True,
    finds_parting: bool = True,
    watch: Watch = unwatched,
) -> Verification:
    """Run both programs in finite fields, with `special` also on special values, and decide.

    With arrays that are `given`, integers are these in all rounds, and the results of floats on them are compared too,
    with `expected` ones if the user has them. What the ops of the program check, they check on floats; with
    `interprets`, kernels of Pallas that JAX traced run on floats, too. See `exact_outcome` for `finds_parting`.
    Raises: SdyError if a program cannot be run, or if a check fails.
    """
    undecided = ""
    try:
        draws = Draws(program.written, seed, given)
        outcome = exact_outcome(program, draws, watch, finds_parting=finds_parting)
    except SdyError as error:
        if error.diagnostics[0].code != NO_EXACT_FORM:
            raise
        outcome, undecided = ExactOutcome(()), error.diagnostics[0].message
    rounds = outcome.rounds
    undecided = undecided or hidden_text(rounds)
    floats: list[OutputComparison] = []
    agree = all(each.agrees for each in rounds)
    has_checks = any(op.name.startswith("check.") for op in pre_order(program.written))
    has_kernels = interprets and any(is_interpreted(op, program) for op in pre_order(program.written))
    not_reached, is_needed = outcome.not_reached, given is not None or undecided or has_checks
    if agree and (is_needed or has_kernels):
        try:
            inputs = random_inputs(program.written, seed) if given is None else given
            floats = compare_runs(program, inputs, expected, watch=watch)
        except SdyError as error:
            if is_needed:
                raise
            not_reached = (*not_reached, f"a run on floats: {error.diagnostics[0].message.splitlines()[0]}")
    if special and agree and not any(map(is_opaque, pre_order(program.written))):
        rounds = (*rounds, *special_rounds(program, seed))
    is_held = expected is not None
    return Verification(rounds, tuple(floats), not_reached, undecided, outcome.parting, is_held_to_given=is_held)


def hidden_text(rounds: Sequence[VerifiedRound]) -> str:
    """Return which outputs no draw says anything about, in words: all of their elements are NaN or infinite."""
    columns = zip(*(each.comparisons for each in rounds), strict=True)
    hidden = [column[0].index for column in columns if all(each.is_hidden for each in column)]
    if not hidden or not all(each.agrees for each in rounds):
        return ""
    listed = ", ".join(map(str, hidden))
    return f"output{'s' * (len(hidden) > 1)} {listed} {'are' if len(hidden) > 1 else 'is'} NaN or infinite in each draw"


def compare_runs(
    program: Compiled[Any], inputs: Sequence[Array], given: Sequence[Array] | None = None, *, watch: Watch = unwatched
) -> list[OutputComparison]:
    """Run a program in floats on one device and on all, and compare the results, or those of all devices with `given`.

    Results within the tolerance for rounding to their type agree. So do given ones that differ by no more than the
    results of the two programs do, times `FACTOR`. Raises: SdyError if a program cannot be run.
    """
    runs = BothPrograms(program)
    with watch("original program", main_function(program.written)) as observer:
        original = runs.on_one_device(inputs, observer=observer)
    with watch("partitioned program", main_function(program.local)) as observer:
        actual = program.global_results(runs.on_devices(inputs, observer=observer))
    if given is None:
        return [compare(index, *pair) for index, pair in enumerate(zip(actual, original, strict=True))]
    return compare_up_to(actual, given, deviations(actual, original))


def deviations(ours: Sequence[Array], original: Sequence[Array]) -> list[float]:
    """Return by how much each result of our partition differs from that of the program itself, because of rounding."""
    return [largest(errors(*pair)[0]) for pair in zip(ours, original, strict=True)]


def compare_up_to(
    actual: Sequence[Array], expected: Sequence[Array], deviation: Sequence[float]
) -> list[OutputComparison]:
    """Compare results of floats; they also agree if they differ by no more than the deviation, times `FACTOR`."""
    found: list[OutputComparison] = []
    for index, (ours, theirs, most) in enumerate(zip(actual, expected, deviation, strict=True)):
        compared = compare(index, ours, theirs)
        if not compared.agrees and compared.absolute_error <= FACTOR * most:
            compared = replace(compared, agrees=True, problem="")
        found.append(compared)
    return found


def outcome_text(found: Verification) -> str:
    """Return the verdict as a sentence."""
    count = len(found.comparisons)
    if found.verdict is Verdict.DIFFERS:
        wrong = sum(not each.agrees for each in found.comparisons)
        where = "" if found.parting is None else f"; {render(found.parting)!s}"
        return f"{wrong} of {counted(count, 'output')} differ" + "s" * (wrong == 1) + where
    if found.verdict is Verdict.UNDECIDED:
        return f"not decided: {found.undecided}; results of floats agree within rounding"
    draws = counted(sum(each.name.startswith((*KINDS, *LAWS)) for each in found.rounds), "draw")
    return (
        f"the same function, in {draws} of exact numbers; the chance of an error is below {chance_text(found.chance)}"
    )


def difference_text(found: Verification) -> str:
    """Return the verdict, and what differs, in lines."""
    wrong = [f"output {each.index}: {each.problem}" for each in found.comparisons if not each.agrees]
    return "\n".join((outcome_text(found), *wrong))


def chance_text(chance: float) -> str:
    """Return a power of 2."""
    return f"2^{round(log2(chance))}"


class OutputComparisons(list[OutputComparison]):
    """The comparisons of all outputs, and the verification that they are from."""

    def __init__(self, found: Verification) -> None:
        super().__init__(found.comparisons)
        self.verification = found

    @property
    def verdict(self) -> Verdict:
        """The same function, differs, or not decided."""
        return self.verification.verdict

    def to_json(self) -> dict[str, object]:
        """Return the verification as plain data."""
        return self.verification.to_json()

    def __repr__(self) -> str:
        """Return one line: the verdict."""
        return f"OutputComparisons({outcome_text(self.verification)})"

    def _repr_html_(self) -> str:
        """Return the table of errors that notebooks show."""
        rows = (
            (str(each.index), f"{each.absolute_error:.1g}", f"{each.relative_error:.1g}", each.outcome) for each in self
        )
        return tables_html(repr(self), [errors_table(rows)])
