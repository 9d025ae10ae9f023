"""Move fragments and transfers to their users, and tokens into fragments. Source: docs/spec/08, 4.4 to 4.6."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.stablehlo.attributes.types import TokenType
from sdy.dialects.stablehlo.tokens import CreateTokenOp
from sdy.mpmd.dialect.attrs import is_cpu_mesh
from sdy.mpmd.dialect.functions import is_mpmd
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, attrs_of, entries_of, write_entries
from sdy.mpmd.passes.tools.fragments import drop_arguments, fragments_of, rebuild
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, is_mpmd_entry_point
from sdy.mpmd.passes.tools.uses import first_user_in_block, move_before, move_to_start


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
        move_before(op, user)


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
            _drop_token_results(fragment)


def _drop_token_operands(fragment: FragmentOp) -> None:
    tokens = [index for index, operand in enumerate(fragment.operands) if isinstance(operand.type, TokenType)]
    for index in reversed(tokens):
        create = CreateTokenOp.create(result_types=[TokenType()])
        fragment.block.add_op(create)
        create.location = fragment.location
        move_to_start(create, fragment.block)
        replace_uses(fragment.block.args[index], create.results[0])
    if tokens:
        _drop_entries(fragment, "in_shardings", ARG_ATTRS, tokens, len(fragment.operands))
        drop_arguments(fragment, tokens)


def _drop_token_results(fragment: FragmentOp) -> None:
    tokens = [index for index, result in enumerate(fragment.results) if isinstance(result.type, TokenType)]
    if not tokens:
        return
    _drop_entries(fragment, "out_shardings", RES_ATTRS, tokens, len(fragment.results))
    kept = [index for index in range(len(fragment.results)) if index not in tokens]
    end = terminator_of(fragment.body)
    end.operands = [end.operands[index] for index in kept]
    rebuild(fragment, fragment.operands, kept)


def _drop_entries(fragment: FragmentOp, shardings: str, attributes: str, dropped: list[int], count: int) -> None:
    """Drop the shardings and the attributes of some operands or results."""
    stored: Attribute | None = fragment.properties.get(shardings)
    if isinstance(stored, TensorShardingPerValueAttr):
        kept = tuple(each for index, each in enumerate(stored.data) if index not in dropped)
        fragment.properties[shardings] = TensorShardingPerValueAttr(kept)
    if attrs_of(fragment, attributes) is not None:
        entries = entries_of(fragment, attributes, count)
        left = [entry for index, entry in enumerate(entries) if index not in dropped]
        write_entries(fragment, attributes, left, keep_empty=True)
