"""Split fragments into what transfers wait for, or what waits for transfers, and the rest.

Source: docs/spec/07, 6.16 and 6.17; docs/spec/08, 3.11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import copy_with_regions, replace_uses
from sdy.dialects.ir.walk import ops_in, ops_of, reached
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.syntax import ReturnOp
from sdy.mpmd.dialect.types import MeshTensorType
from sdy.mpmd.passes.tools.fragments import SPLIT_MARKS, fragments_of, is_backward, split_type
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, any_function
from sdy.mpmd.passes.tools.uses import distinct, users_of, users_of_op
from sdy.mpmd.schedules.fragment_info import SplitType
from sdy.passes.rewriting.insertion import erase, insert_before
from sdy.passes.rewriting.structural_hash import producers, used_from_outside


class SplitBwdFragmentsPass(FunctionPass):
    """Split each backward fragment into what it transfers to other meshes, and the rest, which may run later."""

    name = "mpmd-split-bwd-fragments"
    ON = any_function

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Split the fragments some but not all of whose results are transferred."""
        for fragment in ops_of(func, FragmentOp):
            if split_type(fragment) is None and is_backward(fragment):
                later = {
                    index
                    for index, result in enumerate(fragment.results)
                    if not any(isinstance(user, TransferOp) for user in users_of(result))
                }
                if 0 < len(later) < len(fragment.results):
                    returned = fragment.returned
                    first = [value for index, value in enumerate(returned) if index not in later]
                    block = fragment.block
                    _split(fragment, later, producers(first, lambda op, block=block: op.parent is block))


class SplitAndPrioritizeTransferIndependentComputationsPass(FunctionPass):
    """Split each fragment that waits for a transfer into what can run before it arrives, and the rest."""

    name = "mpmd-split-and-prioritize-transfer-independent-computations"
    ON = any_function

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Split the fragments some but not all of whose operands are transferred."""
        for fragment in fragments_of(func):
            waiting = [
                argument
                for argument, operand in zip(fragment.block.args, fragment.operands, strict=False)
                if isinstance(operand.owner, TransferOp)
            ]
            if split_type(fragment) is None and 0 < len(waiting) < len(fragment.block.args):
                dependent = _ops_after(waiting)
                end = terminator_of(fragment.body)
                later = {
                    index for index, value in enumerate(end.operands) if value in waiting or value.owner in dependent
                }
                independent = {op for op in fragment.block.ops if op not in dependent}
                if independent or len(later) < len(fragment.results):
                    _split(fragment, later, independent)


def _ops_after(values: Iterable[SSAValue]) -> set[Operation]:
    """Return the ops that use values, themselves or through other ops."""
    users = [user for value in values for user in users_of(value)]
    return set(reached(users, users_of_op))


def _split(fragment: FragmentOp, later: set[int], kept: set[Operation]) -> None:
    """Replace a fragment by one with the `kept` ops, and one with the others that returns the results in `later`.

    As in Shardy, a fragment is not split if the kept ops are as many as those of the block around it, but one.
    """
    around = fragment.parent
    if around is None or len(kept) + 1 == len(ops_in(around)):
        return
    pulled = sorted(later)
    stays = [index for index in range(len(fragment.results)) if index not in later]
    residuals = _residuals([fragment.returned[index] for index in pulled], kept)
    others = {op for op in fragment.block.ops if op not in kept}
    first = _part(fragment, SplitType.KEEP, stays, kept, given=residuals)
    handed = first.results[len(stays) :]
    second = _part(fragment, SplitType.DROP, pulled, others, taken=dict(zip(residuals, handed, strict=True)))
    for index, result in zip((*stays, *pulled), (*first.results[: len(stays)], *second.results), strict=True):
        replace_uses(fragment.results[index], result)
    erase(fragment)


def _residuals(values: Sequence[SSAValue], kept: set[Operation]) -> list[SSAValue]:
    """Return what the second part needs of the first: arguments, and values that kept ops define, as they are met."""
    found: list[SSAValue] = []
    pending = list(values)
    while pending:
        value = pending.pop()
        owner = value.owner
        if isinstance(owner, Block) or owner in kept:
            found.append(value)
        else:
            pending += distinct(used_from_outside(owner))
    return distinct(found)


def _part(
    fragment: FragmentOp,
    split: SplitType,
    results: Sequence[int],
    ops: set[Operation],
    *,
    given: Sequence[SSAValue] = (),
    taken: Mapping[SSAValue, SSAValue] | None = None,
) -> FragmentOp:
    """Insert a fragment with some ops of another one before it, and return it.

    It returns the results, and the values `given` after them; the values of the body in `taken` are operands.
    """
    taken = taken or {}
    types = [fragment.results[index].type for index in results]
    types += [MeshTensorType.of(fragment.mesh, value.type) for value in given]
    part = FragmentOp.make(
        fragment.mesh,
        fragment.origins,
        [*fragment.operands, *taken.values()],
        types,
        stage=fragment.stage,
        attributes={**fragment.attributes, SPLIT_MARKS[split]: UnitAttr()},
    )
    count = len(fragment.block.args)
    values: dict[SSAValue, SSAValue] = dict(zip(fragment.block.args, part.block.args, strict=False))
    values |= dict(zip(taken, part.block.args[count:], strict=True))
    for op in fragment.block.ops:
        if op in ops and not isinstance(op, ReturnOp):
            part.block.add_op(copy_with_regions(op, values))
    returned = [fragment.returned[index] for index in results]
    part.block.add_op(ReturnOp(*(values[value] for value in (*returned, *given))))
    insert_before(fragment, part)
    return part
