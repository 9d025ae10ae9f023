"""Calls of microbatches and loops over them: unroll, inline and number them, and drop what they need not pass.

Source: docs/spec/07, 6.2 to 6.6.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, replace_uses
from sdy.dialects.ir.walk import enclosing, ops_of, post_order, pre_order
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.mpmd.dialect.functions import is_entry_point, is_mpmd, module_around, update_function_type
from sdy.mpmd.dialect.ops import CALL_COUNTER, CallOp, FragmentCallOp, ui32
from sdy.mpmd.dialect.regions import ForOp, FragmentOp
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.rewriting import drop_from_body, without_values
from sdy.mpmd.passes.tools.uses import calls_by_callee, distinct, is_used, users_of
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.insertion import erase, insert, insert_before, replace_by_body

UNROLL_COUNTER = "unroll_counter"


class CallInlinePass(ModulePass):
    """Replace each call of a microbatch by the body of the function, whose fragments get the attributes of the call."""

    name = "mpmd-call-inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline the calls that are in the program now, not those in inlined bodies."""
        for call in ops_of(op, CallOp):
            body = call.function.body.clone()
            for inner in body.walk():
                if isinstance(inner, FragmentOp | FragmentCallOp):
                    inner.attributes |= call.attributes
            replace_by_body(call, body, call.operands)


class SinkNegligibleOpsIntoCallOpPass(FunctionPass):
    """Compute a value that needs no operands inside of a function if all its calls pass the same one."""

    name = "mpmd-sink-negligible-ops-into-call-op"
    ON = is_mpmd

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Copy the ops, drop the arguments, and erase what became unused in the callers."""
        calls = calls_by_callee(module_around(func)).get(func.sym_name.data, [])
        callers = distinct(enclosing(call, FuncOp) for call in calls)
        sunk = {index: source for index in range(len(func.body.block.args)) if (source := _shared(calls, index))}
        place = InsertPoint.at_start(func.body.block)
        for index, source in sunk.items():
            copy = insert(copy_with_regions(source), place, source.location)
            replace_uses(func.body.block.args[index], copy.results[0])
        drop_from_body(func, sunk, ())
        update_function_type(func)
        for call in calls:
            without_values(call, sunk, ())
        for caller in filter(None, callers):
            erase_dead_ops(pre_order(caller))


def _shared(calls: list[CallOp], index: int) -> Operation | None:
    """Return the op without operands and with one result that defines operand `index` of all calls, or None."""
    sources = {call.operands[index] for call in calls}
    source = sources.pop() if len(sources) == 1 else None
    if not isinstance(source, OpResult) or source.op.operands or len(source.op.results) != 1:
        return None
    return source.op


class FromUnrollToCallCounterPass(FunctionPass):
    """Rename the counter of unrolled loops to that of microbatches, on calls."""

    name = "mpmd-from-unroll-to-call-counter"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Set the call counter of each call that has an unroll counter."""
        for call in ops_of(func, CallOp):
            if isinstance(call.attributes.get(UNROLL_COUNTER), IntegerAttr):
                call.attributes[CALL_COUNTER] = call.attributes.pop(UNROLL_COUNTER)


class EraseUnusedCalleeBlockArgumentsPass(FunctionPass):
    """Drop the arguments of called functions that are at most returned, and these results."""

    name = "mpmd-erase-unused-callee-block-arguments"
    ON = is_mpmd

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit a called function, which is erased if it would return nothing."""
        # Also the calls whose results are not used: they must fit the function afterwards.
        calls = [call for call in ops_of(module_around(func), CallOp) if call.callee_name == func.sym_name.data]
        if any(map(is_used, calls)) and not is_entry_point(func):
            _erase_unused(func, calls)


def _erase_unused(func: FuncOp, calls: list[CallOp]) -> None:
    end = terminator_of(func.body)
    arguments: dict[SSAValue, int] = {
        argument: index
        for index, argument in enumerate(func.body.block.args)
        if all(user is end for user in users_of(argument))
    }
    results = {index: arguments[value] for index, value in enumerate(end.operands) if value in arguments}
    if not arguments:
        return
    for call in calls:
        for index, source in results.items():
            replace_uses(call.results[index], call.operands[source])
    if len(results) == len(end.operands):
        for each in (*calls, func):
            erase(each)
        return
    dropped = set(arguments.values())
    drop_from_body(func, dropped, results)
    update_function_type(func)
    for call in calls:
        without_values(call, dropped, results)


class UnrollForLoopsPass(FunctionPass):
    """Replace each loop by copies of its body. Loops inside of loops are not supported.

    before  %r = mpmd.for (%a) {iterations = 2, unroll_factor = 2} (%x, %index) { %1 = mpmd.call @f(%x, %index) }
    after   %c0 = constant 0   %1 = mpmd.call @f(%a, %c0) {unroll_counter = 0}   %c1 = constant 1   ...
    """

    name = "mpmd-unroll-for-loops"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Unroll the loops of a function, whose iterations are numbered together."""
        counter = 0
        for loop in [op for op in post_order(func) if isinstance(op, ForOp)]:
            if isinstance(loop.parent_op(), ForOp):
                findings.error(loop, "SDY-M101", "a loop must not be inside of another loop")
                findings.raise_errors()
            count = loop.iterations.value.data
            if loop.unroll_factor != loop.iterations:
                factor = "none" if loop.unroll_factor is None else loop.unroll_factor.value.data
                message = f"only full unrolling is supported: unroll_factor must be {count}, got {factor}"
                findings.error(loop, "SDY-M101", message)
                findings.raise_errors()
            _unroll(loop, count, counter)
            counter += count


def _unroll(loop: ForOp, count: int, first_counter: int) -> None:
    *body, end = loop.body.block.ops
    *arguments, index = loop.body.block.args
    carried: list[SSAValue] = list(loop.operands)
    scalar = TensorType(ui32, [])
    for iteration in range(count):
        counter = IntegerAttr(first_counter + iteration, ui32)
        elements = DenseElementsAttr.from_values(scalar, [iteration])
        constant = ConstantOp.create(result_types=[scalar], properties={"value": elements})
        values: dict[SSAValue, SSAValue] = {index: constant.results[0]}
        values |= dict(zip(arguments, carried, strict=True))
        for copy in (constant, *(copy_with_regions(op, values) for op in body)):
            insert_before(loop, copy).attributes[UNROLL_COUNTER] = counter
        carried = [values.get(value, value) for value in end.operands]
    for result, value in zip(loop.results, carried, strict=True):
        replace_uses(result, value)
    erase(loop)
