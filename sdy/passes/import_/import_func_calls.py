"""Turn calls into named computations, which propagation works through.

    before  %0 = call @f(%x)        func @f(%p) { return tanh(%p) }
    after   %0 = sdy.named_computation<"f">(%x) (%p) { sdy.return tanh(%p) }

Source: docs/spec/04, 2.11.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Region
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, Severity
from sdy.dialects.ir.context import emit_once
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of, recursion_error
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import ReturnOp
from sdy.dialects.sdy.regions import NamedComputationOp
from sdy.dialects.shardings import SHARDING, argument_shardings, result_shardings
from sdy.model.mesh_table import MeshTable
from sdy.passes.import_.add_data_flow_edges import add_edges
from sdy.passes.rewriting.call_graph import call_sites, callee_name, callee_of, callees_first, original_name
from sdy.passes.rewriting.insertion import erase, replace_op
from sdy.passes.rewriting.op_order import keep_order, op_order

EXECUTION_THREAD = "execution_thread"


@dataclass(frozen=True)
class ImportFuncCallsPass(ModulePass):
    """Replace every call by a named computation with the body of its function."""

    name = "sdy-import-func-calls"

    add_data_flow_edges_on_named_computations: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit callees before callers, so that the calls in a body are imported before the body is."""
        importer = _Importer(op, ctx)
        importer.computations += op_order(op).of(NamedComputationOp)
        calls = call_sites(op)
        ordered = callees_first(op, calls)
        remaining = {func.sym_name.data for func in ordered}
        for func in ordered:
            for call in calls[func.sym_name.data]:
                if callee_name(call) in remaining:
                    raise recursion_error(func, (func.sym_name.data, callee_name(call)))
                importer.replace(call)
            remaining.remove(func.sym_name.data)
        importer.erase_called()
        if not importer.computations:
            keep_order(op)
            return
        if self.add_data_flow_edges_on_named_computations:
            for computation in importer.computations:
                add_edges(computation)


class _Importer:
    """The import of the calls of one module. `computations` are the named computations of the module, in any order."""

    def __init__(self, module: ModuleOp, ctx: Context) -> None:
        self._functions = functions_of(module)
        self._meshes: MeshTable = meshes_of(module)
        self._ctx = ctx
        self.computations: list[NamedComputationOp] = []
        self._bodies: dict[str, NamedComputationOp] = {}  # the computation that has the original body, by function name

    def replace(self, call: CallOp) -> None:
        """Replace the call by a named computation."""
        callee = callee_of(call, self._functions)
        if not callee.body.blocks and callee_name(call) not in self._bodies:
            message = f"cannot import @{callee_name(call)}, which is declared but not defined"
            raise SdyError(Diagnostic("SDY-T111", message, span_of(call), hint="define the function in the module"))
        computation = NamedComputationOp(
            original_name(callee),
            call.operands,
            self._body_of(call, callee),
            call.result_types,
            argument_shardings(callee, self._meshes),
            result_shardings(call),
        )
        computation.attributes.update(call.attributes)
        computation.attributes.pop(SHARDING, None)
        if EXECUTION_THREAD in callee.attributes:
            computation.attributes[EXECUTION_THREAD] = callee.attributes[EXECUTION_THREAD]
        self.computations.append(computation)
        if callee_name(call) in self._bodies:  # the body is a copy
            self.computations += ops_of(computation, NamedComputationOp)
        self._bodies.setdefault(callee_name(call), computation)
        replace_op(call, computation)

    def erase_called(self) -> None:
        """Erase the functions whose bodies were imported."""
        for name in self._bodies:
            erase(self._functions[name])

    def _body_of(self, call: CallOp, callee: FuncOp) -> Region:
        original = self._bodies.get(callee_name(call))
        if original is None:
            body = callee.detach_region(callee.body)
            callee.add_region(Region())
            terminator = body.block.last_op
            if isinstance(terminator, FuncReturnOp):
                replace_op(terminator, ReturnOp.create(operands=terminator.operands))
            return body
        message = f"@{callee_name(call)} is called more than once; copying its body"
        hint = "run -sdy-flatten-call-graph first"
        diagnostic = Diagnostic("SDY-T112", message, span_of(call), hint=hint, severity=Severity.WARNING)
        emit_once(self._ctx, diagnostic)
        return original.body.clone()
