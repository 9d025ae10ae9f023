"""The sdy collectives of a partitioned program on global shapes, and the bytes that each sends.

Every collective refers to mesh axes. The halo exchanges and the collectives of manual computations, which only the
local program has, and all runs are in `sdy.cost.traffic`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.cost.collectives import CollectiveKind, bytes_sent
from sdy.dialects.facts.traits import collective_kind
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy import collectives as ops
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.tensor_bytes import element_bytes
from sdy.grammar.write import write_all_to_all_params, write_axes_per_dim, write_axis_list
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.collective import AxesPerDim
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.shape import local_shape


@dataclass(frozen=True, slots=True)
class GlobalCollective:
    """One collective. `axes` is its parameter as written in the text."""

    kind: CollectiveKind
    axes: str
    bytes_per_device: float  # sent by each device


def collectives_with_ops(module: ModuleOp) -> Iterator[tuple[Operation, GlobalCollective]]:
    """Yield each collective of a module with explicit collectives, with its op, in program order."""
    meshes = meshes_of(module)
    for op in pre_order(module):
        if isinstance(op, ops.CollectiveOp) and (use := _use(op, meshes)) is not None:
            yield op, use


def _use(op: ops.CollectiveOp, meshes: MeshTable) -> GlobalCollective | None:
    kind, described = collective_kind(type(op)), _describe(op)
    mesh = resolve_mesh(op.out_sharding.data.mesh, meshes)
    tensor = as_tensor(op.result.type)
    if kind is None or described is None or mesh is None or tensor is None:
        return None
    text, axes = described
    local = local_shape(tensor.get_shape(), op.out_sharding.data, mesh)
    assert local is not None  # padding is allowed
    shape = tuple(size or 0 for size in local)
    moved = bytes_sent(kind, sharded_size(axes, mesh), prod(shape) * element_bytes(tensor.element_type))
    return GlobalCollective(kind, text, moved)


def _describe(op: ops.CollectiveOp) -> tuple[str, AxisList] | None:
    """Return the axes as text, and the axes of one group; None for an op without communication."""
    match op:
        case ops.AllGatherOp():
            per_dim = op.gathering_axes.data
            return write_axes_per_dim(per_dim), _flat(per_dim)
        case ops.ReduceScatterOp():
            per_dim = op.reduce_scatter_axes.data
            return write_axes_per_dim(per_dim), _flat(per_dim)
        case ops.AllReduceOp():
            axes = op.reduction_axes.data
            return write_axis_list(axes), axes
        case ops.AllToAllOp():
            params = op.params.data
            axes = _flat(tuple(param.axes for param in params))
            return write_all_to_all_params(params), axes
        case ops.CollectivePermuteOp():
            return "", ()
        case _:
            return None


def _flat(per_dim: AxesPerDim) -> AxisList:
    return tuple(axis for axes in per_dim for axis in axes)
