"""Builder of manual computations for exchanges between shards. Source: docs/spec/06, 3.3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, Region, SSAValue

from sdy.dialects.sdy.attrs import ManualAxesAttr, TensorShardingPerValueAttr
from sdy.dialects.sdy.ops import ReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import local_type
from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.emitter import Emitter, with_shape

Body = Callable[[Emitter, Sequence[SSAValue]], SSAValue]  # emits ops on the block arguments and returns the result


@dataclass(frozen=True, slots=True)
class ManualAxes:
    """The manual axes of a computation, by name, and their mesh."""

    names: frozenset[str]
    mesh: Mesh

    @staticmethod
    def of(refs: Iterable[AxisRef], shardings: Sequence[TensorSharding], mesh: Mesh) -> ManualAxes:
        """Return the full axes of `refs` and all axes that are major to them in some dim.

        `shardings` are those of the operands and results; in each dim, manual axes must come before all others.
        """
        names = {ref.name for ref in refs}
        lists = [dim.axes for sharding in shardings for dim in sharding.dims]
        while added := {name for axes in lists for name in _major_to(names, axes)} - names:
            names |= added
        return ManualAxes(frozenset(names), mesh)

    @property
    def in_order(self) -> tuple[str, ...]:
        """Return the names in mesh order."""
        return tuple(axis.name for axis in self.mesh.axes if axis.name in self.names)

    def inside(self, sharding: TensorSharding) -> TensorSharding:
        """Return the sharding of a value in the body: the axes that are not manual."""
        return self._filtered(sharding, keeps_manual=False)

    def outside(self, sharding: TensorSharding) -> TensorSharding:
        """Return the sharding restricted to the manual axes."""
        return self._filtered(sharding, keeps_manual=True)

    def _filtered(self, sharding: TensorSharding, *, keeps_manual: bool) -> TensorSharding:
        dims = tuple(
            replace(dim, axes=tuple(ref for ref in dim.axes if (ref.name in self.names) == keeps_manual))
            for dim in sharding.dims
        )
        return replace(sharding, dims=dims)


def _major_to(names: Collection[str], axes: AxisList) -> list[str]:
    """Return the axes of a dim before the last one that is in `names`."""
    last_index = max((index for index, ref in enumerate(axes) if ref.name in names), default=0)
    return [ref.name for ref in axes[:last_index]]


def emit_manual(
    op: Operation,
    emit: Emitter,
    axes: ManualAxes,
    operands: Sequence[tuple[SSAValue, TensorSharding]],
    result: tuple[Sequence[int], TensorSharding],
    body: Body,
) -> SSAValue:
    """Emit a manual computation with one result.

    `result` is its global shape and sharding; its element type is that of the first operand. New ops have the location
    of `op`.
    """
    types = [local_type(value.type, axes.outside(sharding), axes.mesh) for value, sharding in operands]
    block = Block(arg_types=[each for each in types if each is not None])
    terminator = ReturnOp()
    terminator.location = op.location
    block.add_op(terminator)
    terminator.operands = [body(Emitter(terminator, emit.style), block.args)]
    sizes, sharding = result
    properties = {
        "in_shardings": TensorShardingPerValueAttr(tuple(each for _, each in operands)),
        "out_shardings": TensorShardingPerValueAttr((sharding,)),
        "manual_axes": ManualAxesAttr(axes.in_order),
    }
    values = [value for value, _ in operands]
    return emit.value(ManualComputationOp, values, with_shape(values[0], sizes), dict(properties), [Region(block)])


def scalar_sharding(like: TensorSharding) -> TensorSharding:
    """Return the sharding of a scalar on the mesh of `like`."""
    return TensorSharding(like.mesh, ())


def shard_counts(sharding: TensorSharding, mesh: Mesh) -> list[int]:
    """Return the number of shards along each dim."""
    return [sharded_size(dim.axes, mesh) for dim in sharding.dims]


def rounded_up(sizes: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Return each size rounded up to a multiple of its count."""
    return [-(-size // count) * count for size, count in zip(sizes, counts, strict=True)]
