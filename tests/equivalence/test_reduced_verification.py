"""Verification in reduced sizes accepts what full verification accepts, and finds the faults that it finds."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from rich.console import Console
from support.examples import EXAMPLES
from support.execution.faults import faulty_copies
from support.random_programs.draft import Options
from support.random_programs.program import random_program
from support.slow_cases import slow_except
from xdsl.dialects.builtin import ModuleOp

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import parse_module
from sdy.evidence.runs import reduced, run_estimate
from sdy.evidence.runs.reduced import verify_reduced
from sdy.evidence.runs.run_estimate import estimate_of_run, estimate_on_devices
from sdy.evidence.runs.verification import verify_sizes_as_they_are
from sdy.evidence.sizes.reduce_sizes import reduce_sizes
from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh
from sdy.program.program import Program
from sdy.tools.verify_runs import show_rounds

OPTIONS = Options(ops=9, executable=True, max_devices=32)
MODELS = sorted((Path(__file__).parents[3] / "shared" / "models").glob("*.mlir"))
LARGE = """
sdy.mesh @m = <["x"=8, "y"=16]>
func.func @main(%ids: tensor<4096xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
    %table: tensor<65536x8192xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>},
    %up: tensor<8192x32768xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>}) -> tensor<4096x32768xf32> {
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8192>}>
      : (tensor<65536x8192xf32>, tensor<4096xi32>) -> tensor<4096x8192xf32>
  %1 = stablehlo.iota dim = 0 : tensor<4096x8192xi32>
  %limit = stablehlo.constant dense<4095> : tensor<4096x8192xi32>
  %2 = stablehlo.compare LT, %1, %limit : (tensor<4096x8192xi32>, tensor<4096x8192xi32>) -> tensor<4096x8192xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<4096x8192xf32>
  %3 = stablehlo.select %2, %0, %zero : tensor<4096x8192xi1>, tensor<4096x8192xf32>
  %4 = stablehlo.dot_general %3, %up, contracting_dims = [1] x [0]
      : (tensor<4096x8192xf32>, tensor<8192x32768xf32>) -> tensor<4096x32768xf32>
  return %4 : tensor<4096x32768xf32>
}
"""
CHOSEN = """
sdy.mesh @m = <["x"=8, "y"=16]>
func.func @main(%scores: tensor<1024x512x256xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>},
    %weights: tensor<256x4096xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>})
    -> (tensor<1024x512x4096xf32>, tensor<1024x512x8xf32>, tensor<1024x512x8xi32>) {
  %values, %indices = chlo.top_k(%scores, k = 8)
      : tensor<1024x512x256xf32> -> (tensor<1024x512x8xf32>, tensor<1024x512x8xi32>)
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%scores, %zero) <{padding = dense<PADDING> : tensor<3x2xi64>,
      window_dimensions = array<i64: 1, 512, 1>, window_strides = array<i64: 1, 1, 1>}> ({
  ^bb0(%one: tensor<f32>, %other: tensor<f32>):
    %sum = stablehlo.add %one, %other : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<1024x512x256xf32>, tensor<f32>) -> tensor<1024x512x256xf32>
  %1 = stablehlo.dot_general %0, %weights, contracting_dims = [2] x [0]
      : (tensor<1024x512x256xf32>, tensor<256x4096xf32>) -> tensor<1024x512x4096xf32>
  return %1, %values, %indices : tensor<1024x512x4096xf32>, tensor<1024x512x8xf32>, tensor<1024x512x8xi32>
}
"""
LARGEST_ELEMENT = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<8xi32> {
  %numbers = stablehlo.iota dim = 1 : tensor<8x64xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %largest, %number = "stablehlo.reduce"(%a, %numbers, %least, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
    %is_larger = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %value = stablehlo.select %is_larger, %x, %y : tensor<i1>, tensor<f32>
    %index = stablehlo.select %is_larger, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }) : (tensor<8x64xf32>, tensor<8x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
  return %number : tensor<8xi32>
}
"""


def is_accepted(program: Program, local: ModuleOp, *, reduced: bool) -> bool:
    """Return whether a local program is accepted, in reduced sizes or in its own."""
    partitioned = replace(program.partition(), local=local)
    try:
        if reduced:
            return verify_reduced(partitioned).agrees
        return verify_sizes_as_they_are(partitioned).agrees
    except SdyError:
        return False


QUICK = [path for path in (*EXAMPLES, *MODELS) if path.stem != "transformer_scan_fsdp"]


