"""Kernels of send, recv, infeed and outfeed: transfers over channels, and between devices and the host."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo import collectives as ops
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.interpreter.arrays.element_types import dtype_of_type
from sdy.interpreter.devices.grid import ONE_DEVICE, Grid
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable
from sdy.interpreter.ops.collectives import grid_of_devices
from sdy.interpreter.ops.control import token_value

KERNELS = KernelTable()

ANY_DEVICE = -1  # the target of a value for the next device that receives


@KERNELS.of(ops.SendOp)
def send(op: ops.SendOp) -> Kernel:
    """Put the inputs of each device into the channel, for the target of its pair if there are pairs."""
    channel, pairs = op.channel_handle.data.handle, _pairs(op.source_target_pairs)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        values = arrays[:-1]
        for device, held in by_device(context, values):
            targets = [ANY_DEVICE] if pairs is None else [target for source, target in pairs if source == device]
            for target in targets:
                context.host.channels.setdefault((channel, target), deque()).append(held)
        return (token_value(context),)

    return kernel


@KERNELS.of(ops.RecvOp)
def recv(op: ops.RecvOp) -> Kernel:
    """Take the oldest values out of the channel; a device that is not a target gets zeros."""
    channel, pairs = op.channel_handle.data.handle, _pairs(op.source_target_pairs)
    absent = tuple(np.zeros(shape_of(value), dtype_of_type(value.type)) for value in op.result[:-1])

    def received(context: KernelContext, device: int) -> Arrays:
        if pairs is not None and not any(target == device for _, target in pairs):
            return absent
        queue = context.host.channels.setdefault((channel, ANY_DEVICE if pairs is None else device), deque())
        if not context.host.wait_until(lambda: bool(queue)):
            raise failure("SDY-X010", f"device {device} receives on channel {channel}, but nothing is sent on it")
        return queue.popleft()

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        grid = grid_of_devices(context)
        held = [received(context, int(device)) for device in grid.ids]
        return (*stack_devices(grid, held), token_value(context))

    return kernel


@KERNELS.of(ops.InfeedOp)
def infeed(op: ops.InfeedOp) -> Kernel:
    """Return the results of the next function of the feed; each device takes one."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        grid = grid_of_devices(context)
        feed = context.host.infeed
        if len(feed) < grid.position_count:
            raise failure(
                "SDY-X011", f"expected infeed for {grid.position_count} devices, but only {len(feed)} inputs are left"
            )
        alone = replace(context, batch=(), grid=ONE_DEVICE)
        held = [context.runner.call(alone, feed.popleft(), ()) for _ in range(grid.position_count)]
        return (*stack_devices(grid, held), token_value(context))

    return kernel


@KERNELS.of(ops.OutfeedOp)
def outfeed(op: ops.OutfeedOp) -> Kernel:
    """Append the inputs of each device to the outfeed of the host."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        context.host.outfeed.extend(held for _, held in by_device(context, arrays[:-1]))
        return (token_value(context),)

    return kernel


def by_device(context: KernelContext, arrays: Arrays) -> Iterator[tuple[int, Arrays]]:
    """Yield each device with its values, in the order of grid positions."""
    grid = grid_of_devices(context)
    full = [context.broadcast(array) for array in arrays]
    for device, position in zip(grid.ids, np.ndindex(*grid.sizes), strict=True):
        yield int(device), tuple(np.asarray(array[position]) for array in full)


def stack_devices(grid: Grid, held: Sequence[Arrays]) -> Arrays:
    """Return arrays over the grid from the values of each device, in the order of grid positions.

    A value that all devices share is stored once.
    """
    columns: Iterable[Arrays] = zip(*held, strict=True)
    return tuple(
        column[0].reshape((1,) * grid.rank + column[0].shape)
        if all(array is column[0] for array in column)
        else np.stack(column).reshape(grid.sizes + column[0].shape)
        for column in columns
    )


def _pairs(attribute: DenseElementsAttr | None) -> list[tuple[int, int]] | None:
    if attribute is None:
        return None
    numbers = attribute.get_ints()
    return list(zip(numbers[::2], numbers[1::2], strict=True))
