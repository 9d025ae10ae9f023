"""Map a function over every sharding of a module, in upstream's order.

Source: docs/spec/04, 0.4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from sdy.dialects.sdy.attrs import TensorShardingAttr, TensorShardingPerValueAttr
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.sdy.ops import DataFlowEdgeOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.shardings import SHARDING
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.op_order import op_order

Rewrite = Callable[[TensorSharding], TensorSharding]


def map_shardings(module: ModuleOp, rewrite: Rewrite) -> None:
    """Replace every sharding of the module by `rewrite` of it, ops before the ops in their regions.

    For a manual computation these are its in and out shardings. `rewrite` is called once per distinct sharding.
    """
    known: dict[TensorSharding, TensorSharding] = {}

    def rewritten(sharding: TensorSharding) -> TensorSharding:
        new = known.get(sharding)
        if new is None:
            new = known[sharding] = rewrite(sharding)
        return new

    lists: dict[
        int, tuple[Attribute, Attribute]
    ] = {}  # by id(); the old list is kept alive, so that no new object gets its id
    for op in op_order(module).ops:
        map_special = _SPECIAL.get(type(op))
        if map_special is not None:
            map_special(op, rewritten)
        elif SHARDING in op.attributes:
            attr = op.attributes[SHARDING]
            pair = lists.get(id(attr))
            if pair is None:
                pair = lists[id(attr)] = attr, _mapped_list(attr, rewritten)
            if pair[1] is not attr:
                op.attributes[SHARDING] = pair[1]


def _map_func(op: Operation, rewrite: Rewrite) -> None:
    assert isinstance(op, FuncOp)
    op.arg_attrs = _mapped_attrs(op.arg_attrs, rewrite)
    op.res_attrs = _mapped_attrs(op.res_attrs, rewrite)


def _map_region_op(op: Operation, rewrite: Rewrite) -> None:
    for name in ("in_shardings", "out_shardings"):
        attr = op.properties.get(name)
        if attr is not None:
            op.properties[name] = _mapped_list(attr, rewrite)


def _map_property(name: str, op: Operation, rewrite: Rewrite) -> None:
    attr = op.properties.get(name)
    if isinstance(attr, TensorShardingAttr):
        op.properties[name] = _mapped(attr, rewrite)


# Ops that store shardings in properties, not in the attribute `sdy.sharding`.
_SPECIAL: dict[type[Operation], Callable[[Operation, Rewrite], None]] = {
    FuncOp: _map_func,
    **dict.fromkeys((ManualComputationOp, NamedComputationOp), _map_region_op),
    **dict.fromkeys((DataFlowEdgeOp, ReshardOp, ShardingConstraintOp), partial(_map_property, "sharding")),
    **dict.fromkeys(
        (op for op in SDY.operations if issubclass(op, CollectiveOp)), partial(_map_property, "out_sharding")
    ),
}


def _mapped_list(attr: Attribute, rewrite: Rewrite) -> Attribute:
    if not isinstance(attr, TensorShardingPerValueAttr):
        return attr
    shardings = tuple(rewrite(sharding) for sharding in attr.data)
    return attr if shardings == attr.data else TensorShardingPerValueAttr(shardings)


def _mapped(attr: TensorShardingAttr, rewrite: Rewrite) -> TensorShardingAttr:
    sharding = rewrite(attr.data)
    return attr if sharding is attr.data else TensorShardingAttr(sharding)


def _mapped_attrs(attrs: ArrayAttr[DictionaryAttr] | None, rewrite: Rewrite) -> ArrayAttr[DictionaryAttr] | None:
    if attrs is None:
        return None
    entries = [_mapped_entry(entry, rewrite) for entry in attrs]
    return attrs if all(new is old for new, old in zip(entries, attrs, strict=True)) else ArrayAttr(entries)


def _mapped_entry(entry: DictionaryAttr, rewrite: Rewrite) -> DictionaryAttr:
    attr = entry.data.get(SHARDING)
    if not isinstance(attr, TensorShardingAttr):
        return entry
    mapped = _mapped(attr, rewrite)
    return entry if mapped is attr else DictionaryAttr({**entry.data, SHARDING: mapped})