@pytest.mark.parametrize(
    "path", slow_except(QUICK, [*EXAMPLES, *MODELS]), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_models_are_accepted(path: Path) -> None:
    program = sdy.load(path)
    found = verify_reduced(program.partition())
    assert found.agrees
    assert found.sizes is not None
    assert all(each.after <= each.before for each in found.sizes.changes)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_fault_that_full_verification_finds_is_found(path: Path) -> None:
    program = sdy.load(path)
    for name, faulty in islice(faulty_copies(program.partition().local, seed=1), 4):
        if not is_accepted(program, faulty, reduced=False):
            assert not is_accepted(program, faulty, reduced=True), name


def check_random_programs(seeds: range, faults: int) -> None:
    for seed in seeds:
        program = Program.from_text(random_program(seed, OPTIONS))
        try:
            local = program.partition().local
        except SdyError:
            continue
        assert is_accepted(program, local, reduced=True), seed
        for name, faulty in islice(faulty_copies(local, seed=seed), faults):
            if not is_accepted(program, faulty, reduced=False):
                assert not is_accepted(program, faulty, reduced=True), (seed, name)


def test_random_programs() -> None:
    check_random_programs(range(12), 1)


@pytest.mark.slow
def test_many_random_programs() -> None:
    check_random_programs(range(1000), 1)


@pytest.mark.parametrize(
    "seed",
    [332, 347, 730, 858, 990, 1100, 1202, 1226, 1359, 2002, 2231, 2534, 2918, 3139, 3194, 3904, 3999, 4094, 4359],
)
def test_a_constant_or_a_window_is_the_same_in_both_programs(seed: int) -> None:
    check_random_programs(range(seed, seed + 1), 0)


def test_each_shard_counts_in_a_reduction_by_several_ops() -> None:
    program = Program.from_text(LARGEST_ELEMENT)
    partitioned = program.partition()
    small = reduce_sizes(program.module, partitioned.local, partitioned.boundary)
    assert small.boundary.mesh.device_count == 3
    found = 0
    for name, faulty in faulty_copies(partitioned.local, seed=1):
        if not is_accepted(program, faulty, reduced=False):
            found += 1
            assert not is_accepted(program, faulty, reduced=True), name
    assert found > 4


def test_a_large_program_becomes_small_and_keeps_its_structure() -> None:
    program = Program.from_text(LARGE)
    partitioned = program.partition()
    small = reduce_sizes(program.module, partitioned.local, partitioned.boundary)
    for before, after in ((program.module, small.written), (partitioned.local, small.local)):
        assert [op.name for op in pre_order(before)] == [op.name for op in pre_order(after)]
    assert small.boundary.mesh.device_count == 4
    assert max(each.after for each in small.changes) <= 16
    found = verify_reduced(partitioned)
    assert found.agrees
    assert found.sizes is not None
    assert found.sizes.devices == (128, 4)
    assert all(each.agrees for each in program.verify(reduced=True))


@pytest.mark.parametrize("padding", ["[[0, 0], [511, 0], [0, 0]]", "[[0, 0], [0, 511], [0, 0]]"])
def test_cumulative_sums_and_the_largest_elements_become_small(padding: str) -> None:
    program = Program.from_text(CHOSEN.replace("PADDING", padding))
    partitioned = program.partition()
    small = reduce_sizes(program.module, partitioned.local, partitioned.boundary)
    assert small.boundary.mesh.device_count == 4
    assert max(each.after for each in small.changes) <= 16
    assert verify_reduced(partitioned).agrees


def test_all_devices_stay_if_asked_for() -> None:
    program = Program.from_text(LARGE)
    partitioned = program.partition()
    small = reduce_sizes(program.module, partitioned.local, partitioned.boundary, reduce_mesh=False)
    assert small.boundary.mesh == partitioned.boundary.mesh


def test_faults_of_a_large_program_are_found() -> None:
    program = Program.from_text(LARGE)
    tried = 0
    for name, faulty in islice(faulty_copies(program.partition().local, seed=3), 6):
        if "maximum" not in name:
            assert not is_accepted(program, faulty, reduced=True), name
            tried += 1
    assert tried


@pytest.mark.parametrize(("seconds", "devices"), [(0.0, 4), (60.0, 128)])
def test_all_devices_are_tried_if_that_is_quick(monkeypatch: pytest.MonkeyPatch, seconds: float, devices: int) -> None:
    monkeypatch.setattr(reduced, "SECONDS_FOR_OTHER_SIZES", seconds)
    program = Program.from_text(LARGE)
    partitioned = program.partition()
    copies = faulty_copies(partitioned.local, seed=3)
    faulty = next(local for name, local in copies if name.startswith("a maximum for a sum"))
    found = verify_reduced(replace(partitioned, local=faulty))
    assert not found.agrees
    assert found.sizes is not None
    assert found.sizes.devices == (128, devices)


def test_sizes_that_do_not_fit_together_are_not_a_difference() -> None:
    """A slice from 5 to 16 becomes one from 3 to 14 in the program, and one from 4 to 7 of a shard."""
    text = """
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16xi32>) -> (tensor<16xi32>, tensor<11xi32>, tensor<5xi32>) {
  %0 = stablehlo.multiply %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}]>]>} : tensor<16xi32>
  %1 = stablehlo.slice %0 [5:16] : (tensor<16xi32>) -> tensor<11xi32>
  %2 = stablehlo.slice %0 [0:5] : (tensor<16xi32>) -> tensor<5xi32>
  %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<11xi32>, tensor<5xi32>) -> tensor<16xi32>
  return %3, %1, %2 : tensor<16xi32>, tensor<11xi32>, tensor<5xi32>
}"""
    program = Program.from_text(text)
    assert verify_reduced(program.partition()).agrees
    local = parse_module(str(program.partition()).replace("stablehlo.multiply", "stablehlo.add"))
    found = verify_reduced(replace(program.partition(), local=local))
    assert not found.agrees
    assert found.sizes is not None
    printed = io.StringIO()
    show_rounds(Console(file=printed, width=200), found, verbose=False)
    assert "differs in the sizes of the program, not in reduced ones, on all 8 devices" in printed.getvalue()


def test_starts_of_shards_that_also_index_a_dim_of_devices_stay() -> None:
    result = 'tensor<16xi32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}'
    written = f"""sdy.mesh @m = <["x"=6, "y"=2]>
func.func @main(%a: tensor<16xi32> {{sdy.sharding = #sdy.sharding<@m, [{{}}]>}}) -> ({result}, {result}) {{
  %0 = stablehlo.negate %a : tensor<16xi32>
  return %a, %0 : tensor<16xi32>, tensor<16xi32>
}}"""
    wrong = """func.func @main(%a: tensor<16xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
  %number = stablehlo.partition_id : tensor<ui32>
  %starts = stablehlo.constant dense<[0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8]> : tensor<12xi64>
  %0 = stablehlo.dynamic_slice %starts, %number, sizes = [1] : (tensor<12xi64>, tensor<ui32>) -> tensor<1xi64>
  %1 = stablehlo.reshape %0 : (tensor<1xi64>) -> tensor<i64>
  %2 = stablehlo.dynamic_slice %a, %1, sizes = [8] : (tensor<16xi32>, tensor<i64>) -> tensor<8xi32>
  %again = stablehlo.constant dense<[0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8]> : tensor<12xi64>
  %3 = stablehlo.dynamic_slice %TABLE, %1, sizes = [1] : (tensor<12xi64>, tensor<i64>) -> tensor<1xi64>
  %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
  %5 = stablehlo.dynamic_slice %a, %4, sizes = [8] : (tensor<16xi32>, tensor<i64>) -> tensor<8xi32>
  %6 = stablehlo.negate %5 : tensor<8xi32>
  return %2, %6 : tensor<8xi32>, tensor<8xi32>
}"""
    compiled = Program.from_text(written).partition()
    sizes = reduce_sizes(compiled.written, compiled.local, compiled.boundary)
    assert max(each.after for each in sizes.changes) < 16
    for table in ("again", "starts"):
        local = parse_module(wrong.replace("TABLE", table), "local.mlir")
        changes = reduce_sizes(compiled.written, local, compiled.boundary).changes
        assert {(each.before, each.after) for each in changes} >= {(16, 16), (8, 8)}
        assert not verify_reduced(replace(compiled, local=local)).agrees


def test_runs_in_64_bit_floats_must_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program.from_text(LARGE)
    partitioned = program.partition()
    small = reduce_sizes(program.module, partitioned.local, partitioned.boundary)
    needed = estimate_of_run(small.written) + estimate_on_devices(small.local, small.boundary)
    monkeypatch.setattr(run_estimate, "available_bytes", lambda: 2 * needed.bytes)
    assert verify_reduced(partitioned).agrees
    monkeypatch.setattr(run_estimate, "available_bytes", lambda: 2 * needed.bytes - 1)
    with pytest.raises(SdyError, match="still takes") as error:
        verify_reduced(partitioned)
    assert error.value.diagnostics[0].code == "SDY-X151"


def test_a_program_whose_sizes_are_kept_is_refused() -> None:
    text = """
    func.func @main(%a: tensor<3000000x3000000xf32>) -> tensor<3000000x3000000xf32> {
      %0 = stablehlo.custom_call @unknown(%a) : (tensor<3000000x3000000xf32>) -> tensor<3000000x3000000xf32>
      return %0 : tensor<3000000x3000000xf32>
    }
    """
    with pytest.raises(SdyError, match=r"the size 3000000 is kept: .* keeps its sizes") as error:
        Program.from_text(text).verify(reduced=True)
    assert error.value.diagnostics[0].code == "SDY-X151"


def test_unknown_sizes_cannot_be_reduced() -> None:
    text = """
    func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.tanh %a : tensor<?xf32>
      return %0 : tensor<?xf32>
    }
    """
    module = Program.from_text(text).module
    with pytest.raises(SdyError, match="dims of unknown size cannot be reduced") as error:
        reduce_sizes(module, module.clone(), ProgramPlacement(Mesh(()), (), ()))
    assert error.value.diagnostics[0].code == "SDY-X152"


def test_arrays_are_of_the_original_sizes() -> None:
    program = Program.from_text(LARGE)
    with pytest.raises(SdyError, match="expected no arrays") as error:
        program.verify(inputs={"%ids": 1}, reduced=True)
    assert error.value.diagnostics[0].code == "SDY-T270"
