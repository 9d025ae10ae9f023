"""Remove private symbols that no live op refers to. Source: docs/spec/04, 6.2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import of_class, op_and_nested_ops, reached
from sdy.dialects.sdy.ops import ConstantOp
from sdy.dialects.stablehlo.shape import ConstantOp as StablehloConstantOp
from sdy.passes.rewriting.call_graph import call_sites, callee_name
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import keep_order_without, op_order
from sdy.rules.all import BY_TYPE

PRIVATE = StringAttr("private")
REFERRING = frozenset[type[Attribute]](
    (SymbolRefAttr, ArrayAttr, DictionaryAttr)
)  # may contain symbol names; have no subclasses
# Frequent ops whose properties contain no symbol names; the callees of calls are known.
NAMELESS = frozenset[type[Operation]]((CallOp, ConstantOp, StablehloConstantOp, *BY_TYPE))


class SymbolDcePass(ModulePass):
    """Remove private functions that are unreachable."""

    name = "symbol-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark what is reachable from public symbols and from ops that are not symbols; remove the rest."""
        functions = functions_of(op)
        private = {name for name, func in functions.items() if _is_private(func)}
        erased: list[Operation] = []
        uncalled = private - _called(functions, call_sites(op)) if private else private
        if uncalled and not (_has_only_functions(op) and uncalled.isdisjoint(_names_in_attributes(op_order(op).ops))):
            uncalled -= _reachable(op, functions)
        for name in uncalled:
            func = functions[name]
            erased += op_and_nested_ops(func)
            erase(func)
        keep_order_without(op, erased)


def _has_only_functions(module: ModuleOp) -> bool:
    """Return whether only functions of the module contain ops, and so may call."""
    return all(type(op) is FuncOp for op in module.ops if op.regions)


def _called(functions: dict[str, FuncOp], calls: dict[str, list[CallOp]]) -> set[str]:
    """Return public functions and those reachable by calls from them: nearly always all live functions."""
    public = [name for name, func in functions.items() if not _is_private(func)]
    return set(reached(public, lambda name: filter(functions.__contains__, map(callee_name, calls[name]))))


def _reachable(module: ModuleOp, functions: dict[str, FuncOp]) -> set[str]:
    """Return the functions that live ops are or refer to, in attributes too."""
    live = [inner for inner in module.ops if not _is_private(inner)]
    found = reached(live, lambda op: [functions[name] for name in _referenced(op) if name in functions])
    return {op.sym_name.data for op in found if isinstance(op, FuncOp)}


def _is_private(op: Operation) -> bool:
    return isinstance(op, FuncOp) and op.sym_visibility == PRIVATE


def _referenced(op: Operation) -> set[str]:
    """Return the symbol names in `op` and in nested ops."""
    inner = op_and_nested_ops(op)
    return _names_in_attributes(inner) | {callee_name(call) for call in of_class(inner, CallOp)}


def _names_in_attributes(ops: Sequence[Operation]) -> set[str]:
    """Return the symbol names in attributes and properties of ops, except calls."""
    held = [op.attributes for op in ops if op.attributes]
    held += [op.properties for op in ops if type(op) not in NAMELESS]
    # By id(): many ops share attributes.
    distinct = {id(attribute): attribute for attributes in held for attribute in attributes.values()}
    referring = [attribute for attribute in distinct.values() if type(attribute) in REFERRING]
    return {name for attribute in referring for name in _names_in(attribute)}


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
