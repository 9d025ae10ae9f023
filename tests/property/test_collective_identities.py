"""Identities between collectives, on random values, sizes and orders of devices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.execution.run_text import diagnostic_of
from support.text.collectives import CHANNEL, SUM

from sdy.dialects.module_text import parse_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid
from sdy.interpreter.devices.values import stacked
from sdy.interpreter.run import run_spmd


@st.composite
def device_rows(draw: st.DrawFn) -> Array:
    """Draw one row per device, of 1 to 3 elements for each device."""
    devices, each = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**32 - 1))
    numbers = np.random.default_rng(seed).integers(-(2**31), 2**31, (devices, devices * each))
    return numbers.astype(np.int32)


def on_devices(values: Array, results: Sequence[int], *lines: str) -> list[Array]:
    """Run lines on each device with its row of `values` as `%a`; return the vectors `%r0`, `%r1`... of all devices."""
    count, size = values.shape
    types = ", ".join(f"tensor<{length}xi32>" for length in results)
    names = ", ".join(f"%r{index}" for index in range(len(results)))
    body = "\n  ".join([*lines, f"return {names} : {types}"])
    module = parse_module(f"func.func @main(%a: tensor<{size}xi32>) -> ({types}) {{\n  {body}\n}}")
    verify_module(module)
    grid = Grid((count,), 1, count)
    found = run_spmd(module, [stacked(values, grid)], grid)
    return [np.stack([value.device_view(device) for device in range(count)]) for value in found]


def groups(count: int) -> str:
    """Return the attributes of a collective with all devices in one group."""
    return f"replica_groups = dense<{[list(range(count))]}> : tensor<1x{count}xi64>, {CHANNEL}, use_global_device_ids"


def vector(size: int) -> str:
    return f"tensor<{size}xi32>"


@given(device_rows())
def test_all_reduce_equals_reduce_scatter_and_all_gather(values: Array) -> None:
    count, size = values.shape
    full, shard = vector(size), vector(size // count)
    at_once, in_two = on_devices(
        values,
        (size, size),
        f'%r0 = "stablehlo.all_reduce"(%a) <{{{groups(count)}}}> {SUM} : ({full}) -> {full}',
        f'%p = "stablehlo.reduce_scatter"(%a) <{{scatter_dimension = 0 : i64, {groups(count)}}}> {SUM}',
        f"  : ({full}) -> {shard}",
        f'%r1 = "stablehlo.all_gather"(%p) <{{all_gather_dim = 0 : i64, {groups(count)}}}> : ({shard}) -> {full}',
    )
    assert np.array_equal(at_once, in_two)
    assert np.array_equal(at_once[0], values.sum(axis=0, dtype=np.int32))


@given(device_rows())
def test_all_gather_equals_a_ring_of_permutes(values: Array) -> None:
    count, size = values.shape
    lines = [
        f'%r0 = "stablehlo.all_gather"(%a) <{{all_gather_dim = 0 : i64, {groups(count)}}}>',
        f"  : ({vector(size)}) -> {vector(count * size)}",
        "%id = stablehlo.partition_id : tensor<ui32>",
        f"%n = stablehlo.constant dense<{count}> : tensor<ui32>",
        f"%size = stablehlo.constant dense<{size}> : tensor<ui32>",
        f"%g0 = stablehlo.constant dense<0> : {vector(count * size)}",
    ]
    for step in range(count):
        pairs = [[device, (device + step) % count] for device in range(count)]
        lines += [
            f'%m{step} = "stablehlo.collective_permute"(%a) <{{source_target_pairs = dense<{pairs}>'
            f" : tensor<{count}x2xi64>, {CHANNEL}}}> : ({vector(size)}) -> {vector(size)}",
            f"%k{step} = stablehlo.constant dense<{count - step}> : tensor<ui32>",
            f"%s{step} = stablehlo.add %id, %k{step} : tensor<ui32>",
            f"%o{step} = stablehlo.remainder %s{step}, %n : tensor<ui32>",
            f"%b{step} = stablehlo.multiply %o{step}, %size : tensor<ui32>",
            f"%g{step + 1} = stablehlo.dynamic_update_slice %g{step}, %m{step}, %b{step}",
            f"  : ({vector(count * size)}, {vector(size)}, tensor<ui32>) -> {vector(count * size)}",
        ]
    lines.append(f"%r1 = stablehlo.optimization_barrier %g{count} : {vector(count * size)}")
    gathered, permuted = on_devices(values, (count * size, count * size), *lines)
    assert np.array_equal(gathered, permuted)
    assert np.array_equal(gathered[0], values.reshape(-1))


@given(device_rows())
def test_all_to_all_is_its_own_inverse(values: Array) -> None:
    count, size = values.shape
    exchange = (
        f'"stablehlo.all_to_all"(%OPERAND) <{{split_dimension = 0 : i64, concat_dimension = 0 : i64, '
        f"split_count = {count} : i64, replica_groups = dense<{[list(range(count))]}> : tensor<1x{count}xi64>, "
        f"{CHANNEL}}}> : ({vector(size)}) -> {vector(size)}"
    )
    once, twice = on_devices(
        values,
        (size, size),
        f"%r0 = {exchange.replace('OPERAND', 'a')}",
        f"%r1 = {exchange.replace('OPERAND', 'r0')}",
    )
    assert np.array_equal(twice, values)
    blocks = values.reshape(count, count, -1)
    assert np.array_equal(once, blocks.transpose(1, 0, 2).reshape(values.shape))


@given(device_rows(), st.data())
def test_permute_returns_zeros_on_devices_without_a_source(values: Array, data: st.DataObject) -> None:
    count, size = values.shape
    sources = data.draw(st.permutations(range(count)))[: data.draw(st.integers(1, count))]
    targets = data.draw(st.permutations(range(count)))[: len(sources)]
    pairs = [[source, target] for source, target in zip(sources, targets, strict=True)]
    (moved,) = on_devices(
        values,
        (size,),
        f'%r0 = "stablehlo.collective_permute"(%a) <{{source_target_pairs = dense<{pairs}>'
        f" : tensor<{len(pairs)}x2xi64>, {CHANNEL}}}> : ({vector(size)}) -> {vector(size)}",
    )
    expected = np.zeros_like(values)
    expected[targets] = values[sources]
    assert np.array_equal(moved, expected)


@given(st.integers(2, 6), st.booleans(), st.data())
def test_permute_with_a_duplicate_source_or_target_is_an_error(
    count: int, is_source: bool, data: st.DataObject
) -> None:
    once = data.draw(st.permutations(range(count)))[:2]
    twice = data.draw(st.integers(0, count - 1))
    pairs = [[twice, one] if is_source else [one, twice] for one in once]
    values = np.zeros((count, 1), np.int32)
    found = diagnostic_of(
        lambda: on_devices(
            values,
            (1,),
            f'%r0 = "stablehlo.collective_permute"(%a) <{{source_target_pairs = dense<{pairs}>'
            f" : tensor<2x2xi64>, {CHANNEL}}}> : ({vector(1)}) -> {vector(1)}",
        )
    )
    assert str(twice) in found.message
    assert ("source" if is_source else "target") in found.message
    assert found.span is not None
