"""Collectives in the forms of JAX: shards along an existing dim (tiled) or along a new dim (stacked)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.execution.small_ops import with_size
from support.random_ops.draft import tensor
from support.text.collectives import CHANNEL, SUM

from sdy.dialects.module_text import parse_module
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid
from sdy.interpreter.devices.values import stacked
from sdy.interpreter.run import run_spmd


def numbers(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(-99, 99, shape).astype(np.int32)


def on_devices(values: Array, result: tuple[int, ...], *lines: str) -> Array:
    """Run lines on each device with its row of `values` as `%a`; return `%r` of all devices, devices first."""
    count, operand_type, kind = len(values), tensor(values.shape[1:], "i32"), tensor(result, "i32")
    body = "\n  ".join([*lines, f"return %r : {kind}"])
    module = parse_module(f"func.func @main(%a: {operand_type}) -> {kind} {{\n  {body}\n}}")
    verify_module(module)
    grid = Grid((count,), 1, count)
    (found,) = run_spmd(module, [stacked(values, grid)], grid)
    return np.stack([found.device_view(device) for device in range(count)])


def reshape(name: str, operand: str, source: tuple[int, ...], target: tuple[int, ...]) -> str:
    return f"{name} = stablehlo.reshape {operand} : ({tensor(source, 'i32')}) -> {tensor(target, 'i32')}"


def one_group(count: int) -> str:
    return f"replica_groups = dense<{[list(range(count))]}> : tensor<1x{count}xi64>, {CHANNEL}"


def gathering(name: str, operand: str, dim: int, source: tuple[int, ...], target: tuple[int, ...], count: int) -> str:
    attributes = f"<{{all_gather_dim = {dim} : i64, {one_group(count)}, use_global_device_ids}}>"
    types = f"({tensor(source, 'i32')}) -> {tensor(target, 'i32')}"
    return f'{name} = "stablehlo.all_gather"({operand}) {attributes} : {types}'


counts, seeds = st.integers(2, 5), st.integers(0, 2**32 - 1)
shapes = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
dims = st.integers(0, 2)


@given(counts, shapes, dims, seeds)
def test_tiled_and_stacked_all_gather(count: int, shape: tuple[int, ...], dim: int, seed: int) -> None:
    values = numbers((count, *shape), seed)
    gathered, one = with_size(shape, dim, count * shape[dim]), (*shape[:dim], 1, *shape[dim:])
    tiled = on_devices(values, gathered, gathering("%r", "%a", dim, shape, gathered, count))
    many = with_size(one, dim, count)
    stacked_lines = (reshape("%row", "%a", shape, one), gathering("%r", "%row", dim, one, many, count))
    for device in range(count):
        assert np.array_equal(tiled[device], np.concatenate(list(values), axis=dim))
        assert np.array_equal(on_devices(values, many, *stacked_lines)[device], np.stack(list(values), axis=dim))


@given(counts, shapes, dims, seeds)
def test_tiled_and_stacked_reduce_scatter(count: int, shape: tuple[int, ...], dim: int, seed: int) -> None:
    """Check the tiled form, and the stacked form, which drops a dim with one row per device."""
    for rows in (shape[dim], 1):
        shard, full = with_size(shape, dim, rows), with_size(shape, dim, count * rows)
        values = numbers((count, *full), seed)
        scatter = (
            f'"stablehlo.reduce_scatter"(%a) <{{scatter_dimension = {dim} : i64, {one_group(count)}, '
            f"use_global_device_ids}}> {SUM} : ({tensor(full, 'i32')}) -> {tensor(shard, 'i32')}"
        )
        total = values.sum(axis=0, dtype=np.int32)
        tiled = on_devices(values, shard, f"%r = {scatter}")
        assert np.array_equal(tiled, np.split(total, count, axis=dim))
        if rows == 1:
            dropped = shape[:dim] + shape[dim + 1 :]
            found = on_devices(values, dropped, f"%p = {scatter}", reshape("%r", "%p", shard, dropped))
            assert np.array_equal(found, np.moveaxis(total, dim, 0))


def exchange(split: int, concat: int, source: tuple[int, ...], target: tuple[int, ...], count: int) -> str:
    return (
        f'"stablehlo.all_to_all"(%a) <{{split_dimension = {split} : i64, concat_dimension = {concat} : i64, '
        f"split_count = {count} : i64, {one_group(count)}}}> : ({tensor(source, 'i32')}) -> {tensor(target, 'i32')}"
    )


@given(counts, shapes, dims, dims, seeds)
def test_tiled_all_to_all(count: int, shape: tuple[int, ...], split: int, concat: int, seed: int) -> None:
    full = with_size(shape, split, count * shape[split])
    joined = with_size(shape, concat, count * shape[concat])
    values = numbers((count, *full), seed)
    blocks = [np.split(value, count, axis=split) for value in values]
    received = [[blocks[sender][device] for sender in range(count)] for device in range(count)]
    tiled = on_devices(values, joined, f"%r = {exchange(split, concat, full, joined, count)}")
    assert np.array_equal(tiled, [np.concatenate(parts, axis=concat) for parts in received])


@given(counts, shapes, dims, dims, seeds)
def test_stacked_all_to_all(count: int, shape: tuple[int, ...], split: int, concat: int, seed: int) -> None:
    """Check the stacked form: a dim with one row per device is removed, and a new dim holds the rows of all devices."""
    rest = shape[:split] + shape[split + 1 :]
    full, result = with_size(shape, split, count), (*rest[:concat], count, *rest[concat:])
    values = numbers((count, *full), seed)
    moved = exchange(split, split, full, full, count)
    order = [dim for dim in range(3) if dim != split]
    order.insert(concat, split)
    turned = f"%r = stablehlo.transpose %m, dims = {order} : ({tensor(full, 'i32')}) -> {tensor(result, 'i32')}"
    rows = np.moveaxis(values, split + 1, 0)  # receiver, sender, the rest
    expected = [np.stack(list(rows[device]), axis=concat) for device in range(count)]
    assert np.array_equal(on_devices(values, result, f"%m = {moved}", turned), expected)


@pytest.mark.parametrize("waits_for", ["itself", "another"])
def test_asynchronous_all_gather_equals_all_gather(waits_for: str) -> None:
    """Check it also with other ops and another collective between its start and its end."""
    values = numbers((3, 2), 5)
    body = gathering("%g", "%b", 0, (2,), (6,), 3)
    future = f"!stablehlo.future<{tensor((6,), 'i32')}>"
    between = [
        f'%sum = "stablehlo.all_reduce"(%a) <{{{one_group(3)}, use_global_device_ids}}> {SUM}'
        f" : ({tensor((2,), 'i32')}) -> {tensor((2,), 'i32')}"
    ]
    found = on_devices(
        values,
        (6,),
        f'%f = "stablehlo.async_start"(%a) ({{\n  ^bb0(%b: {tensor((2,), "i32")}):\n    {body}',
        f"    stablehlo.return %g : {tensor((6,), 'i32')}\n  }}) : ({tensor((2,), 'i32')}) -> {future}",
        *(between if waits_for == "another" else []),
        f'%r = "stablehlo.async_done"(%f) : ({future}) -> {tensor((6,), "i32")}',
    )
    assert np.array_equal(found, [values.reshape(-1)] * 3)
