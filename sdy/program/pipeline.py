"""The `Pipeline` class: a program of several meshes, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from sdy.compile.options import DEFAULT, CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.pipeline import CompiledPipeline, compiled_pipeline
from sdy.compile.signature import FlatSignature
from sdy.compile.source_text import source_text
from sdy.cost.machines.table import DEFAULT_MACHINE
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.progress import note_step
from sdy.diagnostics.user_code import require_type
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import make_context, parse_module_with_locations
from sdy.dialects.text.source_lines import source_lines
from sdy.dialects.verification.verify_module import verify_module
from sdy.mpmd.passes.schedule import order_by
from sdy.mpmd.passes.tools.fragments import scheduling_units
from sdy.mpmd.schedules.builtin import splits_backward
from sdy.mpmd.schedules.fragment_info import FragmentInfo, ScheduleRule
from sdy.passes.manager.pass_options import passes_of
from sdy.passes.run import run_passes

if TYPE_CHECKING:
    from sdy.compile.pipeline_cost import PipelineCost
    from sdy.cost.hardware import Hardware
    from sdy.evidence.pipelines import PipelineEvidence
    from sdy.evidence.runs.verification import Verification
    from sdy.interpreter.arrays.element_types import Array

Before = Callable[[FragmentInfo, FragmentInfo], bool]


@dataclass(frozen=True)
class Pipeline:
    """An immutable program of several meshes, at any stage after `mpmd-import-pipeline`. Answers are cached."""

    module: ModuleOp
    origin: Origin[Any]
    options: CompileOptions = DEFAULT

    @staticmethod
    def from_text(text: str, file_name: str = "<text>") -> Pipeline:
        """Parse and verify the text of a program. Raises: SdyError with the first error in the text."""
        require_type(text, str, "Pipeline.from_text: text", "sdy.mpmd.load(path) reads a file")
        note_step(f"read {file_name}")
        module, locations = parse_module_with_locations(text, file_name)
        verify_module(module)
        return Pipeline(module, Origin(text, FlatSignature(), source_lines(locations)))

    @property
    def name(self) -> str:
        """The name of the main function."""
        return main_function(self.module).sym_name.data

    def partition(self) -> CompiledPipeline:
        """Propagate shardings, unless the types have some, and partition each fragment on its mesh.

        Raises: SdyError SDY-M401 if a value is on no mesh; or at the first op of a fragment that is unsupported.
        """
        return self._compiled

    @cached_property
    def _compiled(self) -> CompiledPipeline:
        return compiled_pipeline(self.module, self.origin, self.options)

    def run(self, *inputs: object) -> Any:
        """Run the program on one device: its fragments one after the other, without meshes and transfers.

        Return a list of arrays, or the results of a JAX function in their structure.
        Raises: SdyError if the arrays do not match the arguments.
        """
        signature = self.origin.signature
        return signature.results(self.partition().run_on_one_device(signature.flat_arguments(inputs, {})))

    def verify(
        self,
        *inputs: object,
        expected: Sequence[Array] | None = None,
        seed: int = 0,
        reduced: bool | None = None,
    ) -> Verification | PipelineEvidence:
        """Run the program on the devices of its meshes and on one device, in exact numbers, and compare the results.

        Inputs that are not given are drawn from `seed`. With `reduced`, or if a run takes too long, each fragment is
        verified on its own in smaller sizes, and each transfer is checked to deliver the shards of its result.
        Raises: SdyError if a program cannot be run; SDY-T270 if arrays are given for reduced sizes.
        """
        from sdy.evidence.pipelines import verify_pipeline
        from sdy.evidence.runs.arrays import check_arrays

        program = self.partition()
        given = self.origin.signature.flat_arguments(inputs, {}) if inputs else None
        if given is not None:
            check_arrays(main_function(program.written), given, expected)
        return verify_pipeline(program, seed, given, expected, reduced=reduced)

    def scheduled(self, schedule: str | Before | Sequence[ScheduleRule]) -> Pipeline:
        """Return the program with the fragments of each mesh in another order, which computes the same.

        `schedule` is a name (`"1F1B"`, `"ZB-H1"`, ...), rules, or a function that says of what is known of two
        fragments of a mesh whether the first runs first. Schedules that are meant for split backward fragments split
        them.
        Raises: SdyError SDY-M010 if no schedule has the name or it does not fit, SDY-M402 if it deadlocks, SDY-M403 if
        the program has nothing that a schedule orders.
        """
        module = copy_with_regions(self.module)
        main = main_function(module)
        if not scheduling_units(main):
            message = "no fragment has a name and a call counter, by which a schedule could order it"
            raise SdyError(Diagnostic("SDY-M403", message, span_of(main)))
        if isinstance(schedule, str):
            if splits_backward(schedule) and not any(
                unit.is_weight_gradient for unit in scheduling_units(main).values()
            ):
                _run(module, "mpmd-split-bwd-fragments", "canonicalize", "mpmd-fragment-dce")
            _run(module, f"mpmd-pipeline-scheduler{{must-happen-before={schedule}}}")
        elif callable(schedule):
            order_by(main, schedule)
        else:
            _run(module, f"mpmd-rule-based-schedule{{rules={','.join(map(str, schedule))}}}")
        return replace(self, module=module)

    def cost(
        self,
        on: str | Hardware | None = None,
        *,
        seconds_of: Callable[[FragmentInfo], float] | None = None,
        transfer_seconds: float | None = None,
    ) -> PipelineCost:
        """Return when each fragment and transfer runs on a machine, without running it, and what each mesh holds.

        `on` is as in `Program.cost`. `seconds_of` gives the time of a fragment and `transfer_seconds` that of a
        transfer, in place of the machine.
        Raises: SdyError SDY-T204 if there are neither a machine nor all times, SDY-T209 if no machine has the name.
        """
        from sdy.compile.pipeline_cost import pipeline_cost
        from sdy.cost.machines.file import resolve_hardware

        if on is None and (seconds_of is None or transfer_seconds is None):
            hint = 'pass the name of a machine, such as "h100", or seconds_of and transfer_seconds'
            raise SdyError(Diagnostic("SDY-T204", "the cost of a pipeline requires a machine", hint=hint))
        hardware = None if on is None else resolve_hardware(on)
        return pipeline_cost(self.partition(), hardware, seconds_of, transfer_seconds)

    def report(self, on: str | Hardware = DEFAULT_MACHINE, *, width: int = 80) -> str:
        """Return the tables of the cost on a machine, and the chart of what each mesh does when, as text.

        Raises: SdyError SDY-T209 if no machine has this name.
        """
        from sdy.report.tables.pipeline_tables import pipeline_report

        return pipeline_report(self.cost(on), width)

    def report_html(self, on: str | Hardware = DEFAULT_MACHINE) -> str:
        """Return a page with what each mesh and link does when on a machine, and what each mesh holds.

        Raises: SdyError SDY-T209 if no machine has this name.
        """
        from sdy.report.html.pipeline_page import pipeline_page

        return pipeline_page(self.cost(on), self.name)

    def prove(self) -> PipelineEvidence:
        """Prove without a run that each fragment and each transfer computes the same, apart from rounding."""
        from sdy.evidence.pipelines import prove_pipeline

        return prove_pipeline(self.partition())


def _run(module: ModuleOp, *passes: str) -> None:
    run_passes(make_context(), module, passes_of(f"builtin.module({','.join(passes)})"), verify_each=False)


def load(path: str | Path) -> Pipeline:
    """Read a program of several meshes from a file of MLIR text.

    Raises: OSError if it cannot be read, SdyError with the first error in its text.
    """
    require_type(path, (str, Path), "sdy.mpmd.load: path")
    return Pipeline.from_text(source_text(Path(path).read_bytes(), str(path)), str(path))
