"""Writing into a module what a search for less communication found: shardings, and how values change theirs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.cost.tensor_bytes import element_bytes
from sdy.dialects.data_flow import EdgeSource
from sdy.dialects.ir.walk import ancestor_in, block_of
from sdy.dialects.sdy.collectives import AllReduceOp, AllSliceOp, ReduceScatterOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.model.axis_list import sort_and_merge
from sdy.model.collective import AxesPerDim
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.layout_search.layout import Dims, Layout, Tensor
from sdy.partitioner.layout_search.reduction import Reduction
from sdy.partitioner.layout_search.state import State
from sdy.passes.export.optimize.communication_edges import Edge
from sdy.passes.export.optimize.communication_graph import Binding, ModuleGraph, Use
from sdy.passes.rewriting.insertion import after_definition, erase, insert, location_of, reshard


class Writer:
    """Rewrites the module that a graph was read from, on the mesh of that name."""

    def __init__(self, read: ModuleGraph, state: State, mesh: str) -> None:
        self._read = read
        self._state = state
        self._mesh = mesh

    def write(self) -> None:
        """Replace all transfers by those that the state calls for."""
        for op, node in zip(self._read.ops, self._read.graph.nodes, strict=True):
            if isinstance(op, Edge) and self._dims(op.targets[0]) != node.run.layouts[-1].dims:
                op.cut(self._sharding(node.run.layouts[-1].dims))
        for number, binding in zip(self._read.numbers, self._read.bindings, strict=True):
            if self._read.graph.values[number].is_free:
                self._make_for_each(binding)
            else:
                self._deliver(number, binding)
        for op in reversed(self._read.transfers):
            erase(op)

    def _need(self, use: Use) -> Layout:
        return use.layout if use.end is None else self._state.layouts(use.end.node)[use.end.place]

    def _make_for_each(self, binding: Binding) -> None:
        """A free value is made anew for each layout that it is wanted in."""
        op = binding.value.owner
        assert isinstance(op, Operation)  # what is free is made by an op
        made: dict[Layout, SSAValue] = {}
        for use in binding.uses:
            need = self._need(use)
            if need not in made:
                made[need] = (
                    insert(op.clone(), InsertPoint.after(op), op.location).results[0] if made else op.results[0]
                )
                if self._dims(made[need]) != need.dims:
                    set_sharding(made[need], self._sharding(need.dims))
            _read_instead(use.source, made[need])

    def _deliver(self, number: int, binding: Binding) -> None:
        """Bring a value to its home, and from there to all who read it."""
        layout, home = self._state.layout(number), self._state.home(number)
        if layout.dims != binding.layout.dims and isinstance(binding.value.owner, Operation):
            set_sharding(binding.value, self._sharding(layout.dims))
        there = {layout: binding.value}
        if home != layout:
            readers = [use for use in binding.uses if self._need(use) != layout]
            there[home] = self._transfer(binding, binding.value, (layout, home), readers)
        for need in dict.fromkeys(map(self._need, binding.uses)):
            readers = [use for use in binding.uses if self._need(use) == need]
            if need not in there:
                there[need] = self._transfer(binding, there[home], (home, need), readers)
            for use in readers:
                _read_instead(use.source, there[need])

    def _transfer(
        self, binding: Binding, value: SSAValue, ends: tuple[Layout, Layout], readers: Sequence[Use]
    ) -> SSAValue:
        """Bring a value from one layout to another: at once where it gets smaller by that, else when it is read."""
        source, target = ends
        tensor = Tensor(static_shape(value.type) or (), element_bytes(element_type_of(value)))
        reduction = self._state.transfers.way(source, target, tensor).reduction
        dims = source.dims if reduction is None else reduction.dims
        if reduction is not None:
            value = self._reduced(binding, value, source.dims, reduction)
        if dims != target.dims:
            elements = self._state.atoms.elements
            grows = elements(tensor.shape, target.dims) > elements(tensor.shape, dims)
            point = self._before_first(value, readers) if grows else after_definition(value)
            value = insert(reshard(value, self._sharding(target.dims)), point, location_of(value)).result
        return value

    def _before_first(self, value: SSAValue, readers: Sequence[Use]) -> InsertPoint:
        """Before the first op that reads a value, or has one inside that does, in the block of the value."""
        block = block_of(value)
        assert block is not None  # the op is in a module
        first = min((ancestor_in(block, use.source.op) for use in readers), key=self._position)
        return InsertPoint.before(first)

    def _position(self, op: Operation) -> int:
        return self._read.positions[op]

    def _reduced(self, binding: Binding, value: SSAValue, dims: Dims, reduction: Reduction) -> SSAValue:
        if any(reduction.sliced):
            dims = _longer(dims, reduction.sliced)
            value = _put(AllSliceOp(value, self._axes(reduction.sliced), self._sharding(dims)), value)
        if any(reduction.scattered):
            dims = _longer(dims, reduction.scattered)
            axes = self._axes(reduction.scattered)
            value = _put(ReduceScatterOp(value, axes, self._sharding(dims), binding.kind), value)
        if reduction.reduced:
            axes = sort_and_merge(self._state.atoms.join(reduction.reduced), self._state.atoms.mesh)
            value = _put(AllReduceOp(value, axes, self._sharding(dims), binding.kind), value)
        return value

    def _axes(self, dims: Dims) -> AxesPerDim:
        return tuple(self._state.atoms.join(cut) for cut in dims)

    def _sharding(self, dims: Dims) -> TensorSharding:
        return TensorSharding(self._mesh, tuple(map(DimSharding, self._axes(dims))))

    def _dims(self, value: SSAValue) -> Dims:
        """How the module says that a value is cut."""
        sharding = sharding_of(value)
        if sharding is None:
            return ((),) * len(static_shape(value.type) or ())
        return tuple(self._state.atoms.split(dim.axes) or () for dim in sharding.dims)


def _read_instead(source: EdgeSource, value: SSAValue) -> None:
    if source.value is not value:
        source.op.operands[source.index] = value


def _put(op: Operation, value: SSAValue) -> SSAValue:
    return insert(op, after_definition(value), location_of(value)).results[0]


def _longer(dims: Dims, more: Dims) -> Dims:
    return tuple(cut + added for cut, added in zip(dims, more, strict=True))
