"""Convert named computations to functions and calls.

    before  %0 = sdy.named_computation<"f">(%x) in_shardings=[<@m, [{"x"}]>] (%p) { sdy.return tanh(%p) }
    after   %0 = call @f(%x)
            func private @f(%p {<@m, [{"x"}]>}) attributes {sdy.original_func_name = "f"} { return tanh(%p) }

Source: docs/spec/04, 4.12.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.passes import ModulePass

from sdy.dialects.data_flow import argument_owners, edge_of_owner, result_owners
from sdy.dialects.ir.walk import nested_first
from sdy.dialects.sdy.ops import ReturnOp
from sdy.dialects.sdy.regions import NamedComputationOp
from sdy.dialects.shardings import set_argument_sharding, set_result_shardings
from sdy.passes.export.close.sink_data_flow_edges import edge_shardings
from sdy.passes.import_.import_func_calls import EXECUTION_THREAD
from sdy.passes.rewriting.call_graph import ORIGINAL_NAME, UniqueNames
from sdy.passes.rewriting.insertion import replace_by, replace_op
from sdy.passes.rewriting.op_order import op_order


class ExportNamedComputationsPass(ModulePass):
    """Replace every named computation by a call of a new private function."""

    name = "sdy-export-named-computations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit inner computations first."""
        names = UniqueNames(op)
        for computation in nested_first(op_order(op).of(NamedComputationOp)):
            _export(computation, op, names)


def _export(op: NamedComputationOp, module: ModuleOp, names: UniqueNames) -> None:
    in_shardings = edge_shardings(argument_owners(op)) or (op.in_shardings.data if op.in_shardings else ())
    out_shardings = edge_shardings(result_owners(op)) or (op.out_shardings.data if op.out_shardings else ())
    for owner in (*argument_owners(op), *result_owners(op)):
        edge = edge_of_owner(owner)
        if edge is not None:
            replace_by(edge, edge.input)
    func = _function_of(op, names)
    for index, sharding in enumerate(in_shardings):
        set_argument_sharding(func, index, sharding)
    module.body.block.add_op(func)
    call = CallOp(func.sym_name.data, op.tensors, op.result_types)
    call.attributes |= {name: value for name, value in op.attributes.items() if name != EXECUTION_THREAD}
    set_result_shardings(call, out_shardings)
    replace_op(op, call)


def _function_of(op: NamedComputationOp, names: UniqueNames) -> FuncOp:
    """Return a function with the body of `op`."""
    name = op.computation_name
    body = op.detach_region(op.body)
    terminator = body.block.last_op
    if isinstance(terminator, ReturnOp):
        replace_op(terminator, FuncReturnOp.create(operands=terminator.operands))
    inputs = [argument.type for argument in body.block.args]
    func = FuncOp(names.new(name.data), (inputs, list(op.result_types)), body, visibility="private")
    func.attributes[ORIGINAL_NAME] = name
    func.location = op.location
    if EXECUTION_THREAD in op.attributes:
        func.attributes[EXECUTION_THREAD] = op.attributes[EXECUTION_THREAD]
    return func
