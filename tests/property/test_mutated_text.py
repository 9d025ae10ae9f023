"""Tests of mutated programs: each goes through the whole pipeline, or is rejected by a diagnostic with a location.

No stage takes more than 5 s and 1 GB. `pytest -m slow tests/property/test_mutated_text.py` tries 40,000 programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import pytest
from support.execution.limits import TimeLimitError, limited
from support.random_programs.draft import Options
from support.random_programs.program import random_program
from support.slow_cases import slow_except
from support.text.mutations import mutated, mutated_gently
from support.text.programs import programs, runnable_programs
from xdsl.ir import Operation

from sdy.cost.flops import flops_of
from sdy.cost.machines.file import resolve_hardware
from sdy.cost.program_cost import cost_of
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.sharded_types import static_shape, tensor_bytes
from sdy.dialects.verification.verify_module import verify_module
from sdy.evidence.runs.arrays import random_inputs
from sdy.interpreter.kernel import Arrays, KernelContext
from sdy.interpreter.run import RunSettings, interpret
from sdy.model.mesh import Mesh, MeshAxis
from sdy.program.program import Program

CPU_SECONDS = 5  # for one stage
MAX_BYTES = 1 << 30  # for one stage
MAX_OPS = 200  # that a run executes: a mutated loop may not end
MAX_FLOPS = 10**9
MAX_DRAWN = 1 << 26  # bytes of arguments
SHARDS = 8
OPTIONS = Options(ops=6, executable=True, max_devices=16)


class StoppedError(Exception):
    """A run executed many ops, or would take long."""


def stop_after(count: int) -> Callable[[KernelContext, Operation, Arrays], None]:
    """Return an observer of a run that stops it after some ops."""
    executed = Counter[str]()

    def observe(context: KernelContext, op: Operation, results: Arrays) -> None:
        executed["ops"] += 1
        if executed["ops"] > count:
            raise StoppedError

    return observe


def read(text: str, *, allow_unregistered: bool) -> None:
    """Parse, verify and print a program."""
    with limited(CPU_SECONDS, MAX_BYTES):
        module = parse_module(text, "broken.mlir", context=make_context(allow_unregistered=allow_unregistered))
        verify_module(module)
        print_module(module)


def run(text: str) -> None:
    """Send a program through the whole pipeline: it is read, propagated, partitioned, reported, costed, run and proved.

    An error of one stage does not prevent the others. Raises: SdyError if the program cannot be read.
    """
    with limited(CPU_SECONDS, MAX_BYTES):
        program = Program.from_text(text, "broken.mlir")
    stages = (
        lambda: program.propagate(),
        lambda: run_alone(program),
        lambda: cost_of(program.module, Mesh((MeshAxis("x", 4),)), resolve_hardware("h100"), None),
        lambda: program.report(),
        lambda: program.conflicts(),
        lambda: program.cost("h100"),
        lambda: run_on_devices(program),
        lambda: prove(program),
    )
    for stage in stages:
        try:
            with limited(CPU_SECONDS, MAX_BYTES):
                stage()
        except SdyError as error:
            check_locations(error.diagnostics, text)
        except StoppedError:
            pass
        except TimeLimitError:
            assert "stablehlo.while" in text  # a loop without end, whose body has no op that the observer sees


def run_alone(program: Program) -> None:
    """Run a program on one device. Raises: StoppedError if it is too large, as `run_on_devices`."""
    stop_if_large(program)
    name = main_function(program.module).sym_name.data
    interpret(program.module, random_inputs(program.module, 0), name, settings=RunSettings(stop_after(MAX_OPS)))


def run_on_devices(program: Program) -> None:
    """Run the partitioned program."""
    stop_if_large(program)
    partitioned = program.partition()
    inputs = random_inputs(program.module, 0)
    partitioned.global_results(partitioned.run_on_devices(inputs, RunSettings(stop_after(MAX_OPS))))


def prove(program: Program) -> None:
    """Prove the partitioned program, and run the ops that no lemma proves."""
    stop_if_large(program)
    program.prove()


def stop_if_large(program: Program) -> None:
    """Stop if a run would take longer than the limit: products of integers run without BLAS, inputs are drawn."""
    types = (argument.type for argument in main_block(program.module).args)
    drawn = sum(tensor_bytes(each) for each in types if static_shape(each) is not None)
    if flops_of(program.module) > MAX_FLOPS or drawn > MAX_DRAWN:
        raise StoppedError


def is_read(seed: int) -> bool:
    """Return whether the mutated program of `seed` is still valid."""
    random = Random(seed)
    text = mutated(random, random.choice(programs()), random.choice(programs()))
    allow_unregistered = random.random() < 0.5
    return is_accepted(text, lambda: read(text, allow_unregistered=allow_unregistered))


def is_run(seed: int) -> bool:
    """Return whether the mutated program of `seed`, which often stays valid, goes through the whole pipeline."""
    text = pipeline_text(seed)
    return is_accepted(text, lambda: run(text))


def pipeline_text(seed: int) -> str:
    """Return a mutated program: one of the repository, or a random one."""
    random = Random(seed)
    source = random.choice(runnable_programs()) if seed % 2 else random_program(seed, OPTIONS)
    return mutated_gently(random, source, random.choice(runnable_programs()))


def is_accepted(text: str, use: Callable[[], None]) -> bool:
    """Return whether `use` succeeds; if not, check that every diagnostic has a location in the text."""
    try:
        use()
    except SdyError as error:
        check_locations(error.diagnostics, text)
        return False
    return True


def check_locations(diagnostics: Sequence[Diagnostic], text: str) -> None:
    for diagnostic in diagnostics:
        assert diagnostic.span is not None, f"{diagnostic.code} has no location"
        assert 1 <= diagnostic.span.line <= text.count("\n") + 2


@pytest.mark.parametrize("shard", slow_except([0, 1, 2], range(SHARDS)))
def test_sample_of_mutated_programs(shard: int) -> None:
    accepted = [is_read(seed) for seed in range(shard, 1_600, SHARDS)]
    assert True in accepted
    assert False in accepted


@pytest.mark.parametrize("shard", slow_except([1, 2, 3], range(SHARDS)))
def test_sample_of_mutated_programs_in_the_pipeline(shard: int) -> None:
    accepted = [is_run(seed) for seed in range(shard, 500, SHARDS)]
    assert True in accepted
    assert False in accepted


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_many_mutated_programs(shard: int) -> None:
    accepted = [is_read(seed) for seed in range(100_000 + shard, 120_000, SHARDS)]
    assert 0 < sum(accepted) < len(accepted)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_many_mutated_programs_in_the_pipeline(shard: int) -> None:
    accepted = [is_run(seed) for seed in range(100_000 + shard, 120_000, SHARDS)]
    assert 0 < sum(accepted) < len(accepted)
