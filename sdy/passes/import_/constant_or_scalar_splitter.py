"""Give every use of a constant expression, or of a broadcast scalar, its own copy.

    before  %c = stablehlo.constant dense<2.0>    %a = add %x, %c    %b = multiply %y, %c
    after   %c0 = sdy.constant dense<2.0>  %c1 = sdy.constant dense<2.0>
            %a = add %x, %c0    %b = multiply %y, %c1

Propagation through one use then does not affect the others. Ensures: constants are `sdy.constant`, which are never
merged. Source: docs/spec/04, 2.4.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.fast_ops import copy_before, make_op, nth_result, operands_of, set_operand, type_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import of_class, post_order, pre_order
from sdy.dialects.sdy.ops import ConstantOp, ShardingGroupOp
from sdy.dialects.sdy.regions import NamedComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.shape import ConstantOp as StablehloConstantOp
from sdy.passes.import_.constant_expressions import ConstantClassifier, is_scalar_broadcast
from sdy.passes.rewriting.call_graph import UniqueNames, add_copy, callee_of, callees_first
from sdy.passes.rewriting.insertion import erase, replace_op
from sdy.passes.rewriting.op_order import op_order


class ConstantOrScalarSplitterPass(ModulePass):
    """Copy constant expressions and broadcast scalars for each use."""

    name = "sdy-constant-or-scalar-splitter"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace constants by `sdy.constant`, then split region by region, callees before callers."""
        ops = op_order(op).ops
        functions = callees_first(op)
        for constant in of_class(ops, StablehloConstantOp):
            properties = {"value": constant.value}
            sdy_constant = make_op(
                ConstantOp, (), [constant.output.type], properties, constant.attributes, constant.location
            )
            replace_op(constant, sdy_constant)
        has_groups = bool(of_class(ops, ShardingGroupOp))
        splitter = _Splitter(op, has_groups=has_groups)
        for func in functions:
            for computation in of_class(post_order(func), NamedComputationOp):
                splitter.split(computation)
            splitter.split(func)


class _Splitter:
    """The splitting of one module."""

    def __init__(self, module: ModuleOp, *, has_groups: bool) -> None:
        self._module = module
        self._functions = functions_of(module)
        self._names = UniqueNames(module)
        self._classifier = ConstantClassifier(self._functions)
        self._has_groups = has_groups

    def split(self, scope: Operation) -> None:
        """Split the constants in `scope`, except inside named computations."""
        constants: list[Operation] = []
        scalars: list[Operation] = []
        constant_values = set[int]()  # by identity
        split_values = set[int]()  # by identity; constants and scalars
        for op in pre_order(scope, opaque=NamedComputationOp):
            if type(op) is ShardingGroupOp:
                continue
            if self._classifier.is_constant(op, constant_values):
                constants.append(op)
                constant_values.update(map(id, op.results))
                split_values.update(map(id, op.results))
                continue
            self._classifier.record_non_constant(op)
            if is_scalar_broadcast(op):
                scalars.append(op)
                split_values.update(map(id, op.results))
                continue
            for index, operand in enumerate(operands_of(op)):
                if id(operand) in split_values:
                    set_operand(op, index, self._copied(operand, {}))
        for op in (*scalars, *reversed(constants)):
            _erase_if_unused(op)

    def _copied(self, value: SSAValue, copies: dict[int, Operation], *, is_only_user: bool = True) -> SSAValue:
        """Return a copy of the value, computed right before the original. Scalars are shared.

        `copies` has the copy of each op by the identity of the op. `is_only_user` is set if the caller is the only user
        left of the operands that the value is computed from.
        """
        if type(value) is not OpResult or static_shape(type_of(value)) == ():
            return value
        op = value.op
        copy = copies.get(id(op))
        if copy is None:
            is_last = is_only_user and len(op.results) == 1 and value.has_one_use() and type(op) is not CallOp
            copy = copies[id(op)] = self._reused(op, copies) if is_last else self._copy_of(op, copies)
        return nth_result(copy, value.index)

    def _reused(self, op: Operation, copies: dict[int, Operation]) -> Operation:
        """Return the op itself, which can serve as the copy for its last user, with copied operands."""
        for index, operand in enumerate(operands_of(op)):
            copy = self._copied(operand, copies)
            if copy is not operand:
                set_operand(op, index, copy)
        return op

    def _copy_of(self, op: Operation, copies: dict[int, Operation]) -> Operation:
        operands = [self._copied(operand, copies, is_only_user=False) for operand in operands_of(op)]
        copy = copy_before(op, operands)
        if type(copy) is CallOp:
            callee = add_copy(callee_of(copy, self._functions), self._module, self._functions, self._names)
            copy.properties["callee"] = SymbolRefAttr(callee.sym_name.data)
        if self._has_groups:
            _join_groups(op, copy)
        return copy


def _join_groups(op: Operation, copy: Operation) -> None:
    """Add the results of `copy` to the sharding groups of the results of `op`."""
    block = copy.parent
    assert block is not None
    for result, new in zip(op.results, copy.results, strict=True):
        for group in [use.operation for use in result.uses if isinstance(use.operation, ShardingGroupOp)]:
            membership = group.clone()
            membership.operands = [new]
            block.insert_op_after(membership, copy)


def _erase_if_unused(op: Operation) -> None:
    """Erase the op, and the sharding groups that use its results, if it has no other users."""
    groups: list[Operation] = []
    for result in op.results:
        for use in result.uses:
            if type(use.operation) is not ShardingGroupOp:
                return
            groups.append(use.operation)
    for dead in (*dict.fromkeys(groups), op):
        erase(dead)
