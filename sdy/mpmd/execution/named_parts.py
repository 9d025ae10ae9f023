"""Turn the marked calls of a JAX program into named computations and calls of microbatches.

before  %0 = call @part(%x)        func @part(%a) { %1 = composite "sdy.mpmd.computation" %a {label = "f"}  ... }
after   %0 = mpmd.named_computation<"f"> (%x) (%a) { ... }
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.fast_ops import replace_uses
from sdy.dialects.ir.symbols import MAIN, functions_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.stablehlo.calls import CompositeOp
from sdy.mpmd.dialect import syntax
from sdy.mpmd.dialect.attrs import NamedMesh, Reduction, TopologyAttr, UserOrigin, UserOriginAttr
from sdy.mpmd.dialect.functions import TOPOLOGY
from sdy.mpmd.dialect.ops import CALL_COUNTER, BroadcastOp, CallOp, NamedTensorOp, ReduceOp, ui32
from sdy.mpmd.dialect.regions import NamedComputationOp
from sdy.passes.rewriting.insertion import erase, replace_op

PREFIX = "sdy.mpmd."


class Marker(NamedTuple):
    """A marker: its kind, its name, and how often differentiation transposed it."""

    kind: str
    name: str
    transposed: int


def name_parts(module: ModuleOp, topology: tuple[NamedMesh, ...]) -> None:
    """Replace the marked calls and the markers of a program, and give the main function a topology."""
    functions = functions_of(module)
    parts = {name: found for name, func in functions.items() if (found := _part_of(func)) is not None}
    for op in ops_of(module, FuncCallOp):
        part = parts.get(op.callee.string_value())
        if part is not None and part.kind == "call":
            callee = SymbolRefAttr(op.callee.string_value())
            types = list(op.result_types)
            call = CallOp.create(operands=op.operands, result_types=types, properties={"callee": callee})
            call.attributes |= _counter_of(op)
            replace_op(op, call)
    for op in ops_of(module, CompositeOp):
        marker = _marker_of(op)
        if marker is not None:
            _replace_marker(op, marker)
    for func in list(functions.values()):
        if func.sym_name.data not in parts or parts[func.sym_name.data].kind == "call":
            _name_computations(func, functions, parts)
    for name, func in functions.items():
        if name.startswith(PREFIX) or (name in parts and parts[name].kind == "computation"):
            erase(func)
    functions[MAIN].attributes[TOPOLOGY] = TopologyAttr(topology)


def _counter_of(call: FuncCallOp) -> dict[str, Attribute]:
    """Return the number of the microbatch, which the markers around a call know."""
    users = (use.operation for result in call.results for use in result.uses)
    for op in (*(operand.owner for operand in call.operands), *users):
        marker = _marker_of(op) if isinstance(op, CompositeOp) else None
        if marker is not None and marker.kind == "counter":
            return {CALL_COUNTER: IntegerAttr(int(marker.name), ui32)}
    return {}


def _marker_of(op: CompositeOp) -> Marker | None:
    if not op.composite_name.data.startswith(PREFIX):
        return None
    label, count = (op.composite_attributes.data.get(key) for key in ("label", "count"))
    assert isinstance(label, StringAttr)  # as the front end writes them
    assert isinstance(count, IntegerAttr)
    return Marker(op.composite_name.data.removeprefix(PREFIX), label.data, count.value.data)


def _part_of(func: FuncOp) -> Marker | None:
    """Return the marker of the part that a function is: that which was transposed most often."""
    found = [_marker_of(op) for op in func.body.block.ops if isinstance(op, CompositeOp)] if func.body.blocks else []
    parts = [each for each in found if each is not None and each.kind in ("computation", "call")]
    return max(parts, key=lambda each: each.transposed, default=None)


def _replace_marker(op: CompositeOp, marker: Marker) -> None:
    (operand,), (result,) = op.operands, op.results
    replacement: Operation
    match marker.kind:
        case "tensor":
            properties: dict[str, Attribute] = {"name": StringAttr(marker.name)}
            replacement = NamedTensorOp.create(operands=[operand], result_types=[operand.type], properties=properties)
        case "broadcast":
            replacement = BroadcastOp.create(operands=[operand], result_types=[operand.type])
        case "reduce":
            replacement = ReduceOp(Reduction.NONE, [operand])
        case _:
            replace_uses(result, operand)
            erase(op)
            return
    replace_op(op, replacement)


def _name_computations(func: FuncOp, functions: dict[str, FuncOp], parts: dict[str, Marker]) -> None:
    """Replace the calls of named parts in a function, and in the bodies that replace them."""
    while calls := [op for op in ops_of(func, FuncCallOp) if op.callee.string_value() in parts]:
        for call in calls:
            part, body = parts[call.callee.string_value()], functions[call.callee.string_value()].body.clone()
            end = terminator_of(body)
            assert isinstance(end, ReturnOp)
            replace_op(end, syntax.ReturnOp(*end.operands))
            computation = NamedComputationOp.create(
                operands=call.operands,
                result_types=list(call.result_types),
                properties={"origin": UserOriginAttr(UserOrigin(part.name, part.transposed))},
                regions=[body],
            )
            replace_op(call, computation)
