"""What the rules of padding share: how large values were, what their padding holds, and how to change both.

A value is padded at the end of the dims that are cut, and of no others. Source: docs/spec/06, 0.8
and 2.3 to 2.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i32, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import Scalar
from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllGatherOp, AllSliceOp, CollectiveOp, ReplicatedToUnreducedOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.shape import IotaOp
from sdy.grammar.write import write_sharding
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import fully_closed_like, with_dim
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of, with_element, with_shape
from sdy.partitioner.emit.sharded_emitter import annotated, first_elements_mask, padded_to, trimmed_to, zero_scalar
from sdy.partitioner.padding.partial import sum_behind, summed_axes

Sizes = tuple[int, ...]
Rule = Callable[["Padder"], None]  # adapts one op of a program to operands that are padded already


class Padder:
    """A module on its way to dims that divide.

    Without a plan, the shardings of values say how large they become, and reshards are collectives already. With one,
    it says so: no device has to be able to do its part alone then, since reshards are still to come.
    """

    def __init__(self, module: ModuleOp, planned: Mapping[SSAValue, Sizes] | None = None) -> None:
        self._meshes = meshes_of(module)
        self._planned = None if planned is None else dict(planned)
        self._trimmed: dict[SSAValue, SSAValue] = {}
        self._style = Style()
        self._true_sizes: dict[SSAValue, Sizes] = {}
        self._zero_padded: set[SSAValue] = set()

    # What is known of values

    def true_sizes(self, value: SSAValue) -> Sizes:
        """The dims of `value` without padding."""
        return self._true_sizes.get(value) or shape_of(value)

    def padded_dims(self, value: SSAValue) -> list[int]:
        """The dims of `value` that have padding."""
        own = self._true_sizes.get(value)
        return [] if own is None else [dim for dim, size in enumerate(shape_of(value)) if size != own[dim]]

    def is_padded(self, value: SSAValue) -> bool:
        """Whether any dim of `value` has padding."""
        return value in self._true_sizes

    def is_zero_padded(self, value: SSAValue) -> bool:
        """Whether all the padding that `value` has is known to be zero."""
        return value in self._zero_padded or not self.is_padded(value)

    def cuts(self, value: SSAValue) -> tuple[AxisList, ...]:
        """The axes that cut each dim of a tensor."""
        sharding = sharding_of(value)
        if sharding is None or not sharding.dims:
            return ((),) * len(shape_of(value))
        return tuple(dim.axes for dim in sharding.dims)

    def mesh(self, sharding: TensorSharding | None) -> Mesh | None:
        """The mesh of a sharding, if it has one."""
        return None if sharding is None else resolve_mesh(sharding.mesh, self._meshes)

    def even_sizes(self, sizes: Sizes, sharding: TensorSharding | None) -> Sizes:
        """The sizes, rounded up to what the axes of the sharding divide."""
        mesh = self.mesh(sharding)
        if sharding is None or mesh is None or sharding.is_fully_replicated:
            return sizes
        counts = [sharded_size(dim.axes, mesh) for dim in sharding.dims]
        return tuple(-(-size // count) * count for size, count in zip(sizes, counts, strict=True))

    def wanted(self, value: SSAValue) -> Sizes:
        """The dims that `value`, a tensor of known shape, is to have."""
        if self._planned is not None:
            return self._planned.get(value, shape_of(value))
        return self.even_sizes(shape_of(value), sharding_of(value))

    @property
    def is_before_reshards(self) -> bool:
        """Whether elements may still move between shards."""
        return self._planned is not None

    def shard_count(self, value: SSAValue, dim: int) -> int:
        """Into how many pieces a dim is cut."""
        sharding = sharding_of(value)
        mesh = self.mesh(sharding)
        return 1 if mesh is None else sharded_size(self.cuts(value)[dim], mesh)

    # Changing values

    def emitter(self, before: Operation) -> Emitter:
        """Emits in front of `before`."""
        return Emitter(before, self._style)

    def note(self, value: SSAValue, true_sizes: Sizes, *, is_zero: bool = False) -> SSAValue:
        """Remember how large `value` is without padding, and whether the padding is zero; `value`."""
        if shape_of(value) != true_sizes:
            self._true_sizes[value] = true_sizes
            if is_zero:
                self._zero_padded.add(value)
        return value

    def resize(self, value: SSAValue, sizes: Sizes, *, is_zero: bool = False) -> None:
        """Give a value, which its op will compute with padding, its new dims."""
        true_sizes = self.true_sizes(value)
        if shape_of(value) != sizes:
            value = Rewriter.replace_value_with_new_type(value, with_shape(value, sizes))
        self.note(value, true_sizes, is_zero=is_zero)

    def make_even(self, values: Iterable[SSAValue], *, is_zero: bool = False) -> None:
        """Give values, of known ranked shapes, dims that divide."""
        for value in tuple(values):
            if is_static(value):
                self.resize(value, self.wanted(value), is_zero=is_zero)

    def replace(self, op: Operation, *values: SSAValue) -> None:
        """Let `values` stand for the results of `op`, which goes."""
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value)
        op.detach()
        op.erase()

    # Padding

    def grown(self, emit: Emitter, value: SSAValue, sizes: Sizes) -> SSAValue:
        """`value` with further zeros at the end of dims that are not cut."""
        if shape_of(value) == sizes:
            return value
        padded = padded_to(emit, value, zero_scalar(emit, value), sizes, sharding_of(value))
        return self.note(padded, self.true_sizes(value), is_zero=self.is_zero_padded(value))

    def shrunk(self, emit: Emitter, value: SSAValue, dims: Iterable[int]) -> SSAValue:
        """`value` without the padding of some dims, which are not cut."""
        own, sizes = self.true_sizes(value), list(shape_of(value))
        for dim in dims:
            sizes[dim] = own[dim]
        if tuple(sizes) == shape_of(value):
            return value
        trimmed = trimmed_to(emit, value, sizes, sharding_of(value))
        return self.note(trimmed, own, is_zero=self.is_zero_padded(value))

    def masked(self, emit: Emitter, value: SSAValue, filler: SSAValue, dims: Iterable[int]) -> SSAValue:
        """`value` with `filler`, a scalar, in the padding of some dims."""
        chosen = [dim for dim in self.padded_dims(value) if dim in set(dims)]
        if not chosen:
            return value
        own, sharding = self.true_sizes(value), sharding_of(value)
        mask: SSAValue | None = None
        for dim in chosen:
            inside = self._inside(emit, value, dim)
            mask = inside if mask is None else annotated(emit.binary(elementwise.AndOp, mask, inside), sharding)
        assert mask is not None
        filling = annotated(emit.broadcast(filler, tensor_of(value)), sharding)
        selected = annotated(emit.select(mask, value, filling), sharding)
        return self.note(selected, own)

    def _inside(self, emit: Emitter, value: SSAValue, dim: int) -> SSAValue:
        """Which elements are none of the padding of a dim; before reshards in no more memory than that takes."""
        sharding, end = sharding_of(value), self.true_sizes(value)[dim]
        if self.is_before_reshards:
            return first_elements_mask(emit, value, dim, end, sharding)
        numbers = with_element(value, i32)
        index = annotated(emit.value(IotaOp, [], numbers, {"iota_dimension": IntegerAttr(dim, i64)}), sharding)
        ends = annotated(emit.broadcast(emit.constant(TensorType(i32, []), [end]), numbers), sharding)
        return annotated(emit.compare(ComparisonDirection.LT, index, ends), sharding)

    def masked_by(self, emit: Emitter, value: SSAValue, element: Scalar, dims: Sequence[int]) -> SSAValue:
        """`value` with a constant in the padding of some dims, if it is not there already."""
        filler = DenseElementsAttr.from_values(TensorType(tensor_of(value).element_type, []), [element])
        is_zero = not any(filler.data.raw)  # -0.0 is another filler
        if not set(dims).intersection(self.padded_dims(value)) or (is_zero and self.is_zero_padded(value)):
            return value
        return self.masked(emit, value, emit.constant_of(filler), dims)

    # Gathering

    def gathered(self, emit: Emitter, value: SSAValue, dims: Iterable[int]) -> SSAValue:
        """`value` with some dims whole on every device, and without padding there."""
        sharding = sharding_of(value)
        chosen = [dim for dim in dims if self.cuts(value)[dim]]
        if sharding is None or not chosen:
            return value
        axes = tuple(own if dim in chosen else () for dim, own in enumerate(self.cuts(value)))
        for dim in chosen:
            sharding = with_dim(sharding, dim, DimSharding())
        gather = AllGatherOp(value, axes, sharding)
        return self.shrunk(emit, self._emitted(emit, gather, value), chosen)

    def sliced_into(self, emit: Emitter, value: SSAValue, sharding: TensorSharding, dims: Iterable[int]) -> SSAValue:
        """`value`, whose dims `dims` are whole, cut as the sharding has them."""
        chosen = [dim for dim in dims if sharding.dims[dim].axes]
        if not chosen:
            return value
        even = self.even_sizes(self.true_sizes(value), sharding)
        padded = self.grown(emit, value, tuple(even[d] if d in chosen else n for d, n in enumerate(shape_of(value))))
        axes = tuple(dim.axes if index in chosen else () for index, dim in enumerate(sharding.dims))
        return self._emitted(emit, AllSliceOp(padded, axes, sharding), padded)

    def _emitted(self, emit: Emitter, op: CollectiveOp, like: SSAValue) -> SSAValue:
        """The result of a collective, which is as large as its operand."""
        result = emit.value(type(op), [like], like.type, op.properties)
        op.erase()
        return self.note(result, self.true_sizes(like), is_zero=self.is_zero_padded(like))

    def compute_whole(self, op: Operation) -> None:
        """Let every device compute all of `op`, which has no form on padded tensors, and keep its part."""
        if self.is_before_reshards:
            self._compute_trimmed(op)
            return
        emit = self.emitter(op)
        whole = {value: self._whole(emit, value) for value in dict.fromkeys(op.operands)}
        copy = op.clone(value_mapper=dict(whole))
        for old, new in zip(op.results, tuple(copy.results), strict=True):
            if self.is_padded(old):
                Rewriter.replace_value_with_new_type(new, with_shape(new, self.true_sizes(old)))
        copy.location = op.location
        assert op.parent is not None
        op.parent.insert_op_before(copy, op)
        results = [self._cut_again(emit, result) for result in tuple(copy.results)]
        self.replace(op, *(self._part_of(emit, *pair) for pair in zip(op.results, results, strict=True)))

    def _whole(self, emit: Emitter, value: SSAValue) -> SSAValue:
        return self.gathered(emit, value, range(len(shape_of(value)))) if is_static(value) else value

    def _cut_again(self, emit: Emitter, result: SSAValue) -> SSAValue:
        """A result of an op that was made to compute on whole tensors, cut as it was."""
        sharding = sharding_of(result)
        if sharding is None or sharding.is_fully_replicated or not is_static(result):
            return result
        set_sharding(result, fully_closed_like(sharding))
        return self.sliced_into(emit, result, sharding, range(sharding.rank))

    def _part_of(self, emit: Emitter, old: OpResult, whole: SSAValue) -> SSAValue:
        """A sum that every device has whole, on one of those alone whose parts are added up behind."""
        behind = sum_behind(old.op, old)
        if behind is None:
            return whole
        sharding = sharding_of(whole) or fully_closed_like(behind.out_sharding.data)
        mesh = self.mesh(sharding)
        assert mesh is not None  # verified
        axes = summed_axes(behind, mesh)
        set_sharding(whole, sharding)
        return self._emitted(emit, ReplicatedToUnreducedOp(whole, axes, replace(sharding, unreduced=axes)), whole)

    def _compute_trimmed(self, op: Operation) -> None:
        """Let `op` compute what it did without padding, and pad its results."""
        for index, operand in enumerate(op.operands):
            op.operands[index] = self.trimmed(operand)
        for result in op.results:
            if is_static(result) and self.wanted(result) != shape_of(result):
                self.pad_behind(result)

    def trimmed(self, value: SSAValue) -> SSAValue:
        """`value` without padding, whole along the dims that had some."""
        if not self.is_padded(value):
            return value
        if value not in self._trimmed:
            emit = self._emitter_behind(value)
            sharding = self._whole_along(value, self.padded_dims(value))
            self._trimmed[value] = trimmed_to(emit, value, self.true_sizes(value), sharding)
        return self._trimmed[value]

    def pad_behind(self, value: SSAValue) -> None:
        """Let all users of `value` have it with padding, whole along the dims that get some."""
        wanted, own = self.wanted(value), shape_of(value)
        sharding = self._whole_along(value, [dim for dim, size in enumerate(wanted) if size != own[dim]])
        emit = self._emitter_behind(value)
        padded = padded_to(emit, value, zero_scalar(emit, value), wanted, sharding)
        value.replace_uses_with_if(padded, lambda use: use.operation is not padded.owner)
        self.note(padded, own, is_zero=True)
        if self._planned is not None:
            del self._planned[value]

    def _whole_along(self, value: SSAValue, dims: Iterable[int]) -> TensorSharding | None:
        sharding = sharding_of(value)
        if sharding is not None and sharding.dims:
            for dim in dims:
                sharding = with_dim(sharding, dim, DimSharding())
        return sharding

    def _emitter_behind(self, value: SSAValue) -> Emitter:
        """Emits right behind what gives `value`, with the location of that."""
        owner = value.owner
        next_op = owner.first_op if isinstance(owner, Block) else owner.next_op
        giver = op_of(value)
        assert next_op is not None  # a block has a terminator
        assert giver is not None
        return Emitter(next_op, self._style, giver.location)

    def refuse(self, op: Operation, value: SSAValue) -> SdyError:
        """The error for an op that no padding of `value` fits on both sides."""
        sharding = sharding_of(value)
        cut = "" if sharding is None else f" that {write_sharding(sharding)} cuts"
        message = f"{op.name}: no padding fits on both sides a tensor of size {self.true_sizes(value)}{cut} unevenly"
        hint = "keep the dim whole, or use a size that the axes divide"
        return SdyError(Diagnostic("SDY-L014", message, span_of(op), hint=hint))


def is_static(value: SSAValue) -> bool:
    """Whether `value` is a tensor of known shape."""
    return static_shape(value.type) is not None


def constant_with(elements: DenseElementsAttr, sizes: Sizes) -> DenseElementsAttr:
    """The constant with zeros behind its last elements along each dim; a splat is just larger."""
    larger = TensorType(elements.type.get_element_type(), list(sizes))
    if elements.is_splat:
        return DenseElementsAttr.from_bytes(larger, elements.data.raw)
    width = elements.data.codec.byte_width
    return DenseElementsAttr.from_bytes(
        larger, _padded_rows(elements.data.raw, elements.type.get_shape(), sizes, width)
    )


def _padded_rows(raw: bytes, before: Sequence[int], after: Sequence[int], width: int) -> bytes:
    """Row-major elements of `width` bytes with zeros put behind them along each dim."""
    if not before:
        return raw
    row = len(raw) // before[0] if before[0] else 0
    rows = [_padded_rows(raw[i * row : (i + 1) * row], before[1:], after[1:], width) for i in range(before[0])]
    joined = b"".join(rows)
    size = width
    for each in after:
        size *= each
    return joined.ljust(size, b"\0")
