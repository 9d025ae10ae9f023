"""The values that a compiler does not store, because it computes them where they are read.

XLA fuses an elementwise op, a broadcast, a slice and the like into the ops that read its result, if all of these can
take it in. It repeats cheap arithmetic in several kernels, but computes an expensive function once. A reshape gives
the memory of its operand another shape, and a contraction reads a transposed operand as it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, OpResult, Use

from sdy.cost.allocation.dim_order import reads_in_place
from sdy.dialects.facts.traits import Elementwise, has_fact
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.walk import ops_in
from sdy.dialects.sharded_types import tensor_bytes
from sdy.dialects.stablehlo.contraction import DotLikeOp
from sdy.dialects.stablehlo.elementwise import AccuracyOp, Atan2Op, PowerOp
from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.shape import (
    BroadcastInDimOp,
    BroadcastOp,
    ConstantOp,
    IotaOp,
    ReshapeOp,
    ReverseOp,
    TransposeOp,
)
from sdy.dialects.stablehlo.slicing import ConcatenateOp, DynamicSliceOp, DynamicUpdateSliceOp, PadOp, SliceOp

# The ops beside elementwise ones that XLA computes where their results are read.
_FUSIBLE = frozenset(
    (
        BroadcastInDimOp,
        BroadcastOp,
        ConstantOp,
        DynamicSliceOp,
        GatherOp,
        IotaOp,
        PadOp,
        ReverseOp,
        SliceOp,
        TransposeOp,
    )
)


@cache
def is_fusible(op_class: type[Operation]) -> bool:
    """Return whether ops of a class can be fused into those that read their results."""
    return op_class in _FUSIBLE or has_fact(op_class, Elementwise)


@cache
def takes_in_ops(op_class: type[Operation]) -> bool:
    """Return whether others can be fused into ops of a class."""
    return is_fusible(op_class) or issubclass(op_class, ReduceOp | ConcatenateOp | DynamicUpdateSliceOp)


@cache
def is_expensive(op_class: type[Operation]) -> bool:
    """Return whether computing ops of a class twice costs more than memory accesses, to XLA's `InstructionFusion`."""
    return issubclass(op_class, AccuracyOp | Atan2Op | PowerOp)


