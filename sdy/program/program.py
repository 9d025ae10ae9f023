"""The `Program` class: a module, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp

from sdy.cost.hardware import DEFAULT_MACHINE, Hardware
from sdy.diagnostics.argument_types import require_type
from sdy.diagnostics.progress import note_step
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import make_context, parse_module_with_locations, print_module
from sdy.dialects.text.source_lines import source_lines
from sdy.dialects.verification.verify_module import verify_module
from sdy.program import on_demand
from sdy.program.origin import Origin
from sdy.program.partitioned import PartitionedProgram, explained_partition, partitioned_program, reported_program
from sdy.program.sharded_program import PropagatedProgram, propagated_program, summary
from sdy.program.signature import FlatSignature
from sdy.program.source_text import argument_names, read_module

if TYPE_CHECKING:
    from sdy.advice.contract import Breach, Contract
    from sdy.advice.diff import ProgramDiff
    from sdy.advice.edits import Change
    from sdy.advice.lint.finding import Finding
    from sdy.advice.lint.linter import Linter, LintReport
    from sdy.advice.lint.settings import LintSettings
    from sdy.advice.partition_facts import PartitionFacts
    from sdy.advice.why_not import WhyNot
    from sdy.cost.program_cost import ProgramCost
    from sdy.evidence.proof.prove import Proof
    from sdy.interpreter.arrays.element_types import Array, DType
    from sdy.program.comparison import OutputComparisons, PartitionerResult
    from sdy.program.planning.apply_tactics import Step
    from sdy.program.planning.plan import ShardingPlan
    from sdy.program.planning.search_plan import SearchedProgram
    from sdy.report.explain import Explainer
    from sdy.report.html.inline_page import InlinePage
    from sdy.report.reported_program import ReportedProgram
    from sdy.search.applied_tactics import AppliedTactics

R = TypeVar("R", default="list[Array]")
S = TypeVar("S", default="list[Array]")


@dataclass(frozen=True)
class Program(Generic[R]):
    """An immutable program. Each step (propagate, partition, ...) works on a copy of the module and is cached.

    `R` is the type of the results: a list of arrays for a program that was read from text, the output pytree of the
    function for a program that was lowered from JAX.
    """

    module: ModuleOp
    origin: Origin[R]
    optimize_communication: bool = True  # whether `partition` rewrites ops to send fewer bytes

    @staticmethod
    @garbage_collection_paused()
    def from_text(text: str, file_name: str = "<text>") -> Program[list[Array]]:
        """Parse and verify the text of a program. Raises: SdyError with the first error in the text."""
        require_type(text, str, "Program.from_text: text", "sdy.load(path) reads a file")
        note_step(f"read {file_name}")
        module, locations = parse_module_with_locations(text, file_name)
        origin = Origin(text, FlatSignature(), source_lines(locations), argument_names(module, locations))
        with origin.named_lines():
            verify_module(module)
        return Program(module, origin)

    @staticmethod
    def from_module(module: ModuleOp) -> Program[list[Array]]:
        """Return the program of a module, which must be verified."""
        require_type(module, ModuleOp, "Program.from_module: module", "Program.from_text(text) parses a text")
        return Program(module, Origin(print_module(module), FlatSignature()))

    @cached_property
    def input_types(self) -> tuple[tuple[tuple[int, ...], DType], ...]:
        """The shape and the dtype of each argument of the main function."""
        return on_demand.input_types(self.module)

    def propagate(self) -> PropagatedProgram[R]:
        """Propagate the shardings to every value. Raises: SdyError if propagation does not support the module."""
        return self._propagated

    def partition(self) -> PartitionedProgram[R]:
        """Propagate the shardings, then partition the program. Raises: SdyError at the first op that is unsupported."""
        return self._partitioned

    def run(self, *args: object, **kwargs: object) -> R:
        """Run the program on one device, ignoring all shardings.

        Raises: SdyError if the arrays do not match the arguments.
        """
        signature = self.origin.signature
        return signature.results(self.run_flat(signature.flat_arguments(args, kwargs)))

    def run_flat(self, inputs: Sequence[Array]) -> list[Array]:
        """Run the program like `run`, with one array per argument and per result of the main function."""
        return on_demand.interpret(self.module, inputs, main_function(self.module).sym_name.data, self.origin.host())

    def verify(
        self,
        *args: object,
        expected: object = (),
        inputs: Mapping[str, object] | None = None,
        seed: int = 0,
        optimize_communication: bool | None = None,
        exact: bool | None = None,
        reduced: bool = False,
        **kwargs: object,
    ) -> OutputComparisons:
        """Run the partitioned program on all devices, and compare each output with its expected value.

        The arguments are those of one call of `run`; without any, random arrays from `seed`. `inputs` replaces some of
        them by name: `{"params['w']": array}`, or `{"%arg0": array}`. `expected` is the expected return value; by
        default, the result on one device. `optimize_communication` overrides the field. With `exact`, both also run in
        64-bit floats, by default if an output differs: it may only round differently. With `reduced`, sizes are small.
        Raises: SdyError if arguments or expected results do not match the program; SDY-X150 if memory is insufficient.
        """
        require_type(seed, int, "Program.verify: seed")
        partitioned = self._with_optimizer(optimize_communication).partition()
        call = on_demand.VerifiedCall(args, kwargs, inputs, expected, seed)
        return on_demand.compare_call(self.module, partitioned, call, exact=exact, reduced=reduced)

    def prove(self, *, optimize_communication: bool | None = None) -> Proof:
        """Prove, without a run, that the partitioned program computes the same, apart from rounding; see `verify`."""
        partitioned = self._with_optimizer(optimize_communication).partition()
        return on_demand.prove(self.module, partitioned.local, partitioned.boundary)

    def explain(self, value: str) -> str:
        """Explain the sharding of a value: which annotation each axis originates from, and which ops propagated it.

        `value` is a name (`%3`, `@func:%x`) or a line number of the program text. For a program from JAX it may also be
        an argument (`params['w']`), a result (`result[1]`), or a line of the Python program (`train.py:12`).
        Raises: SdyError SDY-T203 if no value has that name.
        """
        require_type(value, str, "Program.explain: value", "write a line number as text: '3'")
        names = self.origin.names_in_text(value)
        return "\n".join(line for name in names for line in self._explainer.value(name))

    def why_not(self, value: str, *, dim: int, axis: str) -> str:
        """Explain why a dim of a value is not sharded along a mesh axis, and which edit shards it.

        The edit was tried on a copy of the program. `value` is named as for `explain`; `dim=-1` is the last dim.
        Raises: SdyError SDY-T203 if no value has that name; SDY-T220 if the value has no dim with that number or no
        mesh has an axis with that name.
        """
        return "\n".join(self._why_not.answer(self.origin.names_in_text(value)[0], dim, axis))

    def conflicts(self) -> str:
        """List the ops at which an axis of one tensor could not be propagated to another one, and the reasons."""
        return "\n".join(self._explainer.conflicts())

    def report(
        self, *, optimize_communication: bool | None = None, width: int | None = None, verbose: bool = False
    ) -> str:
        """Return a report in plain text: shardings, collectives with bytes and source lines, conflicts.

        Tables have at most `width` columns of text, by default 80. `optimize_communication` overrides the field.
        Unless `verbose`, entries of long lists that differ only in names and lines share one.
        """
        partitioned = self._with_optimizer(optimize_communication).partition()
        reported = reported_program(self.module, partitioned, self._explainer)
        return on_demand.program_report(reported, width or on_demand.WIDTH, verbose=verbose)

    @garbage_collection_paused()
    def report_html(
        self, machine: str | Hardware = DEFAULT_MACHINE, partitioners: Sequence[PartitionerResult] = ()
    ) -> str:
        """Return the report as a self-contained HTML page: program, collectives, memory over time, conflicts.

        Times are estimates for `machine`. The page also compares `partitioners`, from `sdy.compare_partitioners`.
        Raises: SdyError SDY-T209 if no machine has this name.
        """
        compared = [each.to_json() for each in partitioners]
        return on_demand.html_page(self._reported, on_demand.resolve_hardware(machine), compared)

    def show(self, machine: str | Hardware = DEFAULT_MACHINE, *, height: int = 640) -> InlinePage | Path:
        """Show the page of `report_html`: in a notebook as the value of a cell, `height` pixels high.

        Outside of a notebook, open it in a browser, and return its file. Raises: as `report_html`.
        """
        return on_demand.shown_page(self.report_html(machine), height)

    def cost(
        self,
        machine: str | Hardware,
        free_bytes: float | str | None = None,
        *,
        optimize_communication: bool | None = None,
    ) -> ProgramCost:
        """Estimate the time and memory of the partitioned program; see `PartitionedProgram.cost`.

        `optimize_communication` overrides the field.
        """
        return self._with_optimizer(optimize_communication).partition().cost(machine, free_bytes)

    def optimized_for(self, machine: str | Hardware) -> Program[R]:
        """Return the program with the communication optimizer on or off, whichever is predicted to be faster.

        The optimizer minimizes the bytes sent, which may take more collectives and more time on a machine.
        Raises: SdyError SDY-T209 if no machine has this name.
        """
        both = (self._with_optimizer(True), self._with_optimizer(False))
        return min(both, key=lambda program: program.cost(machine).seconds_in_turn)

    def expect(
        self,
        contract: Contract | str | Path | None = None,
        *,
        counts: Mapping[str, int] | None = None,
        bytes_sent: float | str | None = None,
        peak_bytes: float | str | None = None,
        seconds: float | None = None,
        on: str = DEFAULT_MACHINE,
        shardings: Mapping[str, str] | None = None,
    ) -> None:
        """Check that the partitioned program keeps a contract: a `Contract`, a TOML file, or the bounds given here.

        Every bound is an upper bound for one device and one run. `counts` bounds the number of collectives by kind:
        `{"all-gather": 0}`. Bytes may have a unit: `"14GB"`. `seconds` is the predicted time on the machine `on`.
        `shardings` maps values to the shardings that they must have.
        Raises: SdyError with one diagnostic per broken bound, which names the collectives and their causes; SDY-C010 if
        the file is not a contract, or OSError if it cannot be read.
        """
        bounds = on_demand.bounds_contract(counts or {}, bytes_sent, peak_bytes, seconds, on, shardings or {})
        for each in (on_demand.given_contract(contract), bounds):
            if each is not None:
                on_demand.raise_breaches(self.breaches(each))

    def breaches(self, contract: Contract) -> list[Breach]:
        """Return the broken terms of a contract; see `expect`."""
        return on_demand.breaches(contract, self.facts(contract.machine))

    def diff(self, other: Program[S], *, on: str | Hardware = DEFAULT_MACHINE) -> ProgramDiff:
        """Return the differences from this program to another one; `print` it, or use `to_json`.

        Values are matched by what computes them, so that names and the order of ops do not matter.
        Raises: SdyError SDY-T209 if no machine has this name.
        """
        return on_demand.diff(self.facts(on), other.facts(on))

    def lint(self, settings: LintSettings | None = None) -> LintReport:
        """Return the avoidable costs of the partitioned program, with fixes that were tried on copies.

        Raises: SdyError SDY-T209 if no machine has the name in the settings, SDY-T240 if no rule has a selected code.
        """
        settings = settings or on_demand.LintSettings()
        if settings not in self._lint_reports:
            self._lint_reports[settings] = self._linter(settings).report()
        return self._lint_reports[settings]

    def with_lint_fixes(self, settings: LintSettings | None = None) -> tuple[Program[R], list[Finding]]:
        """Return the program with fixes of `lint` applied, and the findings that were fixed, in this order.

        Apply the fixes that raise neither bytes, time nor memory, the best first, each if that still holds after those
        before; then examine the program anew, until no such fix is left. Raises: SdyError as `lint`.
        """
        program, settings = self, settings or on_demand.LintSettings()
        fixed: list[Finding] = []
        while fixable := program.lint(settings).fixable():
            for number, finding in enumerate(fixable):
                again = program._linter(settings).fixable_again(finding) if number else finding
                if again is not None and again.fix is not None:
                    program = program._with_changes(again.fix.fix.changes)
                    fixed.append(again)
        return program, fixed

    def search(
        self,
        *,
        mesh: str | None = None,
        devices: int | None = None,
        on: str | Hardware = DEFAULT_MACHINE,
        memory: float | str | None = None,
        minimize: str = "time",
        fix: Mapping[str, object] | None = None,
        from_scratch: bool = False,
        overlap: bool = False,
        time_limit: float | None = None,
    ) -> ShardingPlan[Program[R]]:
        """Search for the best shardings of arguments, results and, where it pays, of values inside.

        `mesh` is a text such as `"data=16,model=4"`, by default the mesh of the program; with `devices`, all meshes of
        one to three axes are tried. `memory` is what the program may use on a device, by default all. `minimize` is
        `"time"`, `"bytes"` or `"memory"`. Annotations of the program stay, unless the mesh is another one or
        `from_scratch` is set; `fix` adds some by name. With `overlap`, communication runs while ops compute.
        `time_limit` is in seconds, by default 60.
        Raises: SdyError SDY-T250 if HiGHS is needed and not installed, SDY-T251 if ops depend on the mesh, SDY-T252 if
        an option is malformed, SDY-T253 if neither the program nor the call names a mesh.
        """
        hardware = on_demand.resolve_hardware(on)
        options = mesh, devices, memory, minimize, fix, on_demand.SECONDS if time_limit is None else time_limit
        request = on_demand.search_request(hardware, *options, from_scratch=from_scratch, overlap=overlap)
        return on_demand.search_plan(self._parts(), request)

    def apply(
        self, *steps: Step, mesh: str | None = None, on: str | Hardware = DEFAULT_MACHINE
    ) -> AppliedTactics[Program[R]]:
        """Shard the program step by step; return the annotated program, and what it costs after each step.

        A step is a tactic (`sdy.shard`, `sdy.replicate`, `sdy.search_rest`) or a list of them; it propagates after
        those before it. `mesh` is by default that of the program.
        Raises: SdyError SDY-T254 if a tactic matches no value, SDY-T255 if it cannot shard any, or as `search`.
        """
        return on_demand.apply_tactics(self, Program[R]._parts, steps, mesh, on_demand.resolve_hardware(on))

    def facts(self, machine: str | Hardware = DEFAULT_MACHINE) -> PartitionFacts:
        """Return the collectives, memory, time and shardings of the partitioned program on a machine.

        Raises: SdyError SDY-T209 if no machine has this name.
        """
        return on_demand.PartitionFacts(self._reported, on_demand.resolve_hardware(machine))

    def trace(self, machine: str | Hardware) -> dict[str, object]:
        """Return the estimated schedule of the partitioned program; see `PartitionedProgram.trace`."""
        return self.partition().trace(machine)

    def __str__(self) -> str:
        """Return the text that the program was read from."""
        return self.origin.text

    def __repr__(self) -> str:
        """Return one line: the main function with the number of its arguments and results, and the meshes."""
        return f"Program({summary(self.module)})"

    def _repr_html_(self) -> str:
        """Return the summary that notebooks show: meshes, arguments and results as annotated."""
        return on_demand.summary_html(repr(self), self.module, self.origin.argument_names)

    def _with_optimizer(self, optimize_communication: bool | None) -> Program[R]:
        """Return the program with another value of the field, or this program for None."""
        is_same = optimize_communication in (None, self.optimize_communication)
        return self if is_same else self._with_opposite_optimizer

    @cached_property
    def _with_opposite_optimizer(self) -> Program[R]:
        return replace(self, optimize_communication=not self.optimize_communication)

    @cached_property
    def _propagated(self) -> PropagatedProgram[R]:
        return propagated_program(self.module, self.origin)

    @cached_property
    def _partitioned(self) -> PartitionedProgram[R]:
        return partitioned_program(self.module, self.origin, optimize_communication=self.optimize_communication)

    @cached_property
    def _reported(self) -> ReportedProgram:
        if not {"_partitioned", "_explainer"} & vars(self).keys():  # one propagation does for both
            both = explained_partition(self.module, self.origin, optimize_communication=self.optimize_communication)
            vars(self).update(zip(("_partitioned", "_explainer"), both, strict=True))
        return reported_program(self.module, self.partition(), self._explainer)

    @cached_property
    def _explainer(self) -> Explainer:
        return self._explained(self.module)

    @cached_property
    def _why_not(self) -> WhyNot:
        return on_demand.WhyNot(self.module, self._explainer, self._explained)

    @cached_property
    def _lint_reports(self) -> dict[LintSettings, LintReport]:
        return {}

    def _linter(self, settings: LintSettings) -> Linter:
        trials = on_demand.TrialPartitions(self.origin, optimize_communication=self.optimize_communication)
        return on_demand.Linter(self.facts(settings.machine), trials.local, settings)

    def _parts(self) -> SearchedProgram[Program[R]]:
        return on_demand.SearchedProgram(self.module, self.origin, self._with_module, lambda m: replace(self, module=m))

    def _with_module(self, module: ModuleOp, changes: Sequence[Change] = ()) -> Program[R]:
        """Return the program with another module, and with changes to the annotations of its values."""
        if module is self.module:
            return self._with_changes(changes) if changes else self
        annotated, _ = on_demand.edited(module, changes)
        return replace(self, module=annotated, origin=self.origin.with_text(print_module(annotated)))

    def _with_changes(self, changes: Sequence[Change]) -> Program[R]:
        """Return the program with changes to the annotations in its text."""
        text = on_demand.text_with_changes(self.origin.text, self.module, changes)
        span = span_of(main_function(self.module))
        module = read_module(text, "<text>" if span is None else span.file)
        return replace(self, module=module, origin=self.origin.with_text(text))

    @garbage_collection_paused()
    def _explained(self, module: ModuleOp) -> Explainer:
        origin = self.origin
        return on_demand.Explainer(make_context(), module, origin.text, origin.source_lines, origin.argument_names)
