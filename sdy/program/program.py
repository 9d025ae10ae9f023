"""The `Program` class: a module, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled, compiled
from sdy.compile.propagated import summary
from sdy.compile.signature import call_of
from sdy.compile.source_text import text_origin, verify_and_normalize
from sdy.compile.written_program import WrittenProgram
from sdy.cost.hardware import Hardware
from sdy.cost.machines.table import DEFAULT_MACHINE
from sdy.cost.traffic import Sends, sends_of
from sdy.diagnostics.progress import note_step
from sdy.diagnostics.user_code import require_type
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import parse_module_with_locations, printed_copy
from sdy.dialects.text.source_lines import scopes, source_lines
from sdy.dialects.verification.ignored_annotations import ignored_annotations

if TYPE_CHECKING:
    from sdy.advice.contract import Breach, Contract
    from sdy.advice.diff import ProgramDiff
    from sdy.advice.lint.finding import Finding
    from sdy.advice.lint.linter import Linter, LintReport
    from sdy.advice.lint.settings import LintSettings
    from sdy.advice.partition_summary import PartitionSummary
    from sdy.evidence.partitioners.table import PartitionerResult
    from sdy.evidence.proof.outcome import Proof
    from sdy.evidence.runs.verification import OutputComparisons
    from sdy.interpreter.arrays.element_types import Array, DType
    from sdy.report.answer import Answer
    from sdy.report.explanation.explainer import Explainer
    from sdy.report.html.page import InlinePage
    from sdy.search.pipelines.pipeline_plan import PipelinePlan
    from sdy.search.pipelines.pipeline_request import Counts
    from sdy.search.plans.apply_tactics import AppliedTactics, Step
    from sdy.search.plans.plan import ShardingPlan

R = TypeVar("R", default="list[Array]")
S = TypeVar("S", default="list[Array]")


@dataclass(frozen=True)
class Program(WrittenProgram[R]):
    """An immutable program, and every question about it. Each answer works on a copy of the module, and is cached.

    `R` is the type of the results: a list of arrays for a program that was read from text, the output pytree of the
    function for a program that was lowered from JAX.
    """

    @staticmethod
    @garbage_collection_paused()
    def from_text(text: str, file_name: str = "<text>") -> Program[list[Array]]:
        """Parse and verify the text of a program. Raises: SdyError with the first error in the text."""
        require_type(text, str, "Program.from_text: text", "sdy.load(path) reads a file")
        note_step(f"read {file_name}")
        module, locations = parse_module_with_locations(text, file_name)
        origin = text_origin(text, module, locations)
        with origin.named_lines():
            verify_and_normalize(module, text, origin.checks)
        return Program(module, replace(origin, warnings=tuple(ignored_annotations(module))))

    @staticmethod
    def from_module(module: ModuleOp) -> Program[list[Array]]:
        """Verify a module and return its program, which is a copy: later changes of the module have no effect on it.

        Its text is the module as `sdy` prints it; names and line numbers are those of this text. The locations of the
        ops are its source lines (`net.toy:12`), and the names of the locations of the arguments are their names.
        Raises: SdyError with the first error in the module.
        """
        require_type(module, ModuleOp, "Program.from_module: module", "Program.from_text(text) parses a text")
        text, copy, locations = printed_copy(module, "<module>")
        origin = text_origin(text, copy, locations)
        with origin.named_lines():
            verify_and_normalize(copy, text, origin.checks)
        return Program(copy, replace(origin, warnings=tuple(ignored_annotations(copy))))

    @cached_property
    def input_types(self) -> tuple[tuple[tuple[int, ...], DType], ...]:
        """The shape and the dtype of each argument of the main function."""
        from sdy.evidence.runs.arrays import input_types

        return input_types(self.module)

    def run(self, /, *args: object, **kwargs: object) -> R:
        """Run the program on one device, ignoring all shardings.

        Raises: SdyError if the arrays do not match the arguments.
        """
        signature = self.origin.signature
        return signature.results(self.run_flat(signature.flat_arguments(args, kwargs)))

    def verify(
        self,
        *args: object,
        expected: object = (),
        inputs: Mapping[str, object] | None = None,
        seed: int = 0,
        reduced: bool = False,
    ) -> OutputComparisons:
        """Run the program on one device and the partitioned one on all, in exact numbers, and compare each output.

        The arguments are those of one call of `run`; `sdy.Call(x, key=k)` stands for one with keyword arguments.
        Without any, all are drawn from `seed`. `inputs` replaces some of them by name: `{"params['w']": array}`, or
        `{"%arg0": array}`. Of arrays that are given, integers are kept in the exact runs; the results of floats are
        compared too, with the return value `expected` if there is one. With `reduced`, sizes are small. The `verdict`
        of the result is the same function, differs, or not decided: then, floats agree within rounding.
        Raises: SdyError if arguments or expected results do not match the program; SDY-X150 if memory is insufficient.
        """
        from sdy.evidence.runs.reduced import VerifiedCall, compare_call
        from sdy.interpreter.failure import out_of_memory

        require_type(seed, int, "Program.verify: seed")
        verified = VerifiedCall(call_of(args), inputs, expected, seed)
        try:
            return compare_call(self.partition(), verified, reduced=reduced)
        except MemoryError as error:
            raise out_of_memory(error) from error

    def prove(self) -> Proof:
        """Prove that the partitioned program computes the same, apart from rounding: op by op, by lemmas for any size.

        Where no lemma holds, ops are checked by runs in exact numbers in reduced sizes; the result says which.
        """
        from sdy.evidence.whole_proof import prove

        return prove(self.partition())

    def explain(self, value: str) -> Answer:
        """Explain the sharding of a value: which annotation each axis originates from, and which ops propagated it.

        `value` is a name (`%3`, `@func:%x`) or a line number of the program text. For a program from JAX it may also be
        an argument (`params['w']`), a result (`result[1]`), or a line of the Python program (`train.py:12`).
        Raises: SdyError SDY-T203 if no value has that name.
        """
        from sdy.report.answer import Answer

        require_type(value, str, "Program.explain: value", "write a line number as text: '3'")
        explained = [each for name in self.origin.names_in_text(value) for each in self._explainer.explanations(name)]
        return Answer.of((line for each in explained for line in each.lines()), [each.to_json() for each in explained])

    def why_not(self, value: str, *, dim: int, axis: str) -> Answer:
        """Explain why a dim of a value is not sharded along a mesh axis, and which edit shards it.

        The edit was tried on a copy of the program. `value` is named as for `explain`; `dim=-1` is the last dim.
        Raises: SdyError SDY-T203 if no value has that name; SDY-T220 if the value has no dim with that number or no
        mesh has an axis with that name.
        """
        from sdy.advice.why_not import WhyNot
        from sdy.report.answer import Answer

        lines = WhyNot(self._explainer).answer(self.origin.names_in_text(value)[0], dim, axis).lines
        return Answer.of(lines, lines)

    def conflicts(self) -> Answer:
        """List the ops at which an axis of one tensor could not be propagated to another one, and the reasons."""
        from sdy.report.answer import Answer

        return Answer.of(self._explainer.conflicts(), [site.to_json() for site in self._explainer.conflict_sites()])

    def report(self, on: str | Hardware = DEFAULT_MACHINE, *, width: int | None = None, verbose: bool = False) -> str:
        """Return a report in plain text: totals, a diagnosis, shardings, collectives with bytes and lines, conflicts.

        Times are estimates for the machine `on`. Tables have at most `width` columns of text, by default 80. Unless
        `verbose`, long lists are folded. Raises: SdyError SDY-T209 if no machine has this name.
        """
        from sdy.cost.machines.file import resolve_hardware
        from sdy.report.program_report import WIDTH, ProgramReport

        hardware = resolve_hardware(on)
        report = ProgramReport(*self._explained(), hardware, self._textbook, width=width or WIDTH, verbose=verbose)
        return report.text(self._diagnosis(hardware))

    @garbage_collection_paused()
    def report_html(self, on: str | Hardware = DEFAULT_MACHINE, partitioners: Sequence[PartitionerResult] = ()) -> str:
        """Return the report as a self-contained HTML page: program, collectives, memory over time, conflicts.

        Times are estimates for the machine `on`. The page also compares `partitioners`, which
        `sdy.compare_partitioners` returns.
        Raises: SdyError SDY-T209 if no machine has this name.
        """
        from sdy.cost.machines.file import resolve_hardware
        from sdy.report.html.page import html_page
        from sdy.report.program_report import sends_lines

        compared, hardware = [each.to_json() for each in partitioners], resolve_hardware(on)
        sent = sends_lines(sends_of(self.partition().local), self._textbook)
        machine = f"times are for {hardware.name}; on=MACHINE, or --on, chooses another machine"
        head = [*self._diagnosis(hardware), *sent, machine]
        return html_page(*self._explained(), hardware, compared, head)

    def show(self, on: str | Hardware = DEFAULT_MACHINE, *, height: int = 640) -> InlinePage | Path:
        """Show the page of `report_html`: in a notebook as the value of a cell, `height` pixels high.

        Outside of a notebook, open it in a browser, and return its file. Raises: as `report_html`.
        """
        from sdy.report.html.page import shown_page

        return shown_page(self.report_html(on), height)

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
        from sdy.advice.contract import raise_breaches
        from sdy.advice.contract_file import bounds_contract, given_contract

        bounds = bounds_contract(counts or {}, bytes_sent, peak_bytes, seconds, on, shardings or {})
        for each in (given_contract(contract), bounds):
            if each is not None:
                raise_breaches(self.breaches(each))

    def breaches(self, contract: Contract) -> list[Breach]:
        """Return the broken terms of a contract; see `expect`."""
        from sdy.advice.contract import breaches

        return breaches(contract, self.partition_summary(contract.machine))

    def diff(self, other: Program[S], *, on: str | Hardware = DEFAULT_MACHINE) -> ProgramDiff:
        """Return the differences from this program to another one; `print` it, or use `to_json`.

        Values are matched by what computes them, so that names and the order of ops do not matter.
        Raises: SdyError SDY-T209 if no machine has this name.
        """
        from sdy.advice.diff import diff

        return diff(self.partition_summary(on), other.partition_summary(on))

    def lint(self, settings: LintSettings | None = None) -> LintReport:
        """Return the avoidable costs of the partitioned program, with fixes that were tried on copies.

        Raises: SdyError SDY-T209 if no machine has the name in the settings, SDY-T240 if no rule has a selected code.
        """
        from sdy.advice.lint.settings import LintSettings

        settings = settings or LintSettings()
        if settings not in self._lint_reports:
            self._lint_reports[settings] = self._linter(settings).report()
        return self._lint_reports[settings]

    def with_lint_fixes(self, settings: LintSettings | None = None) -> tuple[Program[R], list[Finding]]:
        """Return the program with fixes of `lint` applied, and the findings that were fixed, in this order.

        Apply the fixes that raise neither bytes, time nor memory, the best first, each if that still holds after those
        before; then examine the program anew, until no such fix is left. Raises: SdyError as `lint`.
        """
        from sdy.advice.lint.annotated_text import with_changes
        from sdy.advice.lint.settings import LintSettings

        program, settings = self, settings or LintSettings()
        end = settings.end()
        fixed: list[Finding] = []
        while fixable := program.lint(settings.until(end)).fixable():
            for number, finding in enumerate(fixable):
                again = program._linter(settings.until(end)).fixable_again(finding) if number else finding
                if again is not None and again.fix is not None:
                    program = with_changes(program, again.fix.fix.changes)
                    fixed.append(again)
        return program, fixed

    @overload
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
        constraints: int | None = None,
        time_limit: float | None = None,
    ) -> ShardingPlan[Program[R]]: ...

    @overload
    def search(
        self,
        *,
        stages: Counts,
        microbatches: Counts | None = None,
        mesh: str | None = None,
        devices: int | None = None,
        on: str | Hardware = DEFAULT_MACHINE,
        memory: float | str | None = None,
        time_limit: float | None = None,
    ) -> PipelinePlan: ...

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
        constraints: int | None = None,
        time_limit: float | None = None,
        stages: Counts | None = None,
        microbatches: Counts | None = None,
    ) -> ShardingPlan[Program[R]] | PipelinePlan:
        """Search for the best shardings of arguments, results and, where it pays, of values inside.

        `mesh` is a text such as `"data=16,model=4"`, by default the mesh of the program; with `devices`, all meshes of
        one to three axes are tried, with the names of the axes of the program. `memory` is what the program may use on
        a device, by default all. `minimize` is `"time"`, `"bytes"` or `"memory"`. Annotations of the program stay,
        unless the mesh is another one or `from_scratch` is set; `fix` adds some by name. With `overlap`, communication
        runs while ops compute. At most `constraints` values inside get a sharding constraint: with 0, the plan is one
        for arguments and results alone. `time_limit` is in seconds, by default 60.

        The plan of a JAX program is for `jax.jit`: it has no constraints by default, its cost is that without the
        communication optimizer, and results that are the next values of arguments, such as new parameters, are sharded
        like these. If the program has at most 4,000 ops, the plan is compiled with XLA, in a third of the time limit,
        if that is at least 30 seconds.

        With `stages`, search for a pipeline instead: how many meshes (`"2,4,8"`), which layers are on each, its mesh
        and shardings, the schedule, and which stages compute forward phases again. `microbatches` are the numbers to
        try, by default `"4..64"`, each twice the one before. `mesh` is then that of each stage, and `devices` counts
        those of all. The plan ignores annotations of the program.
        Raises: SdyError SDY-T250 if HiGHS is needed and not installed, SDY-T251 if ops depend on the mesh, SDY-T252 if
        an option is malformed, SDY-T253 if neither the program nor the call names a mesh. Of a pipeline, SDY-T263 if
        the program has no equal layers, SDY-T264 if its batch cannot be divided, SDY-T265 if its layers cannot.
        """
        from sdy.cost.machines.file import resolve_hardware
        from sdy.search.plans.search_plan import plan_tried_in_xla
        from sdy.search.search_request import SECONDS, search_request

        hardware = resolve_hardware(on)
        if stages is not None or microbatches is not None:
            from sdy.search.pipelines.pipeline_plan import pipeline_plan
            from sdy.search.pipelines.pipeline_request import pipeline_request

            others = minimize != "time" or fix or from_scratch or overlap or constraints is not None
            counts, limits = (stages, microbatches), (mesh, devices, memory, time_limit)
            return pipeline_plan(self, pipeline_request(hardware, *counts, *limits, has_others=bool(others)))
        options = mesh, devices, memory, minimize, fix, SECONDS if time_limit is None else time_limit
        names = [axis.name for each in meshes_of(self.module).values() for axis in each.axes]
        chosen = {"from_scratch": from_scratch, "overlap": overlap}
        request = search_request(hardware, *options, **chosen, constraints=constraints, axis_names=names)
        return plan_tried_in_xla(self, request)

    def apply(
        self, *steps: Step, mesh: str | None = None, on: str | Hardware = DEFAULT_MACHINE
    ) -> AppliedTactics[Program[R]]:
        """Shard the program step by step; return the annotated program, and what it costs after each step.

        A step is a tactic (`sdy.shard`, `sdy.replicate`, `sdy.search_rest`) or a list of them; it propagates after
        those before it. `mesh` is by default that of the program.
        Raises: SdyError SDY-T254 if a tactic matches no value, SDY-T255 if it cannot shard any, or as `search`.
        """
        from sdy.cost.machines.file import resolve_hardware
        from sdy.search.plans.apply_tactics import apply_tactics

        return apply_tactics(self, steps, mesh, resolve_hardware(on))

    def partition_summary(self, on: str | Hardware = DEFAULT_MACHINE) -> PartitionSummary:
        """Return the collectives, memory, time and shardings of the partitioned program on a machine.

        Raises: SdyError SDY-T209 if no machine has this name.
        """
        from sdy.advice.partition_summary import PartitionSummary
        from sdy.cost.machines.file import resolve_hardware

        return PartitionSummary(*self._explained(), resolve_hardware(on))

    def schedule_trace(self, on: str | Hardware) -> dict[str, object]:
        """Return the estimated schedule of the partitioned program as a trace for the viewers of Chrome and Perfetto.

        Write the result with `json.dump`. Ops run one after another, so the trace ends at `cost(on).seconds_in_turn`.
        Raises: SdyError SDY-T209 if no machine has this name.
        """
        from sdy.cost.machines.file import resolve_hardware
        from sdy.report.schedule_trace import schedule_trace

        return schedule_trace(self.partition(), resolve_hardware(on))

    def save(self, path: str | Path) -> None:
        """Write the text of the program to a file, which `sdy.load` and all commands read.

        The text of a program from JAX has the lines of Python, the names of the arguments, and the shardings; functions
        of Python that the program calls are not in it. Raises: OSError if the file cannot be written.
        """
        from sdy.advice.lint.annotated_text import text_with_locations

        require_type(path, (str, Path), "Program.save: path")
        text = self.origin.text
        _, locations = parse_module_with_locations(text, "<text>")
        if (source_lines(locations), scopes(locations)) != (
            self.origin.source_lines,
            self.origin.scopes,
        ):  # a text that was read may have locations itself
            text = text_with_locations(self.module, self.origin)
        Path(path).write_text(text, encoding="utf-8")

    def __str__(self) -> str:
        """Return the text that the program was read from."""
        return self.origin.text

    def __repr__(self) -> str:
        """Return one line: the main function with the number of its arguments and results, and the meshes."""
        return f"Program({summary(self.module)})"

    def _repr_html_(self) -> str:
        """Return the summary that notebooks show: meshes, arguments and results as annotated."""
        from sdy.report.html.values import summary_html

        return summary_html(repr(self), self.module, self.origin.argument_names)

    def _explained(self) -> tuple[Compiled[R], Explainer]:
        """Return the compiled program and its explanations, for which one propagation does."""
        if not {"_compiled", "_explainer"} & vars(self).keys():
            vars(self)["_compiled"] = compiled(self.module, self.origin, self.options, is_traced=True)
        return self.partition(), self._explainer

    def _diagnosis(self, hardware: Hardware) -> tuple[str, ...]:
        if not self.origin.argument_names:
            from sdy.advice.lint.diagnosis import diagnosis, memory_diagnosis, root_cause

            facts = self.partition_summary(hardware)
            return memory_diagnosis(facts) or diagnosis(root_cause(facts))
        from sdy.search.plans.plan_diagnosis import plan_diagnosis

        run = self.without_optimizer()
        return plan_diagnosis(run, run.partition_summary(hardware))

    @property
    def _textbook(self) -> Sends | None:
        """The bytes and collectives of each device if ops are lowered one by one, as in `jax.jit`.

        None if the arguments have no names, as those of a program from JAX have.
        """
        if not self.origin.argument_names:
            return None
        found = self.partition().textbook
        return sends_of(self.without_optimizer().partition().local if found is None else found)

    @cached_property
    @garbage_collection_paused()
    def _explainer(self) -> Explainer:
        from sdy.report.explanation.explainer import Explainer

        known: Compiled[R] | None = vars(self).get("_compiled")
        return Explainer(self.module, self.origin, self.options, known and known.trace)

    @cached_property
    def _lint_reports(self) -> dict[LintSettings, LintReport]:
        return {}

    def _linter(self, settings: LintSettings) -> Linter:
        from sdy.advice.lint.linter import Linter

        end = settings.end()
        return Linter(self.partition_summary(settings.on), settings.until(end))
