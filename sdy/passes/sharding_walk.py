"""Mapping a function over every sharding of a module, in the order in which upstream meets them.

Source: spec of import and export, section 0.4.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from sdy.dialects.sdy.attrs import TensorShardingAttr, TensorShardingPerValueAttr
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.ops import DataFlowEdgeOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.shardings import SHARDING
from sdy.dialects.walk import pre_order
from sdy.model.sharding import TensorSharding

Rewrite = Callable[[TensorSharding], TensorSharding]


def map_shardings(module: ModuleOp, rewrite: Rewrite) -> None:
    """Replace every sharding of the module by what `rewrite` makes of it: ops before the ops in their regions.

    Of a manual computation these are the shardings that it shows outside.
    """
    for op in pre_order(module):
        _map_op(op, rewrite)


def _map_op(op: Operation, rewrite: Rewrite) -> None:
    match op:
        case FuncOp():
            op.arg_attrs = _mapped_attrs(op.arg_attrs, rewrite)
            op.res_attrs = _mapped_attrs(op.res_attrs, rewrite)
        case ManualComputationOp() | NamedComputationOp():
            for name in ("in_shardings", "out_shardings"):
                _map_list(op.properties, name, rewrite)
        case DataFlowEdgeOp() | ReshardOp() | ShardingConstraintOp():
            if op.sharding is not None:
                op.sharding = _mapped(op.sharding, rewrite)
        case CollectiveOp():
            op.out_sharding = _mapped(op.out_sharding, rewrite)
        case _:
            _map_list(op.attributes, SHARDING, rewrite)


def _map_list(attributes: dict[str, Attribute], name: str, rewrite: Rewrite) -> None:
    attr = attributes.get(name)
    if isinstance(attr, TensorShardingPerValueAttr):
        shardings = tuple(rewrite(sharding) for sharding in attr.data)
        if shardings != attr.data:
            attributes[name] = TensorShardingPerValueAttr(shardings)


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
