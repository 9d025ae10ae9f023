"""Combining collectives yields fewer collectives, the same bytes, no more memory, and bitwise equal results.

The memory is that of ops that run one by one: passes do not know what a compiler fuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.random_programs.draft import Options
from support.random_programs.program import random_program
from support.slow_cases import slow_except

from sdy.compile.compiled import Compiled, lowered
from sdy.compile.options import CompileOptions
from sdy.cost.collectives import CollectiveKind
from sdy.cost.memory import bytes_of_tensor, peak
from sdy.cost.statistics import Statistics, statistics_of
from sdy.dialects.module_text import make_context
from sdy.evidence.runs.arrays import load_arrays, random_inputs
from sdy.interpreter.arrays.element_types import Array
from sdy.program.program import Program
from sdy.program.sources import load

MODELS = Path(__file__).parents[3] / "shared" / "models"
STEMS = sorted(path.stem for path in MODELS.glob("*.mlir"))
needs_models = pytest.mark.skipif(not STEMS, reason="the shared models are not beside the repository")

# All-reduces and all-gathers, each before and after. Other collectives have one operand in StableHLO.
COUNTS = {
    "mlp_dp8": ((9, 2), (4, 3)),
    "mlp_dp4_tp2": ((10, 3), (3, 2)),
    "transformer_megatron": ((33, 15), (0, 0)),
    "transformer_sgd_step": ((20, 11), (0, 0)),
    "transformer_scan_fsdp": ((7, 7), (16, 9)),
    "cnn": ((15, 12), (1, 1)),
}
T32_COUNTS = {
    "bp": ((19, 2), (10, 5)),
    "mp": ((8, 8), (0, 0)),
    "bpmp": ((28, 10), (1, 1)),
    "z2": ((11, 2), (20, 13)),
    "z2_priorities": ((19, 10), (11, 4)),
    "z3": ((19, 10), (11, 6)),
    "z3_priorities": ((23, 14), (11, 4)),
}


def _with_and_without(program: Program) -> tuple[Compiled, Compiled]:
    """Partition a program once, and lower it with combined collectives and without."""
    combined = program.partition()
    local = lowered(combined.folded, make_context(), CompileOptions(optimize_communication=False))
    return combined, replace(combined, local=local)


def _peak(partitioned: Compiled) -> int:
    return peak(partitioned.local, bytes_of_tensor, is_compiled=False)


def _bytes_without_permutes(statistics: Statistics) -> float:
    permutes = statistics.collectives.get(CollectiveKind.COLLECTIVE_PERMUTE)
    return statistics.bytes_sent - (permutes.bytes_sent if permutes else 0.0)


def _check(program: Program, inputs: Sequence[Array]) -> tuple[Statistics, Statistics]:
    combined, separate = _with_and_without(program)
    after, before = statistics_of(combined.local), statistics_of(separate.local)
    assert _bytes_without_permutes(after) == pytest.approx(_bytes_without_permutes(before), rel=1e-12)
    assert after.bytes_sent <= before.bytes_sent * (1 + 1e-12)  # permutes of one value are merged
    assert _peak(combined) <= _peak(separate)
    for ours, theirs in zip(combined.run_flat(inputs), separate.run_flat(inputs), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return after, before


def _collective_counts(before: Statistics, after: Statistics) -> tuple[tuple[int, int], ...]:
    kinds = (CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER)
    pairs = ((before.collectives.get(kind), after.collectives.get(kind)) for kind in kinds)
    return tuple((old.places if old else 0, new.places if new else 0) for old, new in pairs)


@needs_models
@pytest.mark.parametrize("name", STEMS)
def test_models_compute_the_same_with_fewer_collectives(name: str) -> None:
    program = load(MODELS / f"{name}.mlir")
    after, before = _check(program, load_arrays(str(MODELS / f"{name}.npz")).inputs)
    if name in COUNTS:
        assert _collective_counts(before, after) == COUNTS[name]


@pytest.mark.parametrize("share", slow_except([0], range(4)))
def test_random_programs_compute_the_same(share: int) -> None:
    """Check 60 programs, in four shares."""
    options = Options(ops=16, executable=True, max_devices=16)
    for seed in range(7000 + share, 7060, 4):
        program = Program.from_text(random_program(seed, options))
        _check(program, random_inputs(program.module, seed))


@needs_models
# The layout of all steps, and those of data parallelism and of ZeRO, which the last one has too.
@pytest.mark.parametrize("name", slow_except(["bpmp", "z2_priorities", "z3_priorities"], T32_COUNTS))
def test_transformers_have_as_many_collectives_as_their_longest_chain(t32: Path, name: str) -> None:
    program = load(t32 / f"t2_{name}.mlir")
    combined, separate = _with_and_without(program)
    after, before = statistics_of(combined.local), statistics_of(separate.local)
    assert _collective_counts(before, after) == T32_COUNTS[name]
    assert after.bytes_sent == pytest.approx(before.bytes_sent, rel=1e-12)
    assert _peak(combined) <= _peak(separate)
