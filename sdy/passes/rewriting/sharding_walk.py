"""Map a function over every sharding of a module, in upstream's order.

Source: docs/spec/04, 0.4.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from sdy.dialects.facts.traits import sharding_properties
from sdy.dialects.sdy.attrs import TensorShardingAttr, TensorShardingPerValueAttr
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
        if type(op) is FuncOp:
            map_boundary_shardings(op, rewritten)
            continue
        properties = sharding_properties(type(op))
        for name in properties:
            if name in op.properties:
                op.properties[name] = _mapped(op.properties[name], rewritten)
        if not properties and SHARDING in op.attributes:
            attr = op.attributes[SHARDING]
            pair = lists.get(id(attr))
            if pair is None:
                pair = lists[id(attr)] = attr, _mapped(attr, rewritten)
            if pair[1] is not attr:
                op.attributes[SHARDING] = pair[1]


def map_boundary_shardings(func: FuncOp, rewrite: Rewrite) -> None:
    """Replace the shardings of the arguments and results of a function by `rewrite` of them."""
    func.arg_attrs = _mapped_attrs(func.arg_attrs, rewrite)
    func.res_attrs = _mapped_attrs(func.res_attrs, rewrite)


def _mapped(attr: Attribute, rewrite: Rewrite) -> Attribute:
    match attr:
        case TensorShardingAttr():
            sharding = rewrite(attr.data)
            return attr if sharding is attr.data else TensorShardingAttr(sharding)
        case TensorShardingPerValueAttr():
            shardings = tuple(rewrite(sharding) for sharding in attr.data)
            return attr if shardings == attr.data else TensorShardingPerValueAttr(shardings)
        case _:
            return attr


def _mapped_attrs(attrs: ArrayAttr[DictionaryAttr] | None, rewrite: Rewrite) -> ArrayAttr[DictionaryAttr] | None:
    if attrs is None:
        return None
    entries = [_mapped_entry(entry, rewrite) for entry in attrs]
    return attrs if all(new is old for new, old in zip(entries, attrs, strict=True)) else ArrayAttr(entries)


def _mapped_entry(entry: DictionaryAttr, rewrite: Rewrite) -> DictionaryAttr:
    attr = entry.data.get(SHARDING)
    if attr is None:
        return entry
    mapped = _mapped(attr, rewrite)
    return entry if mapped is attr else DictionaryAttr({**entry.data, SHARDING: mapped})
