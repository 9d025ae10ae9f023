"""Remove private symbols that nothing alive refers to. Source: spec of import and export, section 6.2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from sdy.dialects.symbols import functions_of
from sdy.dialects.walk import pre_order
from sdy.passes.insertion import erase

PRIVATE = StringAttr("private")
REFERRING = frozenset[type[Attribute]]((SymbolRefAttr, ArrayAttr, DictionaryAttr))  # may hold names; have no subclasses


@dataclass(frozen=True)
class SymbolDcePass(ModulePass):
    """Remove functions that are private and unreachable."""

    name = "symbol-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark what is reachable from public symbols and from ops that are no symbols; remove the rest."""
        functions = functions_of(op)
        if not any(_is_private(func) for func in functions.values()):
            return
        alive: set[str] = set()
        pending = [inner for inner in op.ops if not _is_private(inner)]
        while pending:
            for name in _referenced(pending.pop()):
                if name in functions and name not in alive:
                    alive.add(name)
                    if _is_private(functions[name]):
                        pending.append(functions[name])
        for name, func in functions.items():
            if _is_private(func) and name not in alive:
                erase(func)


def _is_private(op: Operation) -> bool:
    return isinstance(op, FuncOp) and op.sym_visibility == PRIVATE


def _referenced(op: Operation) -> Iterator[str]:
    for inner in (op, *pre_order(op)):
        for attributes in (inner.properties, inner.attributes):
            for attribute in attributes.values():
                if type(attribute) in REFERRING:
                    yield from _names_in(attribute)


def _names_in(attribute: Attribute) -> Iterator[str]:
    match attribute:
        case SymbolRefAttr():
            yield attribute.root_reference.data
        case ArrayAttr():
            for element in attribute:
                yield from _names_in(element)
        case DictionaryAttr():
            for element in attribute.data.values():
                yield from _names_in(element)
        case _:
            pass
