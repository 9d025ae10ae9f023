"""Planned collectives, run on all devices, yield the tensor in the target sharding."""

from __future__ import annotations

import random

import pytest
from support.random_ops.draft import ELEMENTS
from support.reshards.random_reshards import MIXED, random_reshards, reshard_program

from sdy.compile.compiled import Compiled
from sdy.compile.propagated import boundary_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.evidence.runs.arrays import random_inputs
from sdy.passes.export.reshards.plan_reshards import PlanReshardsPass
from sdy.passes.manager.partition_pipelines import LocalPipeline
from sdy.passes.run import run_passes
from sdy.program.program import Program

PER_PROGRAM = 10


def run_planned(text: str, seed: int) -> None:
    """Check that each result of a program of reshards, run on all devices, equals its argument."""
    global_module = parse_module(text, "test.mlir")
    inputs = random_inputs(Program.from_text(text).module, seed)
    run_passes(make_context(), global_module, [PlanReshardsPass()])
    assert not ops_of(global_module, ReshardOp)
    local_module = global_module.clone()
    run_passes(make_context(), local_module, [LocalPipeline()])
    verify_module(local_module)
    origin = Program.from_module(global_module).origin
    partitioned = Compiled(global_module, global_module, local_module, boundary_of(global_module), origin)
    for expected, found in zip(inputs, partitioned.run_flat(inputs), strict=True):
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes(), text


@pytest.mark.parametrize("seed", range(40))
def test_planned_reshards_move_the_right_elements(seed: int) -> None:
    rng = random.Random(seed)
    turned, unreduced = rng.random() < 0.5, rng.random() < 0.3
    reshards = random_reshards(rng, PER_PROGRAM, rng.choice(MIXED), unreduced=unreduced, turned=turned)
    elements = rng.choices(["i32"] if unreduced else sorted(ELEMENTS), k=len(reshards))
    run_planned(reshard_program(reshards, elements), seed)


@pytest.mark.parametrize("seed", range(10))
def test_reshards_of_dims_that_do_not_divide(seed: int) -> None:
    rng = random.Random(seed)
    reshards = random_reshards(rng, PER_PROGRAM, rng.choice(MIXED))
    text = reshard_program(reshards, ["f32"] * len(reshards))
    for reshard in reshards:
        shape = [max(1, size + rng.choice((-1, 0, 1))) for size in reshard.shape]
        text = text.replace(
            f"tensor<{'x'.join(map(str, reshard.shape))}xf32>", f"tensor<{'x'.join(map(str, shape))}xf32>"
        )
    program = Program.from_text(text)
    outcomes = program.verify(*random_inputs(program.module, seed))
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == [], text
