"""The shardings of fragments and transfers, completed and enforced at the ends of fragments and functions.

Source: docs/spec/08, 2.3 and 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, Severity, Span
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.context import emit_once
from sdy.dialects.ir.op_location import span_of, span_of_argument
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import (
    argument_sharding,
    function_result_sharding,
    result_shardings,
    set_argument_sharding,
    set_result_shardings,
)
from sdy.grammar.write import write_sharding
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import fully_closed, fully_open, replaced_at
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass, is_mpmd_entry_point

_UNKNOWN = ""  # the mesh of an entry for a value whose sharding a fragment does not know, although it knows others


def known(sharding: TensorSharding) -> TensorSharding | None:
    """Return an entry of a list of shardings; None if the sharding of the value is not known."""
    return None if sharding.mesh == _UNKNOWN else sharding


def _unknown(value: SSAValue) -> TensorSharding:
    return fully_closed(_UNKNOWN, rank_of_type(value.type))


def stored_sharding(value: SSAValue) -> TensorSharding | None:
    """Return the sharding that the op or function of a value stores for it, or None."""
    owner = value.owner
    if isinstance(owner, Block):
        func = owner.parent_op()
        assert isinstance(value, BlockArgument)
        return argument_sharding(func, value.index) if isinstance(func, FuncOp) else None
    assert isinstance(value, OpResult)
    shardings = owner.out_shardings and owner.out_shardings.data if isinstance(owner, FragmentOp) else None
    if shardings is None and not isinstance(owner, FragmentOp):
        shardings = result_shardings(owner)
    return known(shardings[value.index]) if shardings else None


def set_stored_sharding(value: SSAValue, sharding: TensorSharding, *, opens_others: bool = False) -> None:
    """Store a sharding of a function argument, or of a result of a fragment or a transfer.

    If the fragment stored none, the shardings of its other results are not known, or fully open.
    """
    owner = value.owner
    if isinstance(owner, Block):
        func = owner.parent_op()
        if isinstance(func, FuncOp) and isinstance(value, BlockArgument):
            set_argument_sharding(func, value.index, sharding)
    elif isinstance(owner, FragmentOp) and isinstance(value, OpResult):
        owner.out_shardings = _replaced(owner.out_shardings, owner.results, value.index, sharding, opens_others)
    elif isinstance(owner, TransferOp):
        set_result_shardings(owner, (sharding,))


def _replaced(
    stored: TensorShardingPerValueAttr | None,
    values: Sequence[SSAValue],
    index: int,
    sharding: TensorSharding,
    opens_others: bool,
) -> TensorShardingPerValueAttr:
    """Return the shardings of values with another one at an index."""
    if stored is not None:
        entries = stored.data
    elif opens_others:
        entries = tuple(fully_open(sharding.mesh, rank_of_type(value.type)) for value in values)
    else:
        entries = tuple(map(_unknown, values))
    return TensorShardingPerValueAttr(replaced_at(entries, index, sharding))


def set_fragment_users(
    value: SSAValue, sharding: TensorSharding, *, only_annotated: bool = False, opens_others: bool = False
) -> None:
    """Store the sharding that all fragments expect of a value, or all that say what they expect.

    If a fragment stored none, the shardings of its other operands are not known, or fully open.
    """
    for use in value.uses:
        user = use.operation
        if isinstance(user, FragmentOp) and not (only_annotated and user.in_shardings is None):
            user.in_shardings = _replaced(user.in_shardings, user.operands, use.index, sharding, opens_others)


def is_transfer_or_return(op: Operation) -> bool:
    """Return whether an op passes values on to other meshes or out of the function."""
    return isinstance(op, TransferOp | ReturnOp)


class PopulateUnreducedOutShardingPass(FunctionPass):
    """Give the results of a fragment the unreduced axes of the constraints that define them."""

    name = "mpmd-populate-unreduced-out-sharding"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Propagation does not pass unreduced axes on, so they are copied."""
        for fragment in ops_of(func, FragmentOp):
            shardings = _out_shardings(fragment)
            mesh = None
            for index, value in enumerate(fragment.returned):
                owner = value.owner
                wanted = owner.sharding.data if isinstance(owner, ShardingConstraintOp) else None
                if wanted is not None and wanted.unreduced and shardings[index].unreduced != wanted.unreduced:
                    mesh = wanted.mesh
                    shardings[index] = replace(shardings[index], mesh=mesh, unreduced=wanted.unreduced)
            if mesh is not None:
                fragment.out_shardings = TensorShardingPerValueAttr(
                    tuple(replace(sharding, mesh=mesh) for sharding in shardings)
                )


def _out_shardings(fragment: FragmentOp) -> list[TensorSharding]:
    if fragment.out_shardings is not None:
        return list(fragment.out_shardings.data)
    own = result_shardings(fragment) or ()
    closed = [fully_closed(fragment.mesh, rank_of_type(result.type)) for result in fragment.results]
    return [*own, *closed[len(own) :]]


class EnforceUserShardingsPass(FunctionPass):
    """Make fragments take and return the values at the ends of a function as its own shardings say.

    Sub-axes are removed there, because shardings of JAX cannot name them.
    """

    name = "mpmd-enforce-user-shardings"
    ON = is_mpmd_entry_point

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit the arguments, and then the results."""
        for argument in func.body.block.args:
            sharding = argument_sharding(func, argument.index)
            if sharding is not None:
                cut = without_sub_axes(sharding)
                if cut != sharding:
                    set_stored_sharding(argument, cut)
                    where = f"argument {argument.index}"
                    _warn(findings, where, sharding, cut, span_of_argument(argument))
                set_fragment_users(argument, cut)
        end = terminator_of(func.body)
        for index, value in enumerate(end.operands):
            sharding = function_result_sharding(func, index)
            if sharding is not None:
                cut = without_sub_axes(sharding)
                if cut != sharding:
                    _warn(findings, f"result {index}", sharding, cut, span_of(end))
                if isinstance(value.owner, FragmentOp | TransferOp):
                    set_stored_sharding(value, cut, opens_others=True)
                    set_fragment_users(value, cut, opens_others=True)


def without_sub_axes(sharding: TensorSharding) -> TensorSharding:
    """Return a sharding in which each dim ends before its first sub-axis; a dim that ends there becomes closed."""
    dims: list[DimSharding] = []
    for dim in sharding.dims:
        first = next((index for index, axis in enumerate(dim.axes) if axis.sub_axis is not None), None)
        dims.append(dim if first is None else DimSharding(dim.axes[:first]))
    return replace(sharding, dims=tuple(dims))


def _warn(findings: Findings, where: str, old: TensorSharding, new: TensorSharding, span: Span | None) -> None:
    message = f"sub-axes at {where} are not supported: {write_sharding(old)} becomes {write_sharding(new)}"
    warning = Diagnostic("SDY-M201", message, span, severity=Severity.WARNING)
    emit_once(findings.ctx, warning, where.partition(" ")[0])
