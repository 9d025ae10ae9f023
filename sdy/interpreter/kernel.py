"""What a kernel is: the function that computes an op on arrays, for all devices in one call.

Every array has *batch* dims before the dims of its tensor: one per axis of the device grid, and inside the body of a
reduction further ones for the elements that are reduced at the same time. A batch dim has size 1 where the value
does not vary along it, so batch dims broadcast. A run on one device is the case of no batch dims.
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
from sdy.interpreter.host import Host

ScalarT = TypeVar("ScalarT", bound=np.generic)
Arrays = tuple[Array, ...]
Shape = tuple[int, ...]


class Runner(Protocol):
    """What a kernel needs of the executor: to run the blocks of its op, and functions by name."""

    def run_block(self, context: KernelContext, block: Block, arguments: Arrays, captured: Arrays) -> Arrays:
        """What `block` returns; `captured` are the outer values that the regions of its op use."""
        ...

    def call(self, context: KernelContext, function: str, arguments: Arrays) -> Arrays:
        """What the function of this name returns. Raises: SdyError where there is none."""
        ...

    def function(self, name: str) -> FuncOp:
        """The function of this name. Raises: SdyError where there is none."""
        ...

    def groups_within(self, root: Operation) -> Iterable[ReplicaGroups]:
        """The replica groups of all collectives in `root`, and in the functions that are called there."""
        ...


@dataclass(frozen=True, slots=True)
class KernelContext:
    """Where a kernel runs: the full sizes of the batch dims, and the devices that they stand for.

    There is no grid inside the body of a reduction, where the batch dims stand for elements too.
    """

    batch: Shape
    grid: Grid | None
    runner: Runner
    host: Host
    depth: int = 0  # calls that are open

    @property
    def rank(self) -> int:
        """How many batch dims there are."""
        return len(self.batch)

    def local(self, array: Array) -> Shape:
        """The shape of the tensor without its batch dims."""
        return array.shape[self.rank :]

    def leading(self, array: Array) -> Shape:
        """The sizes of the batch dims of this array."""
        return array.shape[: self.rank]

    def dims(self, dims: Sequence[int]) -> tuple[int, ...]:
        """Dims of the tensor, counted from its first batch dim."""
        return tuple(self.rank + dim for dim in dims)

    def with_elements(self, sizes: Shape) -> KernelContext:
        """The context of a body that runs once per element: further batch dims of these sizes."""
        return replace(self, batch=self.batch + sizes, grid=None)

    def replicated(self, array: Array) -> Array:
        """An array that all devices and elements share, with batch dims of size 1."""
        return array.reshape((1,) * self.rank + array.shape)

    def broadcast(self, array: Array) -> Array:
        """The array with every batch dim at its full size, without a copy."""
        return np.broadcast_to(array, self.batch + self.local(array))


Kernel = Callable[[KernelContext, Arrays], Arrays]
KernelTable = OpTable[Kernel]


def pointwise(compute: Callable[..., Array]) -> Kernel:
    """The kernel of a function of arrays that broadcasts by itself."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        return (np.asarray(compute(*arrays)),)

    return kernel


def with_unit_dims(context: KernelContext, array: NDArray[ScalarT], count: int) -> NDArray[ScalarT]:
    """The array with `count` dims of size 1 after the batch dims of `context`."""
    return array.reshape(array.shape[: context.rank] + (1,) * count + array.shape[context.rank :])


def uniform(context: KernelContext, array: Array, what: str) -> Array:
    """The tensor that all devices and elements hold.

    Raises: SdyError SDY-X005 where they hold different ones; `what` names the operand in the message.
    """
    flat = array.reshape((prod(context.leading(array)), *context.local(array)))
    if flat.shape[0] > 1 and (flat != flat[:1]).any():
        other = int(np.flatnonzero((flat != flat[:1]).reshape(flat.shape[0], -1).any(axis=1))[0])
        raise failure(
            "SDY-X005",
            f"{what} differs between devices: {flat[0].tolist()} and {flat[other].tolist()}",
            hint="shapes of tensors must be the same on every device",
        )
    return flat[0]


def operand_count(op: Operation) -> int:
    """How many of a kernel's arrays are operands; the others are captured by the regions of the op."""
    return sum(leaf_count(operand.type) for operand in op.operands)


def leaf_count(value_type: Attribute) -> int:
    """How many arrays a value is: those of its parts where it is a tuple or a future, else one."""
    return sum(map(leaf_count, value_type.types)) if isinstance(value_type, TupleType | FutureType) else 1
