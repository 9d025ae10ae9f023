"""Run a single op of a program by itself, on many inputs at once.

Numbers of a finite field stand for floats, so that what the op gives is exact, unless it calls a kernel of floats.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.fast_ops import set_type
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.evidence.runs.comparison import compare, compare_exactly
from sdy.evidence.runs.draws import SMALL, random_numbers
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type, is_bool, is_complex, is_float, is_signed
from sdy.interpreter.arrays.field_types import is_field, of_parts
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.devices.grid import grid_of
from sdy.interpreter.executor import Executor
from sdy.interpreter.field.folds import FieldFold
from sdy.interpreter.field.numbers import Field, field_of_draw
from sdy.interpreter.host import Host
from sdy.interpreter.kernel import KernelContext
from sdy.interpreter.ops.reduction import FOLDS, AnyFold
from sdy.model.shape import StaticShape
from sdy.passes.rewriting.field_types import computes_floats, with_field_types

LARGEST_INTEGER = 4  # small enough to be an index that is in range in some runs, and out of range in others


def draw(random: np.random.Generator, shape: StaticShape, dtype: DType, field: Field | None, round_: int) -> Array:
    """Return a random array; numbers of the field, if there is one, in place of floats.

    In every other round, numbers of the field are small ones, and floats are positive.
    """
    if is_float(dtype) or is_complex(dtype):
        count = 1 + is_complex(dtype)
        if field is not None:
            numbers = (random_numbers(random, shape, field, is_small=round_ % 2 > 0) for _ in range(count))
            return of_parts(*numbers)
        parts = [random.uniform(0 if round_ % 2 else -SMALL, SMALL, shape) / 16 for _ in range(count)]
        return np.asarray(parts[0] if count == 1 else parts[0] + 1j * parts[1]).astype(dtype)
    if is_bool(dtype):
        return np.asarray(random.random(shape) < 0.5).astype(dtype)
    return random.integers(-1 if is_signed(dtype) else 0, LARGEST_INTEGER, shape, endpoint=True).astype(dtype)


def with_each_element_changed(random: np.random.Generator, array: Array, dtype: DType, field: Field | None) -> Array:
    """Return the array itself, and a copy for each of its elements in which this element has another value.

    The result has shape (elements + 1, *shape).
    """
    flat = array.reshape(-1)
    copies = np.repeat(flat[None], flat.size + 1, axis=0)
    if is_bool(dtype):
        other: Array = np.logical_not(flat)
    else:
        other = draw(random, (flat.size,), dtype, field, 0)  # floats and numbers of the field are other ones
        if not is_field(flat.dtype):
            other = np.where(other == flat, np.add(flat, np.ones((), flat.dtype)), other).astype(flat.dtype)
    places = np.arange(flat.size)
    copies[places + 1, places] = other
    return copies.reshape(flat.size + 1, *array.shape)


FUNCTION = "audited_op"
CONSTANTS = ConstantOp | ShardedConstantOp
Bools = NDArray[np.bool_]


class OneOp:
    """An op as a function of its operands, compiled once.

    Operands that are constants in the program stay constants. `shapes[i]` and `dtypes[i]` describe operand `i` in the
    program, and `inputs` are the indices of the operands that are not constants. `field` has the numbers that stand for
    floats; it is None for the kernel of a user, which computes floats.

    Raises: SdyError if an operand or result is not a tensor of static shape, or if the op has no kernel.
    """

    def __init__(
        self, op: Operation, shapes: Sequence[StaticShape] | None = None, results: Sequence[StaticShape] | None = None
    ) -> None:
        """Compile the op, on tensors of other shapes than its own if these are given."""
        self.op = op
        self.shapes = tuple(shapes or [static_shape(operand.type) or () for operand in op.operands])
        self.result_shapes = tuple(results or [static_shape(result.type) or () for result in op.results])
        self.dtypes = tuple(dtype_of_type(operand.type) for operand in op.operands)
        operands = enumerate(op.operands)
        self.inputs = tuple(index for index, each in operands if not isinstance(each.owner, CONSTANTS))
        self.field = None if computes_floats(op) else field_of_draw(np.random.default_rng(0))
        module = self._module()
        self._executor = Executor(module if self.field is None else with_field_types(module))

    def __call__(self, batch: int, operands: Sequence[Array]) -> list[Array]:
        """Run the op `batch` times at once.

        The first dim of each operand counts the runs; its size is `batch`, or 1 for an operand that is the same in all
        runs. `operands` has no entries for constants. Each result has the runs as its first dim, of size `batch`.
        Raises: SdyError if the op cannot be run.
        """
        context = KernelContext(
            batch=(batch,), grid=grid_of(batch), runner=self._executor, host=Host(), field=self.field
        )
        with np.errstate(all="ignore"):
            results = self._executor.run(context, FUNCTION, tuple(operands))
        return [
            np.broadcast_to(result, (batch, *shape)) for result, shape in zip(results, self.result_shapes, strict=True)
        ]

    def drawn(self, random: np.random.Generator, round_: int) -> list[Array]:
        """Return random inputs; the round says of which kind."""
        return [draw(random, self.shapes[each], self.dtypes[each], self.field, round_) for each in self.inputs]

    def constant(self, operand: int) -> Array:
        """Return the value of an operand that is a constant, or zeros for another one."""
        owner = self.op.operands[operand].owner
        value = owner.properties.get("value") if isinstance(owner, Operation) else None
        if isinstance(value, DenseElementsAttr):
            return self.filled(array_of(value.data), self.dtypes[operand])
        return self.filled(np.zeros(self.shapes[operand]), self.dtypes[operand])

    def filled(self, numbers: Array, dtype: DType) -> Array:
        """Return given numbers as elements that stand for a dtype."""
        field = self.field
        if field is None or not (is_float(dtype) or is_complex(dtype)):
            return numbers.astype(dtype)
        parts = (np.real(numbers), np.imag(numbers)) if is_complex(dtype) else (numbers,)
        return of_parts(*(field.of_array(part) for part in parts))

    def fold(self, combiner: type[Operation], dtype: DType) -> AnyFold:
        """Return the reduction of elements of a dtype by an op."""
        return FOLDS[combiner] if self.field is None or not is_field(dtype) else FieldFold(self.field, combiner)

    def are_equal(self, found: Array, expected: Array) -> bool:
        """Return whether two results are equal; those of kernels of users may differ by rounding."""
        compared = (
            compare(0, found, expected) if self.field is None else compare_exactly(0, found, expected, self.field)
        )
        return compared.agrees

    def _module(self) -> ModuleOp:
        """Return a module with a copy of the op in a function of its inputs, and the functions of the op's module.

        An operand that is used twice becomes two arguments.
        """
        kinds = [_reshaped(self.op.operands[index].type, self.shapes[index]) for index in self.inputs]
        block = Block(arg_types=kinds)
        arguments = dict(zip(self.inputs, block.args, strict=True))
        copy = self.op.clone()
        constants = [each.owner.clone() for each in self.op.operands if isinstance(each.owner, CONSTANTS)]
        block.add_ops(constants)
        results = (each.results[0] for each in constants)
        copy.operands = [arguments[index] if index in arguments else next(results) for index in range(len(self.dtypes))]
        for result, shape in zip(copy.results, self.result_shapes, strict=True):
            set_type(result, _reshaped(result.type, shape))
        block.add_ops([copy, ReturnOp(*copy.results)])
        kind = FunctionType.from_lists(kinds, [each.type for each in copy.results])
        module = enclosing(self.op, ModuleOp)
        others = [] if module is None else [each.clone() for each in functions_of(module).values()]
        return ModuleOp([FuncOp(FUNCTION, kind, Region(block)), *others])


def _reshaped(kind: Attribute, shape: StaticShape) -> Attribute:
    """Return the type of a tensor with another shape; other types as they are."""
    tensor = as_tensor(kind)
    return kind if tensor is None or tensor.get_shape() == shape else TensorType(tensor.element_type, shape)
