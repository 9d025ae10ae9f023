"""Edits of ops as a wrong pass could make them: most of them make a module invalid."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f32,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from sdy.dialects.ir.fast_ops import set_type
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.attrs import (
    ManualAxesAttr,
    MeshAttr,
    OpShardingRuleAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import SHARDING
from sdy.grammar.parse import parse_mesh, parse_rule, parse_sharding

OTHER_TYPE = TensorType(i32, [3])
SHARDINGS = {
    "unknown mesh": (parse_sharding("<@other, [{}, {}]>"),),
    "unknown axis": (parse_sharding('<@mesh, [{"z"}, {}]>'),),
    "repeated axis": (parse_sharding('<@mesh, [{"x"}, {"y", "x"}]>'),),
    "rank 3": (parse_sharding("<@mesh, [{}, {}, {}]>"),),
    "other axes": (parse_sharding('<@mesh, [{"y"}, {"x"}]>'),),
    "two shardings": (parse_sharding("<@mesh, [{}, {}]>"),) * 2,
}
ARGUMENT_SHARDING = ArrayAttr(
    [DictionaryAttr({SHARDING: TensorShardingAttr(parse_sharding("<@mesh, [{}]>"))}), DictionaryAttr({})]
)
OTHER_RULE = OpShardingRuleAttr(parse_rule("<([i])->([i]) {i=8}>"))

Edit = Callable[[Operation], object]


def set_attribute(name: str, attr: Attribute) -> Edit:
    def edit(op: Operation) -> None:
        op.attributes[name] = attr

    return edit


def set_property(name: str, attr: Attribute) -> Edit:
    def edit(op: Operation) -> None:
        op.properties[name] = attr

    return edit


def drop_property(name: str) -> Edit:
    return lambda op: op.properties.pop(name)


def drop_attribute(name: str) -> Edit:
    return lambda op: op.attributes.pop(name)


def set_operands(change: Callable[[list[SSAValue]], list[SSAValue]]) -> Edit:
    def edit(op: Operation) -> None:
        op.operands = change(list(op.operands))

    return edit


def use_later_value(op: Operation) -> None:
    """Use the result of the last op of the main function that has one."""
    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    later = [inner.results[0] for inner in pre_order(module) if inner.results and inner.name == "stablehlo.add"][-1]
    op.operands[0] = later


def append_to_block(op: Operation) -> None:
    block = op.parent
    assert block is not None
    op.detach()
    block.add_op(op)


def prepend_to_block(op: Operation) -> None:
    block = op.parent
    assert block is not None
    op.detach()
    first = block.first_op
    if first is None:
        block.add_op(op)
    else:
        block.insert_op_before(op, first)


def move_to_other_function(op: Operation) -> None:
    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    op.detach()
    callee = [inner for inner in module.ops if isinstance(inner, FuncOp)][-1]
    if callee.body.blocks:
        first = callee.body.blocks[0].first_op
        assert first is not None
        callee.body.blocks[0].insert_op_before(op, first)


def insert_terminator(op: Operation) -> None:
    block = op.parent
    assert block is not None
    block.insert_op_before(ReturnOp(), op)


def replace_by_copy(op: Operation) -> None:
    """Replace an op by a copy whose results have no users: the users refer to the op outside of the module."""
    block = op.parent
    assert block is not None
    block.insert_op_before(op.clone(), op)
    op.detach()


def remove_block(op: Operation) -> None:
    op.regions[0].detach_block(op.regions[0].blocks[0])


def add_argument(op: Operation) -> None:
    op.regions[0].blocks[0].insert_arg(f32, 0)


def add_sibling_block(op: Operation) -> None:
    op.regions[0].add_block(Block())


def retype_argument(op: Operation) -> None:
    set_type(op.regions[0].blocks[0].args[0], OTHER_TYPE)


def remove_last_op(op: Operation) -> None:
    last = op.regions[0].blocks[0].last_op
    assert last is not None
    last.detach()


def edits_of(op: Operation) -> dict[str, Edit]:
    """Return edits of an op, by name."""
    if isinstance(op, ModuleOp):
        return {}
    edits = dict(EDITS | _edits_of_properties(op) | _edits_of_class(op))
    if op.operands:
        edits |= OPERAND_EDITS
    if op.results:
        edits |= RESULT_EDITS
    if op.regions and op.regions[0].blocks:
        edits |= REGION_EDITS
        if op.regions[0].blocks[0].args:
            edits["retype argument"] = retype_argument
    return edits


def _edits_of_properties(op: Operation) -> dict[str, Edit]:
    edits: dict[str, Edit] = {}
    for name in op.properties:
        edits[f"set {name}"] = set_property(name, UnitAttr())
        edits[f"drop {name}"] = drop_property(name)
    for name in op.attributes:
        edits[f"drop attribute {name}"] = drop_attribute(name)
    if "sym_name" in op.properties:
        for name in ("callee", "mesh", "other"):
            edits[f"rename to {name}"] = set_property("sym_name", StringAttr(name))
    return edits


def _edits_of_class(op: Operation) -> dict[str, Edit]:
    match op:
        case FuncOp():
            other = FunctionType.from_lists([OTHER_TYPE], [])
            return {
                "function type": set_property("function_type", other),
                "argument sharding": set_property("arg_attrs", ARGUMENT_SHARDING),
            }
        case CallOp():
            return {"unknown callee": set_property("callee", SymbolRefAttr("other"))}
        case MeshOp():
            meshes = {"mesh without y": '<["x"=2]>', "mesh of 8 devices": '<["x"=2, "y"=4]>'}
            return {name: set_property("mesh", MeshAttr(parse_mesh(text))) for name, text in meshes.items()}
        case ManualComputationOp():
            return {"more manual axes": set_property("manual_axes", ManualAxesAttr(("x", "y")))}
        case _:
            return {}


EDITS: dict[str, Edit] = {
    "sharding of another kind": set_attribute(SHARDING, UnitAttr()),
    "unknown attribute": set_attribute("mhlo.note", UnitAttr()),
    "unknown property": set_property("unknown", UnitAttr()),
    "detach": Operation.detach,
    "append to block": append_to_block,
    "prepend to block": prepend_to_block,
    "move to another function": move_to_other_function,
    "terminator in the middle": insert_terminator,
    "replace by copy": replace_by_copy,
}
OPERAND_EDITS: dict[str, Edit] = {
    "drop operand": set_operands(lambda operands: operands[:-1]),
    "repeat operand": set_operands(lambda operands: [*operands, operands[-1]]),
    "reverse operands": set_operands(lambda operands: operands[::-1]),
    "use later value": use_later_value,
}
RESULT_EDITS: dict[str, Edit] = {
    "retype result": lambda op: set_type(op.results[0], OTHER_TYPE),
    **{name: set_attribute(SHARDING, TensorShardingPerValueAttr(found)) for name, found in SHARDINGS.items()},
    "rule of another op": set_attribute("sdy.sharding_rule", OTHER_RULE),
    "edges of another kind": set_attribute("sdy.propagation_edges", UnitAttr()),
}
REGION_EDITS: dict[str, Edit] = {
    "remove block": remove_block,
    "add argument": add_argument,
    "add block": add_sibling_block,
    "remove last op": remove_last_op,
}
