"""Clean-up of fragments: copied constants, dead values, repeated values, function results.

Source: docs/spec/07, 6.7 to 6.9, 6.18, 6.19 and 6.21.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, replace_uses, set_operand
from sdy.dialects.ir.walk import ops_of, pre_order
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.mpmd.dialect.functions import is_mpmd
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.syntax import ReturnOp
from sdy.mpmd.dialect.types import DEVICE, MeshTensorType, mesh_type
from sdy.mpmd.passes.tools.fragments import fragments_of, inferred_by
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.rewriting import redirect_repeated, without_values
from sdy.mpmd.passes.tools.uses import is_used, move, unused
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.insertion import after_definition, erase, insert, insert_before
from sdy.passes.rewriting.op_traits import is_erasable


class CopyConstantsPass(FunctionPass):
    """Compute a constant in the fragment that uses it, where another fragment returns it."""

    name = "mpmd-copy-constants"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the fragments from the last to the first; the operands stay, unused."""
        for fragment in reversed(fragments_of(func)):
            for argument, operand in zip(fragment.block.args, fragment.operands, strict=False):
                constant = _constant_behind(operand)
                if constant is not None:
                    place = InsertPoint.at_start(fragment.block)
                    copy = insert(copy_with_regions(constant), place, constant.location)
                    replace_uses(argument, copy.results[0])


def _constant_behind(value: SSAValue) -> Operation | None:
    """Return the constant that a fragment returns as this value, perhaps through transfers."""
    while isinstance(value.owner, TransferOp):
        value = value.owner.tensor
    source = value.owner
    if not isinstance(source, FragmentOp):
        return None
    returned = source.returned[source.results.index(value)].owner
    return returned if isinstance(returned, ConstantOp | SdyConstantOp) else None


class FragmentDcePass(FunctionPass):
    """Erase unused results and arguments of fragments, the ops that only they used, and unused transfers."""

    name = "mpmd-fragment-dce"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit users before producers, so that whole chains disappear."""
        for op in reversed(list(func.body.block.ops)):
            if isinstance(op, FragmentOp):
                _shrink(op)
            elif isinstance(op, TransferOp) and not is_used(op):
                erase(op)


def _shrink(fragment: FragmentOp) -> None:
    fragment = without_values(fragment, (), unused(fragment.results))
    erase_dead_ops(pre_order(fragment))
    fragment = without_values(fragment, unused(fragment.block.args), ())
    if not fragment.operands and not fragment.results and isinstance(fragment.block.first_op, ReturnOp):
        erase(fragment)


class FragmentDedupPass(FunctionPass):
    """Use the first of equal operands, and the first of equal results, of each fragment."""

    name = "mpmd-fragment-dedup"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Redirect uses; `mpmd-fragment-dce` erases what becomes unused."""
        for fragment in ops_of(func, FragmentOp):
            redirect_repeated(fragment)


class RemoveTransferCyclesPass(FunctionPass):
    """Replace a transfer at the end of a chain of transfers by a value of the chain that has its type."""

    name = "mpmd-remove-transfer-cycles"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the transfers from the last to the first; chains through host memory stay."""
        for op in reversed(list(func.body.block.ops)):
            if isinstance(op, TransferOp):
                source = _equal_source(op)
                if source is not None:
                    replace_uses(op.result, source)
                    erase(op)


def _equal_source(transfer: TransferOp) -> SSAValue | None:
    step = transfer
    while True:
        if step.source_type.memory_kind not in (None, DEVICE):
            return None
        if step.tensor.type == transfer.result.type:
            return step.tensor
        if not isinstance(step.tensor.owner, TransferOp):
            return None
        step = step.tensor.owner


class MoveTransfersToProducerPass(FunctionPass):
    """Move each transfer right after the op that defines its operand."""

    name = "mpmd-move-transfers-to-producer"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Move the transfers in order, so that several of one value end up in reverse order."""
        for transfer in ops_of(func, TransferOp):
            move(transfer, after_definition(transfer.tensor))


@dataclass(frozen=True)
class UniquifyFunctionInputsOutputsPass(FunctionPass):
    """Give each result of a function a value of its own, not an argument."""

    name = "mpmd-uniquify-function-inputs-outputs"
    ON = is_mpmd

    use_transfer_instead_of_fragment: bool = False

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Insert fragments or transfers before the return."""
        end = terminator_of(func.body)
        if self.use_transfer_instead_of_fragment:
            _uniquify_by_transfers(end)
        else:
            _uniquify_by_fragments(end)


def _uniquify_by_transfers(end: Operation) -> None:
    seen: set[SSAValue] = set()
    for index, value in enumerate(list(end.operands)):
        if value in seen or isinstance(value, BlockArgument):
            transfer = insert_before(end, TransferOp(value, mesh_type(value.type)))
            set_operand(end, index, transfer.result)
        seen.add(value)


def _uniquify_by_fragments(end: Operation) -> None:
    by_mesh: dict[str, dict[SSAValue, list[int]]] = {}
    for index, value in enumerate(end.operands):
        if isinstance(value.type, MeshTensorType):
            by_mesh.setdefault(value.type.mesh, {}).setdefault(value, []).append(index)
    for mesh, places in by_mesh.items():
        repeated = {
            value: indices for value, indices in places.items() if len(indices) > 1 or isinstance(value, BlockArgument)
        }
        if not repeated:
            continue
        types = [value.type for value, indices in repeated.items() for _ in indices]
        fragment = FragmentOp.make(mesh, (), list(repeated), types, attributes=inferred_by("uniquify"))
        arguments = zip(fragment.block.args, repeated.values(), strict=True)
        fragment.block.add_op(ReturnOp(*(argument for argument, indices in arguments for _ in indices)))
        insert_before(end, fragment)
        indices = [index for each in repeated.values() for index in each]
        for index, result in zip(indices, fragment.results, strict=True):
            set_operand(end, index, result)


def is_dead(op: Operation) -> bool:
    """Return whether an op has no used result and no effect."""
    return not is_used(op) and is_erasable(op)
