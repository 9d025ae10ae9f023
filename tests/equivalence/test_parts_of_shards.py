"""Slices and pads that keep a dim sharded: each device gets the elements of its shard from those that hold them."""

from __future__ import annotations

import pytest
from support.execution.moved_rows import MESH, padded, sliced, split
from support.execution.on_shards import assert_same_on_shards, count_of_collectives
from support.execution.proved_faults import check_proof_and_faults

from sdy.cost.collectives import CollectiveKind
from sdy.evidence.runs.arrays import random_inputs
from sdy.program.program import Program

MESHES = (MESH, '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>')


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("sharding", ['[{"x"}, {}]', '[{"y", "x"}, {}]', '[{"x":(2)2, "y"}, {}]'])
@pytest.mark.parametrize(("size", "start", "end"), [(64, 0, 32), (64, 32, 64), (64, 0, 24), (48, 5, 29), (64, 9, 17)])
def test_slices_are_exchanged(size: int, start: int, end: int, sharding: str, mesh: str) -> None:
    text = sliced(size, start, end, sharding, mesh)
    program = Program.from_text(text)
    assert_same_on_shards(program, random_inputs(program.module, 3))
    check_proof_and_faults(text, faults=8, seeds=2)


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("value", ["0.0", "7.0"])
@pytest.mark.parametrize(("size", "low", "high"), [(32, 0, 32), (32, 32, 0), (24, 8, 32), (64, -32, 0), (32, -4, 20)])
def test_pads_are_exchanged(size: int, low: int, high: int, value: str, mesh: str) -> None:
    for sharding in ('[{"x"}, {}]', '[{"y", "x"}, {}]'):
        text = padded(size, low, high, sharding, mesh, value)
        program = Program.from_text(text)
        assert_same_on_shards(program, random_inputs(program.module, 3))
        check_proof_and_faults(text, faults=8, seeds=2)


def test_each_device_sends_only_the_elements_that_another_one_needs() -> None:
    program = Program.from_text(sliced(64, 0, 32, '[{"x"}, {}]'))
    assert set(count_of_collectives(program)) == {CollectiveKind.COLLECTIVE_PERMUTE}
    found = program.cost("tpu_v5e").collectives
    assert sum(each.bytes_sent for each in found) == 16 * 3 * 4  # two slices of 8 rows


@pytest.mark.parametrize(("size", "parts", "sharding"), [(48, 3, '[{"x"}, {}]'), (64, 2, '[{"y", "x"}, {}]')])
def test_parts_of_one_value_are_sent_together(size: int, parts: int, sharding: str) -> None:
    text = split(size, parts, sharding, MESHES[1])
    program = Program.from_text(text)
    assert_same_on_shards(program, random_inputs(program.module, 3))
    check_proof_and_faults(text, faults=4, seeds=1)


@pytest.mark.parametrize(("size", "parts", "received"), [(48, 3, 2 * 4), (64, 2, 2 * 8)])
def test_no_device_receives_more_than_it_lacks_of_all_parts(size: int, parts: int, received: int) -> None:
    """Queries, keys and values of one product; the two halves of a gated product."""
    found = Program.from_text(split(size, parts, '[{"x"}, {}]')).cost("tpu_v5e").collectives
    assert {each.kind for each in found} == {CollectiveKind.COLLECTIVE_PERMUTE}
    assert sum(each.bytes_sent for each in found) == received * 3 * 4


@pytest.mark.parametrize("element", ["bf16", "i8", "i1", "complex<f32>"])
def test_every_element_type_is_exchanged(element: str) -> None:
    program = Program.from_text(sliced(64, 0, 32, '[{"x"}, {}]', element=element))
    assert_same_on_shards(program, random_inputs(program.module, 3))
