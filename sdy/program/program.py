"""The `Program` people hold: a module, what becomes of it, whether that computes the same, and why it is as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, cast

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp

from sdy.cost.hardware import DEFAULT_MACHINE, Hardware, resolve_hardware
from sdy.cost.program_cost import ProgramCost
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type
from sdy.interpreter.inputs import check_inputs
from sdy.interpreter.single import interpret
from sdy.passes.manager.pipelines import PartitionPipeline, PropagationPipeline
from sdy.passes.run import run_passes
from sdy.program.arrays import random_arrays
from sdy.program.comparison import OutputComparison, compare
from sdy.program.lowered import local_program
from sdy.program.origin import Origin
from sdy.program.partitioned import PartitionedProgram
from sdy.program.placement import boundary_of
from sdy.program.propagated import PropagatedProgram
from sdy.program.signature import InOrder
from sdy.report.explain import Explainer
from sdy.report.html.page import PagedProgram, html_page
from sdy.report.program_report import program_report
from sdy.report.values import boundary_rows

R = TypeVar("R", default=list[Array])


@dataclass(frozen=True)
class Program(Generic[R]):
    """A module as it was read. Nothing changes it: every step works on a copy, and is done once.

    `R` is what the program returns: a list of arrays where it was read from text, the tree of the function that JAX
    lowered otherwise.
    """

    module: ModuleOp
    origin: Origin[R]
    optimize_communication: bool = True  # when it is partitioned

    @staticmethod
    def from_text(text: str, file_name: str = "<text>") -> Program[list[Array]]:
        """The program that `text` spells, verified. Raises: SdyError with the first mistake."""
        return Program(read_module(text, file_name), Origin(text, InOrder()))

    @staticmethod
    def from_module(module: ModuleOp) -> Program[list[Array]]:
        """The program that a verified module is."""
        return Program(module, Origin(print_module(module), InOrder()))

    @cached_property
    def input_types(self) -> tuple[tuple[tuple[int, ...], DType], ...]:
        """Shape and dtype of each argument of the main function."""
        types = main_function(self.module).function_type.inputs
        return tuple((static_shape(each) or (), dtype_of_type(each)) for each in types)

    def propagate(self) -> PropagatedProgram[R]:
        """The program with a sharding on every value. Raises: SdyError where the module is not what that needs."""
        return self._propagated

    def partition(self) -> PartitionedProgram[R]:
        """The program propagated and partitioned. Raises: SdyError at the op that cannot be."""
        return self._partitioned

    def run(self, *arrays: object, **named: object) -> R:
        """The results on one device, shardings ignored. Raises: SdyError where the arrays do not fit."""
        signature = self.origin.signature
        return signature.results(self.run_flat(signature.flat_arguments(arrays, named)))

    def run_flat(self, inputs: Sequence[Array]) -> list[Array]:
        """As `run`, with one array per argument and per result of the main function."""
        return interpret(self.module, inputs)

    def verify(
        self, arguments: Sequence[object] | None = None, expected: object = (), *, seed: int = 0
    ) -> list[OutputComparison]:
        """Run the program on all devices, and compare each output with `expected`, or with the run on one device.

        `arguments` are those of one call, and `expected` is what it should return; random arguments, made from `seed`,
        where none are given.
        Raises: SdyError where arguments or expected results do not fit.
        """
        signature = self.origin.signature
        if arguments is None:
            inputs: Sequence[Array] = random_arrays(self.input_types, seed)
        else:
            inputs = signature.flat_arguments(tuple(arguments), {})
        wanted = None if _is_empty(expected) else signature.flat_results(expected)
        self._check(inputs, wanted)
        actual = self.partition().run_flat(inputs)
        reference = self.run_flat(inputs) if wanted is None else wanted
        return [compare(index, *pair) for index, pair in enumerate(zip(actual, reference, strict=True))]

    def explain(self, value: str) -> str:
        """Which annotations the axes of a value go back to, and through which ops they came.

        `value` is a name (`%3`, `@func:%x`) or the number of a line of the program's text; of a program that came from
        JAX, an argument (`params['w']`) or a line of the Python program (`train.py:12`) as well.
        Raises: SdyError SDY-T203 where there is no such value.
        """
        asked = self.origin.in_text(value)
        return "\n".join(line for each in asked for line in self._explainer.value(each))

    def conflicts(self) -> str:
        """The places where an axis that cuts one tensor of an op could not cut another one, and what was in its way."""
        return "\n".join(self._explainer.conflicts())

    def report(self) -> str:
        """The program on one page: shardings, collectives with bytes and lines, conflicts."""
        partitioned, origin = self.partition(), self.origin
        rows = boundary_rows(partitioned.whole, origin.argument_names)
        return program_report(partitioned.whole, rows, self._explainer, origin.source_lines, partitioned.remarks)

    def report_html(self, machine: str | Hardware = DEFAULT_MACHINE) -> str:
        """The report as one page for a browser: the program in colours, collectives, memory over time, conflicts.

        Times are those of a machine. Nothing in it comes from elsewhere.
        Raises: SdyError SDY-T209 where no machine is called so.
        """
        partitioned, origin = self.partition(), self.origin
        paged = PagedProgram(
            written=self.module,
            whole=partitioned.whole,
            local=partitioned.local,
            mesh=partitioned.boundary.mesh,
            explainer=self._explainer,
            text=origin.text,
            source_lines=origin.source_lines,
            argument_names=origin.argument_names,
            remarks=partitioned.remarks,
        )
        return html_page(paged, resolve_hardware(machine))

    def cost(self, machine: str | Hardware, free_bytes: float | None = None) -> ProgramCost:
        """Of one device that runs the partitioned program on a machine: as `PartitionedProgram.cost`."""
        return self.partition().cost(machine, free_bytes)

    def trace(self, machine: str | Hardware) -> dict[str, object]:
        """When each op of one device runs on a machine, for Chrome and Perfetto: as `PartitionedProgram.trace`."""
        return self.partition().trace(machine)

    def __str__(self) -> str:
        """The text it was read from."""
        return self.origin.text

    @cached_property
    def _propagated(self) -> PropagatedProgram[R]:
        module = self.module.clone()
        run_passes(make_context(), module, [PropagationPipeline()], verify_each=False)
        verify_module(module)
        return PropagatedProgram(module, boundary_of(module), self.origin)

    @cached_property
    def _partitioned(self) -> PartitionedProgram[R]:
        context = make_context()
        whole = self.module.clone()
        pipeline = PartitionPipeline(self.optimize_communication, keep_layers=True)
        run_passes(context, whole, [pipeline], verify_each=False)
        verify_module(whole)
        local = local_program(whole, context, optimize_communication=self.optimize_communication)
        remarks = tuple(context.diagnostics)
        return PartitionedProgram(whole, local, boundary_of(whole), self.origin, remarks, self.optimize_communication)

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(make_context(), self.module, self.origin.text, self.origin.source_lines)

    def _check(self, inputs: Sequence[Array], expected: Sequence[Array] | None) -> None:
        """Raises: SdyError where the inputs do not fit the arguments, or there are more or fewer outputs expected."""
        func = main_function(self.module)
        check_inputs(func, [(array.shape, array.dtype) for array in inputs])
        count = len(func.function_type.outputs)
        if expected is not None and len(expected) != count:
            message = f"@{func.sym_name.data} has {count} results, and {len(expected)} expected outputs are given"
            raise SdyError(Diagnostic("SDY-X102", message, span_of(func)))


def load(path: str | Path) -> Program[list[Array]]:
    """The program in a file. Raises: OSError where it cannot be read; SdyError with the first mistake in it."""
    return Program.from_text(Path(path).read_text(encoding="utf-8"), str(path))


def _is_empty(expected: object) -> bool:
    return isinstance(expected, tuple) and not cast(tuple[object, ...], expected)


def read_module(text: str, file_name: str) -> ModuleOp:
    """The module that `text` spells, verified. Raises: SdyError with the first mistake."""
    module = parse_module(text, file_name)
    verify_module(module)
    return module
