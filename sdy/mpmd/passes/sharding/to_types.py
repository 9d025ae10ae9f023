"""Move shardings from attributes into types, and simplify fragments. Source: docs/spec/08, 2.6 to 2.8."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Severity
from sdy.dialects.ir.fast_ops import set_type
from sdy.dialects.ir.walk import ops_of, post_order
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.shardings import SHARDING, argument_sharding, result_shardings
from sdy.dialects.stablehlo.collectives import RecvOp, SendOp
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.grammar.write import write_sharding
from sdy.model.sharding import TensorSharding
from sdy.mpmd.dialect.functions import update_function_type
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import ForOp, FragmentOp
from sdy.mpmd.dialect.types import MeshTensorType
from sdy.mpmd.dialect.value_attributes import remove_from_all
from sdy.mpmd.passes.sharding.extract_reshards import are_equivalent
from sdy.mpmd.passes.sharding.user_shardings import known, stored_sharding
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, any_function
from sdy.mpmd.passes.tools.rewriting import simplify_region_ops
from sdy.passes.rewriting.insertion import replace_op


class ConvertSdyShardingsToMpmdTypesPass(FunctionPass):
    """Write the shardings of arguments, fragments, transfers and loops into the types of mesh tensors."""

    name = "mpmd-convert-sdy-shardings-to-mpmd-types"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Convert a function, and report a transfer whose sides have different shardings on one mesh."""
        for op in post_order(func):
            _convert(op)
        for argument in func.body.block.args:
            sharding = argument_sharding(func, argument.index)
            if sharding is not None:
                _set(argument, sharding)
        remove_from_all(func, (SHARDING,))
        func.attributes.pop(SHARDING, None)
        update_function_type(func)
        _check_transfers(func, findings)


def _convert(op: Operation) -> None:
    match op:
        case FragmentOp():
            _set_all(op.operands, op.in_shardings)
            _set_all(op.results, op.out_shardings)
            op.in_shardings = op.out_shardings = None
        case TransferOp():
            source = stored_sharding(op.tensor)
            if source is not None:
                _set(op.tensor, source)
            for sharding in result_shardings(op) or ():
                _set(op.result, sharding)
        case ForOp():
            for operand, argument in zip(op.operands, op.body.block.args, strict=False):
                sharding = stored_sharding(operand)
                if sharding is not None:
                    _set(operand, sharding)
                    _set(argument, sharding)
            for result, sharding in zip(op.results, result_shardings(op) or (), strict=False):
                _set(result, sharding)
        case _:
            pass
    if not isinstance(op, SendOp | RecvOp):
        op.attributes.pop(SHARDING, None)


def _set_all(values: Sequence[SSAValue], shardings: TensorShardingPerValueAttr | None) -> None:
    if shardings is not None:
        for value, sharding in zip(values, map(known, shardings.data), strict=False):
            if sharding is not None:
                _set(value, sharding)


def _set(value: SSAValue, sharding: TensorSharding) -> None:
    if isinstance(value.type, MeshTensorType):
        set_type(value, value.type.with_sharding(sharding))


def _check_transfers(func: FuncOp, findings: Findings) -> None:
    for transfer in ops_of(func, TransferOp):
        source, target = transfer.source_type.sharding, transfer.target_type.sharding
        if source is None or target is None or source.mesh != target.mesh or are_equivalent(source, target):
            continue
        shown = f"{write_sharding(source)} and {write_sharding(target)}"
        message = f"a transfer must not change the sharding on one mesh, got {shown}"
        findings.warn(transfer, "SDY-M202", message, Severity.ERROR)
        return


class ConvertSdyConstantsPass(FunctionPass):
    """Turn each `sdy.constant` into a `stablehlo.constant`."""

    name = "mpmd-convert-sdy-constants"
    ON = any_function

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Replace the constants, with all their attributes."""
        for op in ops_of(func, SdyConstantOp):
            types, properties = [op.result.type], {"value": op.value}
            replace_op(op, ConstantOp.create(result_types=types, properties=properties, attributes=op.attributes))


class SimplifyProgramPass(FunctionPass):
    """Drop the operands and results of fragments that are repeated, passed through or unused."""

    name = "mpmd-simplify-program"
    ON = any_function

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Simplify the fragments until nothing changes."""
        simplify_region_ops(func, FragmentOp)
