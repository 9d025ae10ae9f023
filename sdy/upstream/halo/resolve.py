"""Rewrites of ops that move elements along sharded dims, so that each device can compute its shard.

The op is replaced by an exchange with neighbors if there is one, otherwise its tensors are resharded. Source:
docs/spec/06, 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.sdy.attrs import TensorShardingAttr
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.shape import ReshapeOp, ReverseOp
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.devices.device_shifts import mesh_reversed_along
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh, MeshTable, common_mesh, resolve_mesh
from sdy.model.rule import FactorIndex, OpShardingRule, TensorMapping
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.partitioner.emit.emitter import Emitter, Style
from sdy.partitioner.emit.sharded_emitter import annotated, trimmed_to
from sdy.partitioner.on_shards.shard_shifts import shard_shifts_of
from sdy.rules.all import sharding_rule
from sdy.upstream.halo.pad_and_slice import dim_placement, exchanged_window, window_plans
from sdy.upstream.halo.plan import is_communication_free
from sdy.upstream.halo.reshape import ReshapeExchange
from sdy.upstream.halo.reverse import reversed_axes, shifted_operand

MeshReference = str | Mesh
NameReversed = Callable[
    [MeshReference, Mesh], MeshReference
]  # from a mesh reference and the reversed mesh to its reference


@dataclass(frozen=True, slots=True)
class Resolver:
    """Rewrites the ops of one module."""

    meshes: MeshTable
    style: Style
    exchanges: bool  # otherwise tensors are gathered along dims that move elements
    name_reversed: NameReversed

    def resolve(self, op: Operation) -> None:
        """Rewrite `op` if its shards require elements of other shards. Ops with custom rules are not changed."""
        if isinstance(op, ReshapeOp):
            self._resolve_reshape(op)
            return
        rule = sharding_rule(op)
        if rule is None or rule.is_custom:
            return
        if isinstance(op, PadOp | SliceOp):
            self._resolve_window(op, rule)
        elif rule.permutation and not (self.exchanges and isinstance(op, ReverseOp) and self._exchange_reverse(op)):
            self._reshard_unsharded(op, rule)

    def _mesh(self, sharding: TensorSharding | None) -> Mesh | None:
        """Return the mesh of a sharding with sharded dims, None if it has none or is maximal."""
        if sharding is None or sharding.is_fully_replicated:
            return None
        mesh = resolve_mesh(sharding.mesh, self.meshes)
        return None if mesh is None or mesh.is_maximal else mesh

    def _emitter(self, before: Operation) -> Emitter:
        return Emitter(before, self.style)

    # pad and slice

    def _resolve_window(self, op: PadOp | SliceOp, rule: OpShardingRule) -> None:
        before, after = sharding_of(op.operand), sharding_of(op.result)
        mesh = self._mesh(before)
        has_same_axes = before is not None and after is not None and _dim_axes(before) == _dim_axes(after)
        if not self.exchanges or not has_same_axes:
            self._reshard_unsharded(op, rule)
            return
        if before is None or mesh is None or window_plans(op, before, mesh) == []:
            return
        result = exchanged_window(op, mesh, self._emitter(op))
        if result is None:
            self._reshard_unsharded(op, rule)
            return
        _replace(op, result)

    # reverse

    def _exchange_reverse(self, op: ReverseOp) -> bool:
        """Reverse each shard, and the order of the devices.

        Returns False if operand and result are not sharded alike.
        """
        sharding, result_sharding = sharding_of(op.operand), sharding_of(op.result) or sharding_of(op.operand)
        mesh = self._mesh(sharding)
        if (
            sharding is None
            or mesh is None
            or result_sharding is None
            or _dim_axes(sharding) != _dim_axes(result_sharding)
        ):
            return False
        axes = reversed_axes(op, sharding)
        if not axes:
            return True
        emit = self._emitter(op)
        operand = shifted_operand(op, sharding, mesh, emit)
        reversed_sharding = replace(sharding, mesh=self.name_reversed(sharding.mesh, mesh_reversed_along(axes, mesh)))
        reverse = emit.value(ReverseOp, [operand], operand.type, {"dimensions": op.dimensions})
        result = resharded(emit, annotated(reverse, reversed_sharding), result_sharding)
        sizes = shape_of(op.result)
        if shape_of(result) != sizes:
            result = trimmed_to(emit, result, sizes, sharding)
        _replace(op, result)
        return True

    # reshape

    def _resolve_reshape(self, op: ReshapeOp) -> None:
        before, after = sharding_of(op.operand), sharding_of(op.result)
        mesh = self._mesh(before) or self._mesh(after)
        reference = before or after
        if mesh is None or reference is None:
            return
        before = before or fully_closed(reference.mesh, rank_of_type(op.operand.type))
        after = after or fully_closed(reference.mesh, rank_of_type(op.result.type))
        exchange = ReshapeExchange(op, before, after, mesh)
        if not exchange.needs_communication:
            return
        plans = exchange.plans() if self.exchanges else None
        emit = self._emitter(op)
        if plans is not None:
            _replace(op, exchange.emit(plans, emit))
            return
        operand_sharding, result_sharding = exchange.unsharded_sides()
        operand = resharded(emit, op.operand, operand_sharding)
        _replace(op, resharded(emit, annotated(emit.reshape(operand, shape_of(op.result)), result_sharding), after))

    # Other ops

    def _reshard_unsharded(self, op: Operation, rule: OpShardingRule) -> None:
        """Reshard the operands and results of `op` so that the dims along which it moves elements are unsharded."""
        values = (*op.operands, *op.results)
        shardings = [sharding_of(value) for value in values]
        common = common_mesh(shardings, self.meshes, ignore_device_order=True)
        if common is None or common.mesh.is_maximal:
            return
        factors = frozenset(factor for factor in _moved_factors(op, rule) if not self._stays_in_shards(op, factor))
        required = [
            None if sharding is None else self._without_factors(sharding, mapping, factors, common)
            for sharding, mapping in zip(shardings, rule.tensors, strict=True)
        ]
        emit = self._emitter(op)
        for index, operand in enumerate(tuple(op.operands)):
            operand_sharding = required[index]
            if operand_sharding is not None and operand_sharding != shardings[index]:
                op.operands[index] = resharded(emit, operand, operand_sharding)
        last = op
        for result, needed in zip(op.results, required[len(op.operands) :], strict=True):
            target = sharding_of(result)
            if needed is not None and target is not None and needed != target:
                last = _reshard_back(result, needed, target, last)

    def _without_factors(
        self, sharding: TensorSharding, mapping: TensorMapping, factors: frozenset[FactorIndex], common: CommonMesh
    ) -> TensorSharding:
        """Return the sharding, on the common mesh, without the axes of dims that have one of the factors."""
        dims = tuple(
            DimSharding((), dim.is_closed) if dim.axes and factors.intersection(factors_of_dim) else dim
            for dim, factors_of_dim in zip(sharding.dims, mapping, strict=True)
        )
        mesh = sharding.mesh if resolve_mesh(sharding.mesh, self.meshes) == common.mesh else common.reference
        return replace(sharding, mesh=mesh, dims=dims)

    def _stays_in_shards(self, op: Operation, dim: int) -> bool:
        """Return whether no element moves to another shard along a dim of a pad or slice, which is a factor."""
        if not isinstance(op, PadOp | SliceOp):
            return False
        before, after = sharding_of(op.operand), sharding_of(op.result)
        mesh = self._mesh(before)
        if before is None or after is None or mesh is None or before.dims[dim].axes != after.dims[dim].axes:
            return False
        count = sharded_size(before.dims[dim].axes, mesh)
        target = dim_placement(op, dim)
        if target is not None and is_communication_free(
            count, shape_of(op.operand)[dim], target, is_slice=isinstance(op, SliceOp)
        ):
            return True
        return shard_shifts_of(op)(dim, count) is not None


def resharded(emit: Emitter, value: SSAValue, sharding: TensorSharding) -> SSAValue:
    """Emit a reshard of `value`."""
    return emit.value(ReshardOp, [value], value.type, {"sharding": TensorShardingAttr(sharding)})


def _moved_factors(op: Operation, rule: OpShardingRule) -> frozenset[FactorIndex]:
    """Return the factors along which `op` moves elements. A pad may move them without changing the size of the dim."""
    moved = set(rule.permutation)
    if isinstance(op, PadOp):
        moved.update(FactorIndex(dim) for dim, low in enumerate(ints_of(op.edge_padding_low)) if low)
    return frozenset(moved)


def _dim_axes(sharding: TensorSharding) -> tuple[AxisList, ...]:
    return tuple(dim.axes for dim in sharding.dims)


def _reshard_back(result: SSAValue, required: TensorSharding, target: TensorSharding, last: Operation) -> Operation:
    """Give `result` the sharding `required`, and reshard it back to `target` for its users.

    Returns the reshard, which is inserted after `last`.
    """
    back = ReshardOp.create(
        operands=[result], result_types=[result.type], properties={"sharding": TensorShardingAttr(target)}
    )
    back.location = last.location
    assert last.parent is not None
    last.parent.insert_op_after(back, last)
    result.replace_uses_with_if(back.result, lambda use: use.operation is not back)
    set_sharding(result, required)
    return back


def _replace(op: Operation, result: SSAValue) -> None:
    """Replace the only result of `op` by `result`, and erase `op`."""
    replace_uses(op.results[0], result)
    op.detach()
    op.erase()
