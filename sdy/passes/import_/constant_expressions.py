"""Which ops of a module compute constants, and which only repeat a scalar. Source: docs/spec/04, 2.4."""

from __future__ import annotations

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.traits import is_terminator
from sdy.dialects.sdy.ops import ConstantOp
from sdy.dialects.sdy.regions import NamedComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, IotaOp, ReshapeOp
from sdy.dialects.stablehlo.slicing import SliceOp
from sdy.passes.rewriting.call_graph import callee_name, original_name
from sdy.passes.rewriting.op_traits import is_elementwise, is_erasable

SOURCES = frozenset[type[Operation]]((ConstantOp, IotaOp))
MOVERS = frozenset[type[Operation]]((BroadcastInDimOp, ReshapeOp, SliceOp))


class ConstantClassifier:
    """What is known of the functions and named computations met so far: those that do more than pass constants on."""

    def __init__(self, functions: dict[str, FuncOp]) -> None:
        self._functions = functions
        self._busy_functions: set[str] = set()  # by original name
        self._busy_computations: set[str] = set()
        self._busy_blocks: set[Block] = set()  # of which all this is known already

    def preserves_constants(self, op: Operation) -> bool:
        """Whether the results of `op` are constant where its operands are."""
        if type(op) is CallOp:
            callee = self._functions.get(callee_name(op))
            return callee is None or original_name(callee) not in self._busy_functions
        if type(op) is NamedComputationOp:
            return op.computation_name.data not in self._busy_computations
        return (type(op) in MOVERS or is_elementwise(op)) and is_erasable(op)

    def is_constant(self, op: Operation, constants: set[int]) -> bool:
        """Whether `op` is a constant expression, given the identities of the constants that come before it."""
        if type(op) in SOURCES:
            return True
        return constants.issuperset(map(id, operands_of(op))) and self.preserves_constants(op)

    def note(self, op: Operation) -> None:
        """What encloses `op`, which is no constant expression, preserves constants only where `op` would."""
        block = op.parent
        if block is None or block in self._busy_blocks or is_terminator(op) or self.preserves_constants(op):
            return
        self._busy_blocks.add(block)
        parent = block.parent_op()
        met_computation = False
        while parent is not None:
            if isinstance(parent, NamedComputationOp) and not met_computation:
                self._busy_computations.add(parent.computation_name.data)
                met_computation = True
            if isinstance(parent, FuncOp):
                self._busy_functions.add(original_name(parent))
                return
            parent = parent.parent_op()


def is_scalar_broadcast(op: Operation) -> bool:
    """Whether `op` repeats a scalar."""
    return type(op) is BroadcastInDimOp and [static_shape(type_of(operand)) for operand in operands_of(op)] == [()]
