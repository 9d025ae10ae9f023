"""The `Program` people hold: a module, what it becomes when it is partitioned, and whether that computes the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.places import span_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.symbols import main_function
from sdy.dialects.verify import verify_module
from sdy.interpreter.element_types import Array, DType, dtype_of_type
from sdy.interpreter.grid import grid_of_mesh
from sdy.interpreter.inputs import check_inputs
from sdy.interpreter.shards import shard, unshard
from sdy.interpreter.single import interpret
from sdy.interpreter.spmd import run_spmd
from sdy.passes.pipelines import LocalPipeline, PartitionPipeline
from sdy.passes.run import run_passes
from sdy.program.comparison import OutputComparison, compare
from sdy.program.placement import Boundary, boundary_of
from sdy.program.replicas import disagreeing_devices


@dataclass(frozen=True)
class PartitionedProgram:
    """A program with every communication explicit.

    `whole` still has whole tensors and shardings; `local` is the plain StableHLO program that each device runs.
    """

    whole: ModuleOp
    local: ModuleOp
    boundary: Boundary
    remarks: tuple[Diagnostic, ...] = ()

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The whole results of running the local program on all devices at once, on whole inputs.

        Raises: SdyError where the inputs do not fit, or two devices that should hold the same result do not.
        """
        pairs = zip(inputs, self.boundary.arguments, strict=True)
        shards = [shard(array, place.sharding, place.mesh) for array, place in pairs]
        results = run_spmd(self.local, shards, grid_of_mesh(self.boundary.mesh))
        whole: list[Array] = []
        for index, (result, place) in enumerate(zip(results, self.boundary.results, strict=True)):
            disagreeing_devices(result, place, index)
            whole.append(unshard(result, place.sharding, place.mesh, place.shape))
        return whole


@dataclass(frozen=True)
class Program:
    """A module as it was read. Nothing changes it: every step works on a copy."""

    module: ModuleOp

    @staticmethod
    def from_text(text: str, file_name: str = "<text>") -> Program:
        """The program that `text` spells, verified. Raises: SdyError with the first mistake."""
        module = parse_module(text, file_name)
        verify_module(module)
        return Program(module)

    @cached_property
    def input_types(self) -> tuple[tuple[tuple[int, ...], DType], ...]:
        """Shape and dtype of each argument of the main function."""
        types = main_function(self.module).function_type.inputs
        return tuple((static_shape(each) or (), dtype_of_type(each)) for each in types)

    @cached_property
    def partitioned(self) -> PartitionedProgram:
        """The program propagated and partitioned. Raises: SdyError at the op that cannot be."""
        context = make_context()
        whole = self.module.clone()
        run_passes(context, whole, [PartitionPipeline()], verify_each=False)
        verify_module(whole)
        local = whole.clone()
        run_passes(context, local, [LocalPipeline()], verify_each=False)
        verify_module(local)
        return PartitionedProgram(whole, local, boundary_of(whole), tuple(context.diagnostics))

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The results on one device, shardings ignored. Raises: SdyError where the inputs do not fit."""
        return interpret(self.module, inputs)

    def verify(self, inputs: Sequence[Array], expected: Sequence[Array] = ()) -> list[OutputComparison]:
        """Run the program on all devices and compare each output with `expected`, or with the run on one device."""
        self._check(inputs, expected)
        wanted = list(expected) or self.run(inputs)
        actual = self.partition().run(inputs)
        return [compare(index, *pair) for index, pair in enumerate(zip(actual, wanted, strict=True))]

    def _check(self, inputs: Sequence[Array], expected: Sequence[Array]) -> None:
        """Raises: SdyError where the inputs do not fit the arguments, or there are more or fewer outputs expected."""
        func = main_function(self.module)
        check_inputs(func, [(array.shape, array.dtype) for array in inputs])
        count = len(func.function_type.outputs)
        if expected and len(expected) != count:
            message = f"@{func.sym_name.data} has {count} results, and {len(expected)} expected outputs are given"
            raise SdyError(Diagnostic("SDY-X102", message, span_of(func)))


def load(path: str | Path) -> Program:
    """The program in a file. Raises: OSError where it cannot be read; SdyError with the first mistake in it."""
    return Program.from_text(Path(path).read_text(encoding="utf-8"), str(path))
