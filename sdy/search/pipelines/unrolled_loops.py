"""Unroll the loops over layers, and divide the arrays that have a slice for each layer.

    while (%i = 0, %x = %a, %s = %w) { %1 = dynamic_slice %s, %i   %2 = dot %x, %1   ... }     %w: tensor<4x8x8xf32>

becomes the ops of four layers, each with an argument `tensor<1x8x8xf32>` in place of its slice. What is computed from
such arrays layer by layer, as an optimizer does, is divided too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from sdy.cost.executions import trip_count
from sdy.cost.kernels.attention import Number, UnknownValueError, computed_element, constant_element
from sdy.dialects.facts.traits import combiners_of, is_elementwise, is_terminator, terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, set_type
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import of_class, ops_in
from sdy.dialects.sharded_types import tensor_bytes
from sdy.dialects.splats import repeated_value
from sdy.dialects.stablehlo.attributes.types import AnyTensor, as_tensor, shape_of
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, ReshapeOp, TransposeOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp, DynamicUpdateSliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.slices import slice_along
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.structural_hash import used_from_outside
from sdy.search.pipelines.extraction import Extraction

LEAST_LAYERS, MOST_LAYERS = 3, 256


def unrolled_loops(module: ModuleOp) -> tuple[ModuleOp, Sequence[int]]:
    """Return a program whose main function has no loops over layers; the module itself if it has none.

    The second result has for each of its arguments the index of the original one.
    """
    main = main_function(module)
    constant = set[SSAValue]()  # what depends on no argument, such as the mask of attention, which loops share
    for op in ops_in(main.body.block):
        if constant.issuperset(used_from_outside(op)):
            constant.update(op.results)
    loops = {
        loop: trips
        for loop in of_class(ops_in(main.body.block), WhileOp)
        if (trips := trip_count(loop)) is not None and _is_over_layers(loop, trips, constant)
    }
    if not loops:
        return module, range(len(main.body.block.args))
    return _Unrolling(loops).unrolled(main)


def _is_over_layers(loop: WhileOp, trips: int, constant: Collection[SSAValue]) -> bool:
    """Return whether most of what a loop reads has a slice for each iteration; for microbatches, weights are shared."""
    if not LEAST_LAYERS <= trips <= MOST_LAYERS:
        return False
    stacks, end = set(_stacks(loop, trips)), terminator_of(loop.body)
    columns = zip(loop.operands, loop.body.block.args, end.operands, strict=True)
    others = {value for value, argument, returned in columns if argument is not returned}.union(constant)
    read = [value for value in dict.fromkeys(used_from_outside(loop)) if value not in others]
    own = sum(tensor_bytes(value.type) for value in read if value in stacks)
    return 2 * own > sum(tensor_bytes(value.type) for value in read)


def _stacks(loop: WhileOp, trips: int) -> Iterator[SSAValue]:
    """Yield the values in and around a loop of which the body reads or writes one slice per iteration."""
    arguments = loop.body.block.args
    for op in ops_in(loop.body.block):
        if not isinstance(op, DynamicSliceOp | DynamicUpdateSliceOp):
            continue
        stack, part = op.operand, op.result if isinstance(op, DynamicSliceOp) else op.update
        sizes = shape_of(stack)
        if sizes[:1] == (trips,) and shape_of(part) == (1, *sizes[1:]):
            yield stack
            if isinstance(op, DynamicUpdateSliceOp):
                yield op.result
            if isinstance(stack, BlockArgument) and stack in arguments:
                yield loop.operands[stack.index]
                yield loop.results[stack.index]


@dataclass(slots=True)
class _Unrolling:
    """The ops of the main function are copied to `new` one after the other; values are those of the old function.

    A value has a copy in `new.copies`, or one for each layer in `parts`, which are slices along its first dim. The
    numbers are known integers of the new function, such as the counters of loops.
    """

    loops: Mapping[WhileOp, int]  # with how often they run
    new: Extraction = field(default_factory=Extraction)
    stacks: set[SSAValue] = field(default_factory=set[SSAValue])
    parts: dict[SSAValue, Sequence[SSAValue]] = field(default_factory=dict[SSAValue, Sequence[SSAValue]])
    numbers: dict[SSAValue, Number] = field(default_factory=dict[SSAValue, Number])

    def unrolled(self, main: FuncOp) -> tuple[ModuleOp, Sequence[int]]:
        for loop, trips in self.loops.items():
            self.stacks.update(_stacks(loop, trips))
        self._spread(ops_in(main.body.block))
        for op in ops_in(main.body.block):
            if not is_terminator(op):
                self._visit(op)
        returned = [part for value in terminator_of(main.body).operands for part in self._all(value)]
        origins = [value.index for value in self.new.arguments if isinstance(value, BlockArgument)]
        module = self.new.module(returned)
        erase_dead_ops(ops_in(main_function(module).body.block))
        return module, origins

    def _spread(self, ops: Sequence[Operation]) -> None:
        """Add the values that are computed with stacks, layer by layer, such as the state of an optimizer."""
        count = -1
        while count != len(self.stacks):
            count = len(self.stacks)
            for op in ops:
                values = {*op.operands, *op.results}
                if _keeps_layers(op) and not self.stacks.isdisjoint(values):
                    self.stacks |= values

    def _visit(self, op: Operation) -> None:
        """Add the copies of an op, or those of the ops of a loop."""
        match op:
            case WhileOp() if op in self.loops:
                self._unroll(op)
            case DynamicSliceOp() if self._is_divided(op.operand) and (layer := self._layer(op, op.result)) is not None:
                self.new.copies[op.result] = self._divided(op.operand)[layer]
            case DynamicUpdateSliceOp() if self._is_divided(op.operand) and (
                (layer := self._layer(op, op.update)) is not None
            ):
                parts = [*self._divided(op.operand)]
                parts[layer] = self._whole(op.update)
                self._set(op.result, parts)
            case ReshapeOp() if (source := self._before_stack(op)) is not None:
                self.new.copies[op.result] = source
            case ReduceOp() if self._sums_layers(op):
                self._reduce(op)
            case _ if _keeps_layers(op) and any(map(self._is_divided, op.operands)):
                columns = zip(*map(self._divided, op.operands), strict=True)
                copies = [self._part(op, column) for column in columns]
                for index, result in enumerate(op.results):
                    self._set(result, [copy.results[index] for copy in copies])
            case _:
                self._copy(op)

    def _unroll(self, loop: WhileOp) -> None:
        *body, end = ops_in(loop.body.block)
        arguments = loop.body.block.args
        carried = [self._state(value) for value in loop.operands]
        for _ in range(self.loops[loop]):
            for argument, state in zip(arguments, carried, strict=True):
                self._set(argument, state)
            for op in body:
                self._visit(op)
            carried = [self._state(value) for value in end.operands]
        for result, state in zip(loop.results, carried, strict=True):
            self._set(result, state)

    def _state(self, value: SSAValue) -> Sequence[SSAValue] | SSAValue:
        return self._divided(value) if self._is_divided(value) else self._whole(value)

    def _set(self, value: SSAValue, state: Sequence[SSAValue] | SSAValue) -> None:
        self.new.copies.pop(value, None)
        self.parts.pop(value, None)
        if isinstance(state, SSAValue):
            self.new.copies[value] = state
        else:
            self.parts[value] = state

    def _all(self, value: SSAValue) -> Sequence[SSAValue]:
        return self.parts[value] if value in self.parts else [self._whole(value)]

    def _is_divided(self, value: SSAValue) -> bool:
        return value in self.parts or (value in self.stacks and value not in self.new.copies) or self._is_fill(value)

    def _is_fill(self, value: SSAValue) -> bool:
        """Return whether a value is a stack that loops fill: before, all of its elements are equal."""
        return value in self.stacks and _filled(self.new.copies.get(value)) is not None

    def _whole(self, value: SSAValue) -> SSAValue:
        """Return the copy of a value, whose parts are put together."""
        if value not in self.new.copies:
            if value in self.parts:
                self.new.copies[value] = self.new.emit.concatenate(self.parts[value], 0)
            else:
                self.new.copies[value] = self.new.argument(value)
        return self.new.copies[value]

    def _divided(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the part of a value for each layer. Those of a value of equal elements are one."""
        if value not in self.parts:
            count, part = shape_of(value)[0], _part_type(value.type)
            if value in self.new.copies:
                self.parts[value] = self._slices(self.new.copies[value], count, part)
            else:
                self.parts[value] = [self.new.argument(value, part) for _ in range(count)]
        return self.parts[value]

    def _slices(self, value: SSAValue, count: int, part: AnyTensor) -> Sequence[SSAValue]:
        filled = _filled(value)
        if filled is not None:
            return [self.new.emit.broadcast(filled, part)] * count
        return [slice_along(self.new.emit, value, 0, layer, layer + 1) for layer in range(count)]

    def _layer(self, op: DynamicSliceOp | DynamicUpdateSliceOp, part: SSAValue) -> int | None:
        """Return the layer that a slice belongs to; None if it is not known, or if the slice is not that of a layer."""
        if shape_of(part) != (1, *shape_of(op.operand)[1:]):
            return None
        number = self.numbers.get(self._whole(op.start_indices[0]))
        return None if number is None else max(0, min(int(number), shape_of(op.operand)[0] - 1))

    def _part(self, op: Operation, operands: Sequence[SSAValue]) -> Operation:
        """Add the copy of an op for one layer."""
        copy = copy_with_regions(op, dict(zip(op.operands, operands, strict=True)))
        for result in copy.results:
            set_type(result, _part_type(result.type))
        return self.new.append(copy)

    def _before_stack(self, op: ReshapeOp) -> SSAValue | None:
        """Return the value that became a slice of a stack, of which an op returns a copy without the first dim."""
        if self._is_divided(op.operand) or shape_of(op.operand) != (1, *shape_of(op.result)):
            return None
        match self._whole(op.operand).owner:
            case ReshapeOp() as source if source.operand.type == op.result.type:
                return source.operand
            case BroadcastInDimOp() as source if ints_of(source.broadcast_dimensions) == (
                *range(1, len(shape_of(op.operand))),
            ):
                return source.operand
            case _:
                return None

    def _sums_layers(self, op: ReduceOp) -> bool:
        """Return whether an op reduces a divided operand over all layers, with a known combiner."""
        is_one = len(op.inputs) == 1 and self._is_divided(op.inputs[0]) and 0 in ints_of(op.dimensions)
        return is_one and combiners_of(op.body.block) is not None

    def _reduce(self, op: ReduceOp) -> None:
        combiners, initial = combiners_of(op.body.block), self._whole(op.init_values[0])
        assert combiners is not None
        total, *others = (
            self.new.append(copy_with_regions(op, {op.inputs[0]: part, op.init_values[0]: initial})).results[0]
            for part in self._divided(op.inputs[0])
        )
        for each in others:
            total = self.new.emit.binary(combiners[0], total, each)
        self.new.copies[op.results[0]] = total

    def _copy(self, op: Operation) -> None:
        for value in used_from_outside(op):
            self._whole(value)
        for result in op.results:
            self.parts.pop(result, None)
        copy = self.new.append(copy_with_regions(op, self.new.copies))
        if len(op.results) == 1 and not op.regions and not shape_of(op.results[0]):
            try:
                self.numbers[copy.results[0]] = self._number(copy)
            except UnknownValueError:
                return

    def _number(self, op: Operation) -> Number:
        if isinstance(op, ConstantOp):
            return constant_element(op, ())
        if not op.operands or not all(value in self.numbers for value in op.operands):
            raise UnknownValueError
        return computed_element(op, [self.numbers[value] for value in op.operands])


def _keeps_layers(op: Operation) -> bool:
    """Return whether each slice of the results along the first dim follows from the same slices of the operands."""
    counts = {shape_of(value)[:1] for value in (*op.operands, *op.results) if as_tensor(value.type) is not None}
    if op.regions or not op.operands or len(counts) != 1 or counts == {()}:
        return False
    match op:
        case TransposeOp():
            return ints_of(op.permutation)[0] == 0
        case BroadcastInDimOp():
            return ints_of(op.broadcast_dimensions)[0] == 0
        case ReshapeOp():
            return True
        case _:
            return is_elementwise(op)


def _part_type(stack: Attribute) -> AnyTensor:
    tensor = as_tensor(stack)
    assert tensor is not None
    return TensorType(tensor.element_type, [1, *tensor.get_shape()[1:]])


def _filled(value: SSAValue | None) -> SSAValue | None:
    """Return the scalar that all elements of a value are, if it is a broadcast one."""
    scalar = None if value is None else repeated_value(value)
    return None if scalar is value or scalar is None or shape_of(scalar) else scalar
