"""Write the result of the layout search into the module: shardings, and the transfers between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.dialects.data_flow import EdgeSource
from sdy.dialects.ir.walk import ancestor_in, block_of
from sdy.dialects.sdy.collectives import AllReduceOp, AllSliceOp, ReduceScatterOp, ReplicatedToUnreducedOp
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sharded_types import element_bytes, static_shape
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.model.axis_list import sort_and_merge
from sdy.model.collective import AxesPerDim
from sdy.model.mesh_digits import DigitsPerDim, DigitTuple
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.layout_search.layout import Layout, TensorSize
from sdy.partitioner.layout_search.linearity import is_zero
from sdy.partitioner.layout_search.reduction import Reduction
from sdy.partitioner.layout_search.state import SearchState
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.passes.export.optimize.communication_graph import Binding, ModuleGraph, Use
from sdy.passes.rewriting.insertion import after_definition, erase, insert, location_of


class Writer:
    """Rewrites the module that a graph was read from, on the mesh called `mesh`."""

    def __init__(self, read: ModuleGraph, state: SearchState, mesh: str) -> None:
        self._read = read
        self._state = state
        self._mesh = mesh

    def write(self) -> None:
        """Replace all transfers by those of the state."""
        for op, node in zip(self._read.ops, self._read.graph.nodes, strict=True):
            if isinstance(op, ValueEdge) and self._dims(op.targets[0]) != node.op_layout.layouts[-1].dims:
                op.set_sharding(self._sharding(node.op_layout.layouts[-1].dims))
        for number, binding in zip(self._read.numbers, self._read.bindings, strict=True):
            if self._read.graph.values[number].is_free:
                self._duplicate_free_value(binding)
            else:
                self._write_transfers(number, binding)
        for op in reversed(self._read.transfers):
            erase(op)

    def _need(self, use: Use) -> Layout:
        return use.layout if use.end is None else self._state.layouts(use.end.node)[use.end.position]

    def _duplicate_free_value(self, binding: Binding) -> None:
        """Duplicate a free value for each layout in which it is used."""
        op = binding.value.owner
        assert isinstance(op, Operation)  # a free value is produced by an op
        copies: dict[Layout, SSAValue] = {}
        for use in binding.uses:
            need = self._need(use)
            if need not in copies:
                copies[need] = (
                    insert(op.clone(), InsertPoint.after(op), op.location).results[0] if copies else op.results[0]
                )
                if self._dims(copies[need]) != need.dims:
                    set_sharding(copies[need], self._sharding(need.dims))
                copies[need] = self._on_one_device(copies[need], need.dims, need.unreduced)
            _replace_use(use.source, copies[need])

    def _write_transfers(self, number: int, binding: Binding) -> None:
        """Transfer a value to its stored layout, and from there to the layouts of its users."""
        layout, home = self._state.layout(number), self._state.home(number)
        if layout.dims != binding.layout.dims and isinstance(binding.value.owner, Operation):
            set_sharding(binding.value, self._sharding(layout.dims))
        transferred = {layout: binding.value}
        if home != layout:
            users = [use for use in binding.uses if self._need(use) != layout]
            transferred[home] = self._transfer(binding, binding.value, (layout, home), users)
        for need in dict.fromkeys(map(self._need, binding.uses)):
            users = [use for use in binding.uses if self._need(use) == need]
            if need not in transferred:
                transferred[need] = self._transfer(binding, transferred[home], (home, need), users)
            for use in users:
                _replace_use(use.source, transferred[need])

    def _transfer(
        self, binding: Binding, value: SSAValue, ends: tuple[Layout, Layout], users: Sequence[Use]
    ) -> SSAValue:
        """Transfer a value to another layout: at once if it gets smaller, else before its first use."""
        source, target = ends
        tensor = TensorSize(static_shape(value.type) or (), element_bytes(element_type_of(value)))
        reduction = self._state.transfers.cheapest(source, target, tensor).reduction
        dims = source.dims if reduction is None else reduction.dims
        if reduction is not None:
            value = self._reduced(binding, value, source.dims, reduction)
        if dims != target.dims:
            elements = self._state.digits.elements
            grows = elements(tensor.shape, target.dims) > elements(tensor.shape, dims)
            point = self._before_first(value, users) if grows else after_definition(value)
            value = insert(ReshardOp(value, self._sharding(target.dims)), point, location_of(value)).result
        more = tuple(digit for digit in target.unreduced if digit not in source.unreduced)
        return self._on_one_device(value, target.dims, more)

    def _on_one_device(self, value: SSAValue, dims: DigitsPerDim, partial: DigitTuple) -> SSAValue:
        """Return the value, partial along some digits: one device along them holds it, the others hold zeros."""
        if not partial or is_zero(value):
            return value
        if sharding_of(value) is None:
            set_sharding(value, self._sharding(dims))  # the op requires one
        axes = sort_and_merge(self._state.digits.join(partial), self._state.digits.mesh)
        sharding = replace(self._sharding(dims), unreduced=axes)
        return _insert_after_definition(ReplicatedToUnreducedOp(value, axes, sharding), value)

    def _before_first(self, value: SSAValue, users: Sequence[Use]) -> InsertPoint:
        """Return the point before the first op of the value's block that uses it, directly or in a region."""
        block = block_of(value)
        assert block is not None  # the op is in a module
        first = min((ancestor_in(block, use.source.op) for use in users), key=self._read.positions.__getitem__)
        return InsertPoint.before(first)

    def _reduced(self, binding: Binding, value: SSAValue, dims: DigitsPerDim, reduction: Reduction) -> SSAValue:
        if any(reduction.sliced):
            dims = _longer(dims, reduction.sliced)
            value = _insert_after_definition(
                AllSliceOp(value, self._axes(reduction.sliced), self._sharding(dims)), value
            )
        if any(reduction.scattered):
            dims = _longer(dims, reduction.scattered)
            axes = self._axes(reduction.scattered)
            value = _insert_after_definition(ReduceScatterOp(value, axes, self._sharding(dims), binding.kind), value)
        if reduction.reduced:
            axes = sort_and_merge(self._state.digits.join(reduction.reduced), self._state.digits.mesh)
            value = _insert_after_definition(AllReduceOp(value, axes, self._sharding(dims), binding.kind), value)
        return value

    def _axes(self, dims: DigitsPerDim) -> AxesPerDim:
        return tuple(self._state.digits.join(cut) for cut in dims)

    def _sharding(self, dims: DigitsPerDim) -> TensorSharding:
        return TensorSharding(self._mesh, tuple(map(DimSharding, self._axes(dims))))

    def _dims(self, value: SSAValue) -> DigitsPerDim:
        """Return the sharded dims of a value as the module has them."""
        sharding = sharding_of(value)
        if sharding is None:
            return ((),) * len(static_shape(value.type) or ())
        return tuple(self._state.digits.split(dim.axes) or () for dim in sharding.dims)


def _replace_use(source: EdgeSource, value: SSAValue) -> None:
    if source.value is not value:
        source.op.operands[source.index] = value


def _insert_after_definition(op: Operation, value: SSAValue) -> SSAValue:
    return insert(op, after_definition(value), location_of(value)).results[0]


def _longer(dims: DigitsPerDim, more: DigitsPerDim) -> DigitsPerDim:
    return tuple(cut + added for cut, added in zip(dims, more, strict=True))