def is_shape_change(op: Operation) -> bool:
    """Return whether an op changes only the shape, so that the result has the memory of the operand."""
    # Classes are compared with `is`: `isinstance` is slow for these.
    if type(op) is BroadcastInDimOp or type(op) is BroadcastOp:
        return tensor_bytes(op.operand.type) == tensor_bytes(op.result.type)
    return type(op) is ReshapeOp


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function that is one kernel: the class of the op that computes its result, and all classes of its ops.

    Such a function has one result, and all its ops can be fused. A call of it is like one op of the class of the op
    that computes the result.
    """

    kind: type[Operation]
    kinds: frozenset[type[Operation]]


class Fusion:
    """Finds the ops whose results are not stored, block by block, and the functions that are one kernel.

    There are none unless `is_compiled`.
    """

    def __init__(self, functions: Mapping[str, FuncOp], *, is_compiled: bool = True) -> None:
        self.is_compiled = is_compiled
        self._functions = functions
        self._of_functions: dict[str, Kernel | None] = {}
        self._visited: set[Block] = set()
        self._fused: set[Operation] = set()
        self._takes_in: set[Operation] = set()  # the ops that others are fused into
        self._computed_by: dict[Operation, Operation | None] = {}  # the last op of the kernel of an op

    def is_kernel_call(self, op: Operation) -> bool:
        """Return whether an op calls a function that is one kernel."""
        return self.is_compiled and self._kernel_called(op) is not None

    def is_in_kernel(self, block: Block) -> bool:
        """Return whether a block is the body of a function that is one kernel, whose values are not stored."""
        func = block.parent_op()
        return isinstance(func, FuncOp) and self.kernel_named(func.sym_name.data) is not None

    def is_in_place(self, op: Operation) -> bool:
        """Return whether the results of an op may be stored in the memory of values that it reads last."""
        kernel = self._kernel_called(op)
        kind = type(op) if kernel is None else kernel.kind
        return self.is_compiled and (has_fact(kind, Elementwise) or issubclass(kind, DynamicUpdateSliceOp | ScatterOp))

    def is_fused(self, op: Operation) -> bool:
        """Return whether the results of an op are never stored: ops that read them read the operands instead."""
        self._visit(op.parent)
        return op in self._fused

    def is_kernel(self, op: Operation) -> bool:
        """Return whether others are fused into an op, so that a kernel made for it computes its results."""
        self._visit(op.parent)
        return op in self._takes_in

    def _visit(self, block: Block | None) -> None:
        if self.is_compiled and block is not None and block not in self._visited:
            self._visited.add(block)
            for op in reversed(ops_in(block)):  # after the ops that read the results
                self._add(op)

    def _add(self, op: Operation) -> None:
        """Find out whether an op is fused, and whether others are fused into it."""
        call = self._kernel_called(op)
        kind = type(op) if call is None else call.kind
        is_view = call is None and is_shape_change(op)
        if not takes_in_ops(kind) and call is None and not is_view:
            self._computed_by[op] = op
            return
        readers = {use.operation for result in op.results for use in result.uses}
        is_taken_in = all(reader in self._takes_in for reader in readers)
        kernels = {self._computed_by.get(reader) for reader in readers}
        kernel = kernels.pop() if len(kernels) == 1 else None
        if is_view:
            is_fused, takes_in = True, is_taken_in and bool(readers)
        elif type(op) is TransposeOp and any(isinstance(reader, DotLikeOp) for reader in readers):
            is_fused = all(use.operation in self._takes_in or _reads_transposed(use, op) for use in op.result.uses)
            takes_in = not is_fused
        else:
            has_expensive = any(map(is_expensive, (kind,) if call is None else call.kinds))
            is_once = not has_expensive or kernel is not None
            is_fused, takes_in = is_fusible(kind) and is_taken_in and is_once and bool(readers), True
        self._computed_by[op] = kernel if is_fused else op
        if is_fused:
            self._fused.add(op)
        if takes_in:
            self._takes_in.add(op)

    def _kernel_called(self, op: Operation) -> Kernel | None:
        return self.kernel_named(op.callee.string_value()) if type(op) is CallOp else None

    def kernel_named(self, name: str) -> Kernel | None:
        """Return the kernel of a function; None if it is not one kernel."""
        if name not in self._of_functions:
            self._of_functions[name] = None  # ends the recursion for a function that calls itself
            self._of_functions[name] = self._kernel(self._functions[name])
        return self._of_functions[name]

    def _kernel(self, func: FuncOp) -> Kernel | None:
        if func.is_declaration:
            return None
        *ops, end = ops_in(func.body.block)
        returned = operands_of(end)
        if len(returned) != 1 or not isinstance(returned[0], OpResult):
            return None
        last, found = returned[0].op, frozenset[type[Operation]]()
        kind = type(last)
        for op in ops:
            kernel = self._kernel_called(op) or Kernel(type(op), frozenset((type(op),)))
            is_allowed = takes_in_ops if op is last else is_fusible
            if kernel.kind is not ReshapeOp and not is_allowed(kernel.kind):
                return None
            found |= kernel.kinds
            kind = kernel.kind if op is last else kind
        return Kernel(kind, found)


def _reads_transposed(use: Use, transpose: TransposeOp) -> bool:
    """Return whether a contraction reads the operand of a transposition as it is stored."""
    if not isinstance(use.operation, DotLikeOp):
        return False
    order = list(transpose.permutation.get_values())
    return reads_in_place(use.operation, use.index, [order.index(dim) for dim in range(len(order))])
