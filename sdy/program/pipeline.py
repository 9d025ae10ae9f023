"""The `Pipeline` class: a program of several meshes, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.options import DEFAULT, CompileOptions
from sdy.compile.origin import Origin
from sdy.compile.pipeline import CompiledPipeline, compiled_pipeline
from sdy.compile.signature import FlatSignature
from sdy.compile.source_text import source_text
from sdy.diagnostics.progress import note_step
from sdy.diagnostics.user_code import require_type
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import parse_module_with_locations
from sdy.dialects.text.source_lines import source_lines
from sdy.dialects.verification.verify_module import verify_module

if TYPE_CHECKING:
    from sdy.evidence.pipelines import PipelineEvidence
    from sdy.evidence.runs.verification import Verification
    from sdy.interpreter.arrays.element_types import Array

R = TypeVar("R", default="list[Array]")
MESH_TENSOR = "!mpmd.mesh_tensor"  # in the text of each program with values on meshes


@dataclass(frozen=True)
class Pipeline:
    """An immutable program of several meshes, at any stage after `mpmd-import-pipeline`. Answers are cached."""

    module: ModuleOp
    origin: Origin
    options: CompileOptions = DEFAULT

    @staticmethod
    def from_text(text: str, file_name: str = "<text>") -> Pipeline:
        """Parse and verify the text of a program. Raises: SdyError with the first error in the text."""
        require_type(text, str, "Pipeline.from_text: text", "sdy.mpmd.load(path) reads a file")
        note_step(f"read {file_name}")
        module, locations = parse_module_with_locations(text, file_name)
        verify_module(module)
        return Pipeline(module, Origin(text, FlatSignature(), source_lines(locations)))

    def partition(self) -> CompiledPipeline:
        """Propagate shardings, unless the types have some, and partition each fragment on its mesh.

        Raises: SdyError SDY-M401 if a value is on no mesh; or at the first op of a fragment that is unsupported.
        """
        return self._compiled

    @cached_property
    def _compiled(self) -> CompiledPipeline:
        return compiled_pipeline(self.module, self.origin, self.options)

    def run(self, *inputs: Array) -> list[Array]:
        """Run the program on one device: its fragments one after the other, without meshes and transfers.

        Raises: SdyError if the arrays do not match the arguments.
        """
        return self.partition().run_on_one_device(self.origin.signature.flat_arguments(inputs, {}))

    def verify(
        self,
        *inputs: Array,
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

    def prove(self) -> PipelineEvidence:
        """Prove without a run that each fragment and each transfer computes the same, apart from rounding."""
        from sdy.evidence.pipelines import prove_pipeline

        return prove_pipeline(self.partition())


def load(path: str | Path) -> Pipeline:
    """Read a program of several meshes from a file of MLIR text.

    Raises: OSError if it cannot be read, SdyError with the first error in its text.
    """
    require_type(path, (str, Path), "sdy.mpmd.load: path")
    return Pipeline.from_text(source_text(Path(path).read_bytes(), str(path)), str(path))
