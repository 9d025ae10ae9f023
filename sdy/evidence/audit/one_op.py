"""Run a single op of a program by itself, on many inputs at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.fast_ops import set_type
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.meshes import enclosing_module
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.devices.grid import grid_of
from sdy.interpreter.executor import Executor
from sdy.interpreter.host import Host
from sdy.interpreter.kernel import KernelContext
from sdy.model.shape import StaticShape

FUNCTION = "audited_op"
Bools = NDArray[np.bool_]


class OneOp:
    """An op as a function of its operands, compiled once.

    Operands that are constants in the program stay constants. `shapes[i]` and `dtypes[i]` describe operand `i`, and
    `inputs` are the indices of the operands that are not constants.

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
        self.inputs = tuple(index for index, operand in enumerate(op.operands) if not _is_constant(operand))
        self._executor = Executor(self._module())

    @cached_property
    def elements(self) -> int:
        """The number of pairs of an element of an operand and an element of a result."""
        return _sizes(self.shapes) * _sizes(self.result_shapes)

    def __call__(self, batch: int, operands: Sequence[Array]) -> list[Array]:
        """Run the op `batch` times at once.

        The first dim of each operand counts the runs; its size is `batch`, or 1 for an operand that is the same in all
        runs. `operands` has no entries for constants. Each result has the runs as its first dim, of size `batch`.
        Raises: SdyError if the op cannot be run.
        """
        context = KernelContext(batch=(batch,), grid=grid_of(batch), runner=self._executor, host=Host())
        with np.errstate(all="ignore"):
            results = self._executor.run(context, FUNCTION, tuple(operands))
        return [
            np.broadcast_to(result, (batch, *shape)) for result, shape in zip(results, self.result_shapes, strict=True)
        ]

    def shape_and_dtype(self, position: int) -> tuple[StaticShape, DType]:
        """Return shape and dtype of the input at this position of `inputs`."""
        operand = self.inputs[position]
        return self.shapes[operand], self.dtypes[operand]

    def constant(self, operand: int) -> Array:
        """Return the value of an operand that is a constant, or zeros for another one."""
        owner = self.op.operands[operand].owner
        value = owner.properties.get("value") if isinstance(owner, Operation) else None
        if isinstance(value, DenseElementsAttr):
            return array_of(value.data)
        return np.zeros(self.shapes[operand], self.dtypes[operand])

    def _module(self) -> ModuleOp:
        """Return a module with a copy of the op in a function of its inputs, and the functions of the op's module.

        An operand that is used twice becomes two arguments.
        """
        kinds = [_reshaped(self.op.operands[index].type, self.shapes[index]) for index in self.inputs]
        block = Block(arg_types=kinds)
        arguments = dict(zip(self.inputs, block.args, strict=True))
        copy = self.op.clone()
        copy.operands = [
            arguments[index] if index in arguments else _copy_in(block, operand)
            for index, operand in enumerate(self.op.operands)
        ]
        for result, shape in zip(copy.results, self.result_shapes, strict=True):
            set_type(result, _reshaped(result.type, shape))
        block.add_ops([copy, ReturnOp(*copy.results)])
        kind = FunctionType.from_lists(kinds, [each.type for each in copy.results])
        module = enclosing_module(self.op)
        others = [] if module is None else [each.clone() for each in functions_of(module).values()]
        return ModuleOp([FuncOp(FUNCTION, kind, Region(block)), *others])


def _copy_in(block: Block, constant: SSAValue) -> SSAValue:
    """Add a copy of a constant to the block, and return its value."""
    assert isinstance(constant.owner, Operation)
    copy = constant.owner.clone()
    block.add_op(copy)
    return copy.results[0]


def _reshaped(kind: Attribute, shape: StaticShape) -> Attribute:
    """Return the type of a tensor with another shape; other types as they are."""
    tensor = as_tensor(kind)
    return kind if tensor is None or tensor.get_shape() == shape else TensorType(tensor.element_type, shape)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp | ShardedConstantOp)


def _sizes(shapes: Sequence[StaticShape]) -> int:
    return sum(int(np.prod(shape)) for shape in shapes)
