"""Kernels: functions that compute an op on NumPy arrays, for all devices in one call.

Every array has *batch* dims before the dims of its tensor: one per axis of the device grid and, inside the body of a
reduction, further ones for the elements that are reduced at the same time. A batch dim has size 1 if the value does not
vary along it, so batch dims broadcast. A run on one device has no batch dims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TupleType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.types import FutureType
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid
from sdy.interpreter.devices.replica_groups import ReplicaGroups
from sdy.interpreter.failure import failure
from sdy.interpreter.field.numbers import Field
from sdy.interpreter.host import Host
from sdy.model.shape import StaticShape

ScalarT = TypeVar("ScalarT", bound=np.generic)
Arrays = tuple[Array, ...]


class Runner(Protocol):
    """The part of the executor that kernels use: run the blocks of their op, and functions by name."""

    def run_block(self, context: KernelContext, block: Block, arguments: Arrays, captured: Arrays) -> Arrays:
        """Run `block` and return its results; `captured` are the values from outside that the regions of its op use."""
        ...

    def call(self, context: KernelContext, function: str, arguments: Arrays) -> Arrays:
        """Run the function of this name and return its results. Raises: SdyError if it does not exist."""
        ...

    def function(self, name: str) -> FuncOp:
        """Return the function of this name. Raises: SdyError if it does not exist."""
        ...

    def groups_within(self, root: Operation) -> Iterable[ReplicaGroups]:
        """Return the replica groups of all collectives in `root` and in the functions that it calls."""
        ...


@dataclass(frozen=True, slots=True)
class KernelContext:
    """The context in which a kernel runs: the full sizes of the batch dims, and the devices that they represent.

    `grid` is None inside the body of a reduction, where batch dims also represent elements. `field` is that of the run
    if numbers of a finite field stand for floats.
    """

    batch: StaticShape
    grid: Grid | None
    runner: Runner
    host: Host
    depth: int = 0  # of nested calls
    field: Field | None = None

    @property
    def rank(self) -> int:
        """The number of batch dims."""
        return len(self.batch)

    def local(self, array: Array) -> StaticShape:
        """Return the shape of the tensor without its batch dims."""
        return array.shape[self.rank :]

    def leading(self, array: Array) -> StaticShape:
        """Return the sizes of the batch dims of this array."""
        return array.shape[: self.rank]

    def dims(self, dims: Sequence[int]) -> tuple[int, ...]:
        """Return the array dims of these tensor dims: batch dims come first."""
        return tuple(self.rank + dim for dim in dims)

    def with_elements(self, sizes: StaticShape) -> KernelContext:
        """Return the context of a body that runs once per element: it has further batch dims of these sizes."""
        return replace(self, batch=self.batch + sizes, grid=None)

    def replicated(self, array: Array) -> Array:
        """Return the array with batch dims of size 1: every device holds the same tensor."""
        return array.reshape((1,) * self.rank + array.shape)

    def aligned(self, arrays: Sequence[Array]) -> list[Array]:
        """Return views of the arrays whose batch dims have equal sizes."""
        leading = np.broadcast_shapes(*map(self.leading, arrays))
        return [np.broadcast_to(array, leading + self.local(array)) for array in arrays]

    def broadcast(self, array: Array) -> Array:
        """Return a view of the array with every batch dim at its full size."""
        return np.broadcast_to(array, self.batch + self.local(array))


def field_of(context: KernelContext) -> Field:
    """Return the field of a run. Raises: SdyError SDY-X021 if floats are floats."""
    if context.field is None:
        raise failure("SDY-X021", "numbers of a finite field are only known in a run that draws the field")
    return context.field


Kernel = Callable[[KernelContext, Arrays], Arrays]
KernelTable = OpTable[Kernel]


def pointwise(compute: Callable[..., Array]) -> Kernel:
    """Return the kernel of a function of arrays that broadcasts its operands."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        return (np.asarray(compute(*arrays)),)

    return kernel


def with_unit_dims(context: KernelContext, array: NDArray[ScalarT], count: int) -> NDArray[ScalarT]:
    """Return the array with `count` dims of size 1 inserted after the batch dims."""
    return array.reshape(array.shape[: context.rank] + (1,) * count + array.shape[context.rank :])


def uniform(context: KernelContext, array: Array, name: str) -> Array:
    """Return the tensor that all devices and elements hold.

    Raises: SdyError SDY-X005 if two devices hold different tensors; `name` names the operand in the message.
    """
    flat = array.reshape((prod(context.leading(array)), *context.local(array)))
    if flat.shape[0] > 1 and (flat != flat[:1]).any():
        other = int(np.flatnonzero((flat != flat[:1]).reshape(flat.shape[0], -1).any(axis=1))[0])
        raise failure(
            "SDY-X005",
            f"{name} differs between devices: {flat[0].tolist()} and {flat[other].tolist()}",
            hint="the shape of a tensor must be the same on every device",
        )
    return flat[0]


def operand_count(op: Operation) -> int:
    """Return how many of a kernel's arrays are operands; the others are captured by the regions of the op."""
    return sum(leaf_count(operand.type) for operand in op.operands)


def leaf_types(value_type: Attribute) -> list[Attribute]:
    """Return the type itself, or those of all elements of a tuple or a future: each is one array."""
    if not isinstance(value_type, TupleType | FutureType):
        return [value_type]
    return [leaf for element in value_type.types for leaf in leaf_types(element)]


def leaf_count(value_type: Attribute) -> int:
    """Return how many arrays represent a value."""
    return len(leaf_types(value_type))
