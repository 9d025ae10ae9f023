"""Classification of ops as constant expressions or broadcasts of a scalar. Source: docs/spec/04, 2.4."""

from __future__ import annotations

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation

from sdy.dialects.facts.traits import is_terminator
from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.walk import ops_around
from sdy.dialects.sdy.ops import ConstantOp
from sdy.dialects.sdy.regions import NamedComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, IotaOp, ReshapeOp
from sdy.dialects.stablehlo.slicing import SliceOp
from sdy.passes.rewriting.call_graph import callee_name, original_name
from sdy.passes.rewriting.op_traits import is_elementwise, is_erasable

# The ops that move elements and that Shardy copies with the constants that they move.
MOVERS = frozenset[type[Operation]]((BroadcastInDimOp, ReshapeOp, SliceOp))


class ConstantClassifier:
    """The functions and named computations, among those visited so far, that do not preserve constants."""

    def __init__(self, functions: dict[str, FuncOp]) -> None:
        self._functions = functions
        self._non_constant_functions: set[str] = set()  # by original name
        self._non_constant_computations: set[str] = set()
        self._non_constant_blocks: set[Block] = set()  # whose enclosing functions and computations are recorded already

    def preserves_constants(self, op: Operation) -> bool:
        """Return whether the results of `op` are constant if its operands are."""
        if type(op) is CallOp:
            callee = self._functions.get(callee_name(op))
            return callee is None or original_name(callee) not in self._non_constant_functions
        if type(op) is NamedComputationOp:
            return op.computation_name.data not in self._non_constant_computations
        return (type(op) in MOVERS or is_elementwise(op)) and is_erasable(op)

    def is_constant(self, op: Operation, constants: set[int]) -> bool:
        """Return whether `op` is a constant expression, given the identities of the constants before it."""
        if type(op) is ConstantOp or type(op) is IotaOp:
            return True
        return constants.issuperset(map(id, operands_of(op))) and self.preserves_constants(op)

    def record_non_constant(self, op: Operation) -> None:
        """Record that `op` is not a constant expression, so that its function and computation do not preserve
        constants.
        """
        block = op.parent
        if block is None or block in self._non_constant_blocks or is_terminator(op) or self.preserves_constants(op):
            return
        self._non_constant_blocks.add(block)
        is_computation_found = False
        for parent in ops_around(op):
            if isinstance(parent, NamedComputationOp) and not is_computation_found:
                self._non_constant_computations.add(parent.computation_name.data)
                is_computation_found = True
            if isinstance(parent, FuncOp):
                self._non_constant_functions.add(original_name(parent))
                return


def is_scalar_broadcast(op: Operation) -> bool:
    """Return whether `op` broadcasts a scalar."""
    return type(op) is BroadcastInDimOp and [static_shape(type_of(operand)) for operand in operands_of(op)] == [()]
