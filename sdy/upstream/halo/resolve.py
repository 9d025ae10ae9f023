"""Rewrites of ops that move elements along sharded dims, so that each device can compute its shard.

The op is replaced by an exchange with neighbors if there is one, otherwise its tensors are resharded. A shard of a
`stablehlo.reverse` is reversed, then assigned to devices in reverse order; the padding of an uneven dim is moved to the
front before the op, so that it is at the end after it. Source: docs/spec/06, 3 and 8.3 (G60 to G63).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.walk import post_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import TensorShardingAttr
from sdy.dialects.sdy.ops import MeshOp, ReshardOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.types import is_dynamic, shape_of
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.dialects.stablehlo.shape import ReshapeOp, ReverseOp
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.devices.tiling import mesh_reversed_along, shift_pairs
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh, MeshTable, common_mesh, resolve_mesh
from sdy.model.rule import FactorIndex, OpShardingRule, TensorMapping
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.partitioner.emit.collective_ops import collective_permute
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of
from sdy.partitioner.emit.sharded_emitter import (
    annotated,
    is_zero_constant,
    padded_to,
    sliced,
    trimmed_to,
    zero_scalar,
)
from sdy.partitioner.on_shards.shard_shifts import shard_shifts_of
from sdy.passes.rewriting.call_graph import UniqueNames
from sdy.passes.rewriting.device_counts import device_style
from sdy.passes.rewriting.insertion import erase, insert
from sdy.rules.all import sharding_rule
from sdy.upstream.halo.exchange import (
    DimExchange,
    Exchanger,
    ManualAxes,
    StridedPlacement,
    dim_exchange,
    emit_manual,
    is_communication_free,
    rounded_up,
    scalar_sharding,
    shard_counts,
)
from sdy.upstream.halo.reshape import ReshapeExchange


def exchanged_window(op: PadOp | SliceOp, mesh: Mesh, emit: Emitter) -> SSAValue | None:
    """Emit `op` as an exchange and return its result, None if an all-gather costs no more.

    Operand and result must be sharded alike.
    """
    sharding = sharding_of(op.operand)
    assert sharding is not None  # an op that requires communication has a sharded operand
    plans = window_plans(op, sharding, mesh)
    if plans is None or any(plan.is_too_far for plan in plans):
        return None
    counts = shard_counts(sharding, mesh)
    before, after = (rounded_up(shape_of(value), counts) for value in (op.operand, op.result))
    operand, filler = _padded_operand(op, before, sharding, emit)
    axes = ManualAxes.of((ref for dim in sharding.dims for ref in dim.axes), [sharding], mesh)
    inside = axes.inside(sharding)

    def body(inner: Emitter, arguments: Sequence[SSAValue]) -> SSAValue:
        value, inner_filler = arguments
        exchanger = Exchanger(inner, mesh, inside, inner_filler, fills_ends=not is_zero_constant(filler))
        for plan in plans:
            value = exchanger.exchanged(value, plan)
        return _applied_to_unsharded_dims(op, value, inner_filler, counts, inside, inner)

    operands = [(operand, sharding), (filler, scalar_sharding(sharding))]
    result = emit_manual(op, emit, axes, operands, (after, sharding), body)
    sizes = shape_of(op.result)
    return result if tuple(after) == tuple(sizes) else trimmed_to(emit, result, sizes, sharding)


def dim_placement(op: PadOp | SliceOp, dim: int) -> StridedPlacement | None:
    """Return the map of the elements of a dim, None for a slice with a stride or a dim of unknown size."""
    size = shape_of(op.result)[dim]
    if is_dynamic(size) or is_dynamic(shape_of(op.operand)[dim]):
        return None
    if isinstance(op, SliceOp):
        is_dense = ints_of(op.strides)[dim] == 1
        return StridedPlacement(-ints_of(op.start_indices)[dim], 1, size) if is_dense else None
    return StridedPlacement(ints_of(op.edge_padding_low)[dim], ints_of(op.interior_padding)[dim] + 1, size)


def window_plans(op: PadOp | SliceOp, sharding: TensorSharding, mesh: Mesh) -> list[DimExchange] | None:
    """Return one exchange for each sharded dim that changes; an empty list if no shard requires elements of another.

    Returns None if a sharded dim has a stride or an unknown size, which no halo exchange supports.
    """
    plans: list[DimExchange] = []
    is_any_needed = False
    for dim, (own, count) in enumerate(zip(sharding.dims, shard_counts(sharding, mesh), strict=True)):
        if count == 1:
            continue
        target = dim_placement(op, dim)
        if target is None:
            return None
        plan, is_needed = dim_exchange(dim, own.axes, count, shape_of(op.operand)[dim], target)
        is_any_needed |= is_needed
        if is_needed or target.low or target.step > 1 or plan.shard != plan.part:
            plans.append(plan)
    return plans if is_any_needed else []


def _padded_operand(
    op: PadOp | SliceOp, sizes: Sequence[int], sharding: TensorSharding, emit: Emitter
) -> tuple[SSAValue, SSAValue]:
    """Return the operand padded to `sizes`, and the value of positions without an element."""
    is_even = tuple(sizes) == tuple(shape_of(op.operand))
    if isinstance(op, PadOp):
        filler = op.padding_value
        return (op.operand if is_even else padded_to(emit, op.operand, filler, sizes, sharding)), filler
    operand = op.operand if is_even else padded_to(emit, op.operand, zero_scalar(emit, op.operand), sizes, sharding)
    return operand, zero_scalar(emit, operand)


def _applied_to_unsharded_dims(
    op: PadOp | SliceOp, value: SSAValue, filler: SSAValue, counts: Sequence[int], inside: TensorSharding, emit: Emitter
) -> SSAValue:
    """Apply `op` along its unsharded dims."""
    if isinstance(op, PadOp):
        amounts = [_along_unsharded(ints_of(each), counts) for each in (op.edge_padding_low, op.edge_padding_high)]
        interior = _along_unsharded(ints_of(op.interior_padding), counts)
        if not any((*amounts[0], *amounts[1], *interior)):
            return value
        return annotated(emit.pad(value, filler, amounts[0], amounts[1], interior), inside)
    ranges = zip(ints_of(op.start_indices), ints_of(op.limit_indices), ints_of(op.strides), strict=True)
    chosen = [
        each if count == 1 else (0, size, 1) for each, count, size in zip(ranges, counts, shape_of(value), strict=True)
    ]
    if chosen == [(0, size, 1) for size in shape_of(value)]:
        return value
    starts, limits, strides = ([bounds[index] for bounds in chosen] for index in range(3))
    return sliced(emit, value, starts, limits, inside, strides)


def _along_unsharded(amounts: Sequence[int], counts: Sequence[int]) -> list[int]:
    return [amount if count == 1 else 0 for amount, count in zip(amounts, counts, strict=True)]


def reversed_axes(op: ReverseOp, sharding: TensorSharding) -> AxisList:
    """Return the axes along which the op reverses the order of shards."""
    reversed_dims = ints_of(op.dimensions)
    return tuple(ref for dim, own in enumerate(sharding.dims) if dim in reversed_dims for ref in own.axes)


def shifted_operand(op: ReverseOp, sharding: TensorSharding, mesh: Mesh, emit: Emitter) -> SSAValue:
    """Return the operand of `op` with even shards: padded at the front of reversed dims and at the end of others."""
    counts, sizes = shard_counts(sharding, mesh), shape_of(op.operand)
    even = rounded_up(sizes, counts)
    to_shift = [dim for dim in range(len(sizes)) if sizes[dim] != even[dim] and dim in ints_of(op.dimensions)]
    if not to_shift:
        return op.operand
    axes = ManualAxes.of((ref for dim in to_shift for ref in sharding.dims[dim].axes), [sharding], mesh)
    padded_dims = [dim for dim, own in enumerate(axes.outside(sharding).dims) if own.axes]
    padded = padded_to(emit, op.operand, zero_scalar(emit, op.operand), _only(even, sizes, padded_dims), sharding)

    def body(inner: Emitter, arguments: Sequence[SSAValue]) -> SSAValue:
        (value,) = arguments
        for dim in to_shift:
            amount = even[dim] - sizes[dim]
            value = _shifted_right(inner, value, dim, amount, (sharding.dims[dim].axes, mesh), axes.inside(sharding))
        return value

    return emit_manual(op, emit, axes, [(padded, sharding)], (shape_of(padded), sharding), body)


def _only(even: Sequence[int], sizes: Sequence[int], dims: Sequence[int]) -> list[int]:
    return [even[dim] if dim in dims else size for dim, size in enumerate(sizes)]


def _shifted_right(
    emit: Emitter, value: SSAValue, dim: int, amount: int, axes_on_mesh: tuple[AxisList, Mesh], sharding: TensorSharding
) -> SSAValue:
    """Shift the elements of a sharded dim by `amount` towards its end, filling with zeros."""
    sizes = shape_of(value)
    hops, rest = divmod(amount, sizes[dim])
    head, tail = (_received(emit, value, axes_on_mesh, hops=count, sharding=sharding) for count in (hops, hops + 1))
    kept = sizes[dim] - rest
    zeros = [0] * len(sizes)
    from_tail = sliced(emit, tail, _with(zeros, dim, kept), sizes, sharding)
    from_head = sliced(emit, head, zeros, _with(sizes, dim, kept), sharding)
    return annotated(emit.concatenate([from_tail, from_head], dim), sharding)


def _received(
    emit: Emitter, value: SSAValue, axes_on_mesh: tuple[AxisList, Mesh], *, hops: int, sharding: TensorSharding
) -> SSAValue:
    """Return the shard that is `hops` shards to the left, zeros if there is none."""
    if hops == 0:
        return value
    pairs = shift_pairs(*axes_on_mesh, hops)
    if not pairs:
        return annotated(emit.broadcast(zero_scalar(emit, value), tensor_of(value)), sharding)
    return annotated(collective_permute(emit, value, pairs), sharding)


def _with(sizes: Sequence[int], dim: int, size: int) -> list[int]:
    return [size if index == dim else own for index, own in enumerate(sizes)]


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
    back = insert(ReshardOp(result, target), InsertPoint.after(last), last.location)
    result.replace_uses_with_if(back.result, lambda use: use.operation is not back)
    set_sharding(result, required)
    return back


def _replace(op: Operation, result: SSAValue) -> None:
    """Replace the only result of `op` by `result`, and erase `op`."""
    replace_uses(op.results[0], result)
    erase(op)


@dataclass(frozen=True)
class ResolvePermutationFactorsPass(ModulePass):
    """Exchange halos, or unshard the dims.

        before  %1 = stablehlo.slice %0 [0:3] {[{"a"}]} : (tensor<8xi32>) -> tensor<3xi32>
        after   %1 = sdy.manual_computation(%0, %c) ... manual_axes={"a"} {
                  // receive the neighbour's shard by a collective-permute, concatenate, slice this device's elements
                }
                %2 = stablehlo.slice %1 [0:3] {[{"a"}]} : (tensor<4xi32>) -> tensor<3xi32>

    If an exchange would not pay, or the op has none, the dims are resharded to be unsharded.
    Requires: explicit reshards. Ensures: no op with a rule of ours needs elements of other shards.
    """

    name = "sdy-resolve-permutation-factors"

    enable_halo_exchange: bool = True
    replica_count: int = 1
    partition_count: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every op, ops in regions before their parent."""
        style = device_style(op, self.replica_count, self.partition_count)
        namer = _MeshNamer(op)
        resolver = Resolver(namer.meshes, style, self.enable_halo_exchange, namer.reversed)
        for inner in post_order(op):
            if isinstance(inner, StablehloOp) and not inner.has_trait(IsTerminator):
                resolver.resolve(inner)


class _MeshNamer:
    """Defines the meshes of reversed dims, without duplicates."""

    def __init__(self, module: ModuleOp) -> None:
        self.meshes = meshes_of(module)
        self._module = module
        self._names = UniqueNames(module)
        self._name_of = {mesh: name for name, mesh in self.meshes.items()}

    def reversed(self, reference: MeshReference, turned: Mesh) -> MeshReference:
        """Return a reference to `turned`, the mesh `reference` with some axes reversed."""
        if not isinstance(reference, str):
            return turned
        name = self._name_of.get(turned)
        if name is None:
            name = self._name_of[turned] = self._names.new(f"{reference}_reversed")
            self.meshes[name] = turned
            insert(MeshOp(name, turned), InsertPoint.at_start(self._module.body.block), self._module.location)
        return name
