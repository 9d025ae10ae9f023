"""Give every use of a constant expression, or of a repeated scalar, a copy of its own.

    before  %c = stablehlo.constant dense<2.0>    %a = add %x, %c    %b = multiply %y, %c
    after   %c0 = sdy.constant dense<2.0>  %c1 = sdy.constant dense<2.0>
            %a = add %x, %c0    %b = multiply %y, %c1

So propagation through one use has no say in another. Ensures: constants are `sdy.constant`, which nothing merges.
Source: spec of import and export, section 2.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from sdy.dialects.sdy.ops import ConstantOp, ShardingGroupOp
from sdy.dialects.sdy.regions import NamedComputationOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.shape import ConstantOp as StablehloConstantOp
from sdy.dialects.symbols import functions_of
from sdy.dialects.unchecked import copy_before, make_op
from sdy.dialects.walk import ops_of, post_order
from sdy.passes.call_graph import add_copy, callee_of, callees_first
from sdy.passes.import_.constant_expressions import ConstantClassifier, is_scalar_broadcast
from sdy.passes.insertion import replace_op
from sdy.passes.unique_names import UniqueNames


@dataclass(frozen=True)
class ConstantOrScalarSplitterPass(ModulePass):
    """Split constant expressions and repeated scalars by use."""

    name = "sdy-constant-or-scalar-splitter"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Shield the constants, then split region by region, callees before callers."""
        for constant in ops_of(op, StablehloConstantOp):
            properties = {"value": constant.value}
            shielded = make_op(
                ConstantOp, (), [constant.output.type], properties, constant.attributes, constant.location
            )
            replace_op(constant, shielded)
        splitter = _Splitter(op)
        for func in callees_first(op):
            for computation in [inner for inner in post_order(func) if _is_computation(inner)]:
                splitter.split(computation.regions[0])
            splitter.split(func.body)


def _is_computation(op: Operation) -> bool:
    return type(op) is NamedComputationOp


class _Splitter:
    """The pass over one module."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._functions = functions_of(module)
        self._names = UniqueNames(module)
        self._classifier = ConstantClassifier(self._functions)
        self._has_groups = bool(ops_of(module, ShardingGroupOp))

    def split(self, region: Region) -> None:
        """Split the ops of a region and of those inside it, named computations apart."""
        constants: dict[Operation, None] = {}
        scalars: dict[Operation, None] = {}
        for op in list(_ops_of(region)):
            if type(op) is ShardingGroupOp:
                continue
            if self._classifier.is_constant(op, constants):
                constants[op] = None
                continue
            if not op.has_trait(IsTerminator) and not self._classifier.preserves_constants(op):
                self._classifier.note_busy(op)
            if is_scalar_broadcast(op):
                scalars[op] = None
                continue
            for index, operand in enumerate(op.operands):
                if operand.owner in constants or operand.owner in scalars:
                    op.operands[index] = self._copied(operand, {})
        for op in (*scalars, *reversed(constants)):
            _erase_if_unused(op)

    def _copied(self, value: SSAValue, copies: dict[Operation, Operation]) -> SSAValue:
        """The value computed anew, right before where it is computed now. Scalars are shared."""
        if not isinstance(value, OpResult) or static_shape(value.type) == ():
            return value
        op = value.op
        if op not in copies:
            copies[op] = self._copy_of(op, copies)
        return copies[op].results[value.index]

    def _copy_of(self, op: Operation, copies: dict[Operation, Operation]) -> Operation:
        operands = [self._copied(operand, copies) for operand in op.operands]
        copy = copy_before(op, operands)
        if isinstance(copy, CallOp):
            callee = add_copy(callee_of(copy, self._functions), self._module, self._names)
            copy.properties["callee"] = SymbolRefAttr(callee.sym_name.data)
        if self._has_groups:
            _join_groups(op, copy)
        return copy


def _join_groups(op: Operation, copy: Operation) -> None:
    """Let the results of `copy` be in the sharding groups of those of `op`."""
    block = copy.parent
    assert block is not None
    for result, new in zip(op.results, copy.results, strict=True):
        for group in [use.operation for use in result.uses if isinstance(use.operation, ShardingGroupOp)]:
            membership = group.clone()
            membership.operands = [new]
            block.insert_op_after(membership, copy)


def _ops_of(region: Region) -> Iterator[Operation]:
    """The ops in program order, each before those inside it, without the bodies of named computations."""
    for block in region.blocks:
        for op in block.ops:
            yield op
            if not _is_computation(op):
                for inner in op.regions:
                    yield from _ops_of(inner)


def _erase_if_unused(op: Operation) -> None:
    """Erase the op if only sharding groups use its results; and those with it."""
    users = [use.operation for result in op.results for use in result.uses]
    if all(isinstance(user, ShardingGroupOp) for user in users):
        for dead in (*dict.fromkeys(users), op):
            dead.detach()
            dead.erase()
