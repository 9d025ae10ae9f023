"""Programs on dims that do not divide, partitioned by padding and halo exchange, compute what they should."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.uneven_cases import CASES
from support.uneven_programs import MESHES, UnevenProgram

from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.verify import verify_module
from sdy.interpreter.element_types import Array
from sdy.interpreter.grid import grid_of_mesh
from sdy.interpreter.shards import shard, unshard
from sdy.interpreter.single import interpret
from sdy.interpreter.spmd import run_spmd
from sdy.passes.export.convert_global_to_local import ConvertGlobalToLocalPass
from sdy.passes.export.drop_sharding_and_mesh import DropShardingAndMeshPass
from sdy.passes.export.insert_explicit_reshards import InsertExplicitReshardsPass
from sdy.passes.export.pad_for_divisibility import PadForDivisibilityPass
from sdy.passes.export.reshard_to_collectives import ReshardToCollectivesPass
from sdy.passes.export.resolve_permutation_factors import ResolvePermutationFactorsPass
from sdy.passes.run import run_passes
from sdy.program.comparison import compare
from sdy.program.placement import boundary_of
from sdy.program.program import Program


def run_on_all_devices(text: str, inputs: Sequence[Array], *, exchanges: bool) -> tuple[list[Array], str]:
    """The results of a program by the passes that pad, and the program that each device ran."""
    context = make_context()
    module = parse_module(text, "<text>")
    verify_module(module)
    boundary = boundary_of(module)
    passes = [
        InsertExplicitReshardsPass(enable_full_version=True),
        ResolvePermutationFactorsPass(enable_halo_exchange=exchanges),
        ReshardToCollectivesPass(),
        PadForDivisibilityPass(),
        ConvertGlobalToLocalPass(),
        DropShardingAndMeshPass(),
    ]
    run_passes(context, module, passes)
    shards = [shard(array, place.sharding, place.mesh) for array, place in zip(inputs, boundary.arguments, strict=True)]
    results = run_spmd(module, shards, grid_of_mesh(boundary.mesh))
    places = zip(results, boundary.results, strict=True)
    return [unshard(result, place.sharding, place.mesh, place.shape) for result, place in places], str(module)


def check(program: str, inputs: Sequence[Array], *, exchanges: bool) -> str:
    """Run a program both ways; the program of one device."""
    wanted = interpret(parse_module(program, "<text>"), inputs)
    results, local = run_on_all_devices(program, inputs, exchanges=exchanges)
    outcomes = [compare(index, *pair) for index, pair in enumerate(zip(results, wanted, strict=True))]
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == [], program
    return local


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_uneven_dim_computes_the_same(name: str, exchanges: bool) -> None:
    program = Program.from_text(CASES[name])
    random = np.random.default_rng(5)
    inputs = [random.integers(1, 10, shape).astype(dtype) for shape, dtype in program.input_types]
    check(CASES[name], inputs, exchanges=exchanges)


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_programs_that_exchange_halos(first: int) -> None:
    programs = [UnevenProgram(seed) for seed in range(first, first + 40)]
    assert any("collective_permute" in check(each.text, each.inputs, exchanges=True) for each in programs)


@pytest.mark.parametrize("first", range(300, 420, 40))
def test_programs_without_halos(first: int) -> None:
    programs = [UnevenProgram(seed) for seed in range(first, first + 40)]
    assert any("stablehlo.pad" in check(each.text, each.inputs, exchanges=False) for each in programs)


@pytest.mark.parametrize("seed", range(500, 530))
def test_programs_in_the_partition_pipeline(seed: int) -> None:
    program = UnevenProgram(seed)
    outcomes = Program.from_text(program.text).verify(program.inputs)
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == [], program.text


def test_all_meshes_are_met() -> None:
    assert all(any(mesh in UnevenProgram(seed).text for seed in range(len(MESHES))) for mesh, _ in MESHES)
