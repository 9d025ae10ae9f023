"""`verify` finds every fault of a local program that changes results, though it accepts other rounding.

Faults in the examples and in training steps, whose results amplify rounding: one per program by default; more than 200
with `pytest -m slow`, fifteen in each of fourteen training steps, and as many as the examples have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.examples import EXAMPLES
from support.execution.faults import faulty_copies
from support.jax_programs.train_steps import train_step
from xdsl.dialects.builtin import ModuleOp

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.verification import verify_sizes_as_they_are
from sdy.interpreter.arrays.element_types import Array

pytestmark = pytest.mark.jax

WITH_COLLECTIVES = [path for path in EXAMPLES if path.stem != "matmul_case1"]
STEPS = 20 - len(WITH_COLLECTIVES)


@cache
def program_and_inputs(number: int) -> tuple[sdy.Program[Any], tuple[Array, ...]]:
    if number < len(WITH_COLLECTIVES):
        program = sdy.load(WITH_COLLECTIVES[number])
        return program, tuple(random_inputs(program.module, 0))
    case = train_step(number, is_determined=True)
    stepped = sdy.from_jax(case.function, *case.arguments)
    return stepped, tuple(stepped.origin.signature.flat_arguments(case.arguments, {}))


def results(program: sdy.Program[Any], local: ModuleOp, inputs: Sequence[Array]) -> list[Array] | None:
    """Return the results of a local program in floats; None if it cannot run, or if copies differ."""
    try:
        return replace(program.partition(), local=local).run_flat(inputs)
    except SdyError:
        return None


def changes_results(program: sdy.Program[Any], faulty: ModuleOp, inputs: Sequence[Array]) -> bool:
    """Return whether a fault changes some result by more than a hundredth of its largest element."""
    found, right = (results(program, local, inputs) for local in (faulty, program.partition().local))
    assert right is not None
    return found is None or any(
        float(np.max(np.abs(np.subtract(one, other)), initial=0.0)) > 0.01 * float(np.max(np.abs(other), initial=0.0))
        for one, other in zip(found, right, strict=True)
    )


def is_found(program: sdy.Program[Any], faulty: ModuleOp) -> bool:
    try:
        return not verify_sizes_as_they_are(replace(program.partition(), local=faulty)).agrees
    except SdyError:
        return True


def found_faults(number: int, count: int) -> int:
    """Verify faulty copies of a program until `count` of them change its results; return how many did, all found."""
    program, inputs = program_and_inputs(number)
    tried = 0
    for name, faulty in faulty_copies(program.partition().local, seed=number):
        if changes_results(program, faulty, inputs):
            assert is_found(program, faulty), name
            tried += 1
            if tried == count:
                break
    return tried


@pytest.mark.parametrize("number", range(len(WITH_COLLECTIVES) + 3))
def test_a_fault_is_found(number: int) -> None:
    assert found_faults(number, 1) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(WITH_COLLECTIVES)))
def test_all_faults_of_an_example_are_found(number: int) -> None:
    assert found_faults(number, 15) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(WITH_COLLECTIVES), len(WITH_COLLECTIVES) + STEPS))
def test_fifteen_faults_of_a_step_are_found(number: int) -> None:
    assert found_faults(number, 15) == 15
