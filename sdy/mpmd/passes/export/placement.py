"""Move fragments and transfers to their users, and tokens into fragments. Source: docs/spec/08, 4.4 to 4.6."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.stablehlo.attributes.types import TokenType
from sdy.dialects.stablehlo.tokens import CreateTokenOp
from sdy.mpmd.dialect.attrs import is_cpu_mesh
from sdy.mpmd.dialect.functions import is_mpmd
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.tools.fragments import fragments_of
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, is_mpmd_entry_point
from sdy.mpmd.passes.tools.rewriting import without_values
from sdy.mpmd.passes.tools.uses import first_user_in_block, move
from sdy.passes.rewriting.insertion import insert


class DelayInferredFragmentsPass(FunctionPass):
    """Move each inferred fragment right before its first user, to hold less memory."""

    name = "mpmd-delay-inferred-fragments"
    ON = is_mpmd_entry_point

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the fragments from the last to the first, so that chains move together."""
        for fragment in reversed(fragments_of(func)):
            if not fragment.is_user_fragment:
                _delay(fragment)


class DelayTransfersFromCpuPass(FunctionPass):
    """Move each transfer from a CPU or from host memory right before its first user."""

    name = "mpmd-delay-transfers-from-cpu"
    ON = is_mpmd_entry_point

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the transfers in order."""
        for op in list(func.body.block.ops):
            if isinstance(op, TransferOp) and (is_cpu_mesh(op.source_type.mesh) or op.source_type.is_on_host):
                _delay(op)


def _delay(op: Operation) -> None:
    user = first_user_in_block(op)
    if user is not None:
        move(op, InsertPoint.before(user))


class SinkCreateTokenIntoFragmentsPass(FunctionPass):
    """Create tokens inside of the fragments that need them, so that none passes between fragments."""

    name = "mpmd-sink-create-token-into-fragments"
    ON = is_mpmd

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Replace the token operands of all fragments, and then drop their token results."""
        for fragment in fragments_of(func):
            if len(fragment.operands) == len(fragment.block.args):
                _drop_token_operands(fragment)
        for fragment in fragments_of(func):
            without_values(fragment, (), _tokens(fragment.results))


def _drop_token_operands(fragment: FragmentOp) -> None:
    tokens = _tokens(fragment.operands)
    place = InsertPoint.at_start(fragment.block)
    for index in tokens:
        create = insert(CreateTokenOp.create(result_types=[TokenType()]), place, fragment.location)
        replace_uses(fragment.block.args[index], create.results[0])
    without_values(fragment, tokens, ())


def _tokens(values: Sequence[SSAValue]) -> list[int]:
    return [index for index, value in enumerate(values) if isinstance(value.type, TokenType)]
