"""Rewrites that the padding rules share: resize, extend, trim, mask, gather and slice values.

A value is padded at the end of sharded dims only. Source: docs/spec/06, 0.8 and 2.3 to 2.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import Scalar
from sdy.dialects.data_flow import op_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.collectives import AllGatherOp, AllSliceOp, CollectiveOp
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.grammar.write import write_sharding
from sdy.model.shape import StaticShape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import with_dim
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of, with_element, with_shape
from sdy.partitioner.emit.sharded_emitter import annotated, first_elements_mask, padded_to, trimmed_to, zero_scalar
from sdy.partitioner.padding.facts import PaddingFacts, is_static


class Padder:
    """Rewrites the values of a module until their dims divide. `facts` describe the values."""

    def __init__(self, module: ModuleOp, planned: Mapping[SSAValue, StaticShape] | None = None) -> None:
        self.facts = PaddingFacts(module, planned)
        self._style = Style()
        self._trimmed: dict[SSAValue, SSAValue] = {}

    def emitter(self, before: Operation) -> Emitter:
        """Return an emitter that inserts ops before `before`."""
        return Emitter(before, self._style)

    def _emitter_after(self, value: SSAValue) -> Emitter:
        """Return an emitter that inserts ops right after the definition of `value`, with its location."""
        owner = value.owner
        next_op = owner.first_op if isinstance(owner, Block) else owner.next_op
        producer = op_of(value)
        assert next_op is not None  # a block has a terminator
        assert producer is not None
        return Emitter(next_op, self._style, producer.location)

    # Rewrites in place

    def resize(self, value: SSAValue, sizes: StaticShape, *, is_zero: bool = False) -> None:
        """Set the sizes of a value whose op computes the padding along with it."""
        true_sizes = self.facts.true_sizes(value)
        if shape_of(value) != sizes:
            value = Rewriter.replace_value_with_new_type(value, with_shape(value, sizes))
        self.facts.record(value, true_sizes, is_zero=is_zero)

    def resize_to_targets(self, values: Iterable[SSAValue], *, is_zero: bool = False) -> None:
        """Resize values of static shape to their target sizes."""
        for value in tuple(values):
            if is_static(value):
                self.resize(value, self.facts.target_sizes(value), is_zero=is_zero)

    def replace(self, op: Operation, *values: SSAValue) -> None:
        """Replace the results of `op` by `values`, and erase it."""
        Rewriter.replace_op(op, [], values)

    def pad_uses(self, value: SSAValue) -> None:
        """Replace `value` in all users by a padded copy, which is unsharded along the dims that get padding."""
        target, own = self.facts.target_sizes(value), shape_of(value)
        sharding = _unsharded_along(value, [dim for dim, size in enumerate(target) if size != own[dim]])
        emit = self._emitter_after(value)
        padded = padded_to(emit, value, zero_scalar(emit, value), target, sharding)
        value.replace_uses_with_if(padded, lambda use: use.operation is not padded.owner)
        self.facts.record(padded, own, is_zero=True)
        self.facts.keep_sizes(value)

    # New values

    def extended(self, emit: Emitter, value: SSAValue, sizes: StaticShape) -> SSAValue:
        """Return `value` with further zeros at the end of unsharded dims."""
        if shape_of(value) == sizes:
            return value
        padded = padded_to(emit, value, zero_scalar(emit, value), sizes, sharding_of(value))
        return self.facts.record(padded, self.facts.true_sizes(value), is_zero=self.facts.is_zero_padded(value))

    def trimmed_along(self, emit: Emitter, value: SSAValue, dims: Iterable[int]) -> SSAValue:
        """Return `value` without the padding of some dims, which are unsharded."""
        own, sizes = self.facts.true_sizes(value), list(shape_of(value))
        for dim in dims:
            sizes[dim] = own[dim]
        if tuple(sizes) == shape_of(value):
            return value
        trimmed = trimmed_to(emit, value, sizes, sharding_of(value))
        return self.facts.record(trimmed, own, is_zero=self.facts.is_zero_padded(value))

    def trimmed(self, value: SSAValue) -> SSAValue:
        """Return `value` without padding, unsharded along the dims that had padding."""
        if not self.facts.is_padded(value):
            return value
        if value not in self._trimmed:
            emit = self._emitter_after(value)
            sharding = _unsharded_along(value, self.facts.padded_dims(value))
            self._trimmed[value] = trimmed_to(emit, value, self.facts.true_sizes(value), sharding)
        return self._trimmed[value]

    def masked(self, emit: Emitter, value: SSAValue, filler: SSAValue, dims: Iterable[int]) -> SSAValue:
        """Return `value` with `filler`, a scalar, in the padding of some dims."""
        chosen = [dim for dim in self.facts.padded_dims(value) if dim in set(dims)]
        if not chosen:
            return value
        own, sharding = self.facts.true_sizes(value), sharding_of(value)
        mask: SSAValue | None = None
        for dim in chosen:
            inside = _true_elements_mask(emit, value, dim, self.facts)
            mask = inside if mask is None else annotated(emit.binary(elementwise.AndOp, mask, inside), sharding)
        assert mask is not None
        filling = annotated(emit.broadcast(filler, tensor_of(value)), sharding)
        selected = annotated(emit.select(mask, value, filling), sharding)
        return self.facts.record(selected, own)

    def masked_with(self, emit: Emitter, value: SSAValue, element: Scalar, dims: Sequence[int]) -> SSAValue:
        """Return `value` with a constant in the padding of some dims; `value` itself if it is known to be there."""
        filler = DenseElementsAttr.from_values(TensorType(tensor_of(value).element_type, []), [element])
        is_zero = not any(filler.data.raw)  # -0.0 is another filler
        has_padding = bool(set(dims).intersection(self.facts.padded_dims(value)))
        if not has_padding or (is_zero and self.facts.is_zero_padded(value)):
            return value
        return self.masked(emit, value, emit.constant_of(filler), dims)

    # Collectives

    def gathered(self, emit: Emitter, value: SSAValue, dims: Iterable[int]) -> SSAValue:
        """Return `value` with some dims unsharded, and without padding there."""
        sharding, axes_per_dim = sharding_of(value), self.facts.shardings.axes_per_dim(value)
        chosen = [dim for dim in dims if axes_per_dim[dim]]
        if sharding is None or not chosen:
            return value
        axes = tuple(own if dim in chosen else () for dim, own in enumerate(axes_per_dim))
        for dim in chosen:
            sharding = with_dim(sharding, dim, DimSharding())
        gather = AllGatherOp(value, axes, sharding)
        return self.trimmed_along(emit, self.collective_result(emit, gather, value), chosen)

    def sliced(self, emit: Emitter, value: SSAValue, sharding: TensorSharding, dims: Iterable[int]) -> SSAValue:
        """Return `value`, which is unsharded along `dims`, resharded to `sharding` by a slice, with padding."""
        chosen = [dim for dim in dims if sharding.dims[dim].axes]
        if not chosen:
            return value
        even = self.facts.even_sizes(self.facts.true_sizes(value), sharding)
        padded = self.extended(emit, value, tuple(even[d] if d in chosen else n for d, n in enumerate(shape_of(value))))
        axes = tuple(dim.axes if index in chosen else () for index, dim in enumerate(sharding.dims))
        return self.collective_result(emit, AllSliceOp(padded, axes, sharding), padded)

    def collective_result(self, emit: Emitter, op: CollectiveOp, operand: SSAValue) -> SSAValue:
        """Insert a collective, whose result has the sizes of its operand."""
        return self.facts.record(
            emit.add(op), self.facts.true_sizes(operand), is_zero=self.facts.is_zero_padded(operand)
        )


def _true_elements_mask(emit: Emitter, value: SSAValue, dim: int, facts: PaddingFacts) -> SSAValue:
    """Return a mask of the elements that are not padding of a dim. Before reshards, the iota has rank 1."""
    sharding, end = sharding_of(value), facts.true_sizes(value)[dim]
    if facts.is_before_reshards:
        return first_elements_mask(emit, value, dim, end, sharding)
    numbers = with_element(value, i32)
    index = annotated(emit.iota(numbers, dim), sharding)
    ends = annotated(emit.broadcast(emit.constant(TensorType(i32, []), [end]), numbers), sharding)
    return annotated(emit.compare(ComparisonDirection.LT, index, ends), sharding)


def _unsharded_along(value: SSAValue, dims: Iterable[int]) -> TensorSharding | None:
    sharding = sharding_of(value)
    if sharding is not None and sharding.dims:
        for dim in dims:
            sharding = with_dim(sharding, dim, DimSharding())
    return sharding


def padding_error(op: Operation, value: SSAValue, facts: PaddingFacts) -> SdyError:
    """Return the error for an op that would require two different paddings of `value`."""
    sharding = sharding_of(value)
    suffix = "" if sharding is None else f" with sharding {write_sharding(sharding)}"
    message = f"{op.name}: expected axes that divide a tensor of shape {facts.true_sizes(value)}{suffix}"
    message += "; its padding would differ before and after the op"
    hint = "leave the dim unsharded, or use a size that its axes divide"
    return SdyError(Diagnostic("SDY-L014", message, span_of(op), hint=hint))
