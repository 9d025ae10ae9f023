"""The shardings that fragments and transfers store in attributes, and functions for their arguments and results."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import argument_sharding, result_shardings, set_argument_sharding, set_result_shardings
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed, fully_open, replaced_at
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import FragmentOp

Shardings = tuple[TensorSharding, ...]
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
        current = None if owner.out_shardings is None else owner.out_shardings.data
        entries = current or _others(owner.results, sharding, is_open=opens_others)
        owner.out_shardings = TensorShardingPerValueAttr(replaced_at(entries, value.index, sharding))
    elif isinstance(owner, TransferOp):
        set_result_shardings(owner, (sharding,))


def _others(values: Sequence[SSAValue], sharding: TensorSharding, *, is_open: bool) -> Shardings:
    if not is_open:
        return tuple(map(_unknown, values))
    return tuple(fully_open(sharding.mesh, rank_of_type(value.type)) for value in values)


def _set_input_sharding(fragment: FragmentOp, index: int, sharding: TensorSharding, *, opens_others: bool) -> None:
    current = None if fragment.in_shardings is None else fragment.in_shardings.data
    if current is None:
        current = _others(fragment.operands, sharding, is_open=opens_others)
    fragment.in_shardings = TensorShardingPerValueAttr(replaced_at(current, index, sharding))


def set_fragment_users(
    value: SSAValue, sharding: TensorSharding, *, only_annotated: bool = False, opens_others: bool = False
) -> None:
    """Store the sharding that all fragments expect of a value, or all that say what they expect.

    If a fragment stored none, the shardings of its other operands are not known, or fully open.
    """
    for use in value.uses:
        if isinstance(use.operation, FragmentOp) and not (only_annotated and use.operation.in_shardings is None):
            _set_input_sharding(use.operation, use.index, sharding, opens_others=opens_others)


def is_transfer_or_return(op: Operation) -> bool:
    """Return whether an op passes values on to other meshes or out of the function."""
    return isinstance(op, TransferOp | ReturnOp)
