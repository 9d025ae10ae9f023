"""Rewrites a program with other sizes. Ops, locations and other attributes than sizes stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.fast_ops import copy_with_regions, set_type
from sdy.dialects.ir.walk import blocks_of, pre_order
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.evidence.sizes.devices import SmallerMesh
from sdy.evidence.sizes.size_classes import Variable
from sdy.evidence.sizes.ties import Ties, ints_in, with_ints

NewSize = Callable[[Variable], int]
Numbers = Mapping[float, float]  # new numbers of a constant, by the original ones


def rewritten(module: ModuleOp, ties: Ties, new_size: NewSize, constants: Mapping[Operation, Numbers]) -> ModuleOp:
    """Return a copy of a module with new sizes, and with new numbers in some constants."""
    copy = copy_with_regions(module)
    ops = pre_order(module)
    types = _Types()
    attributes: dict[Operation, dict[str, dict[int, int]]] = {}
    for (op, name, index), variable in ties.attributes.items():
        attributes.setdefault(op, {}).setdefault(name, {})[index] = new_size(variable)
    for op, new in zip(ops, pre_order(copy), strict=True):
        types.set_all(op, new, ties, new_size)
        for name, numbers in attributes.get(op, {}).items():
            ints = [numbers.get(index, each) for index, each in enumerate(ints_in(op.properties[name]))]
            new.properties[name] = with_ints(op.properties[name], ints)
        _set_devices(op, new, ties.mesh)
        value = op.properties.get("value")
        if op in ties.mesh.tables:
            offsets = [constants.get(op, {}).get(each, each) for each in ties.mesh.tables[op].offsets]
            dense_type = cast("TensorType[Attribute]", new.results[0].type)
            new.properties["value"] = DenseElementsAttr.from_values(dense_type, [int(each) for each in offsets])
            continue
        if isinstance(value, DenseElementsAttr) and op.results:
            new.properties["value"] = _constant(value, new.results[0].type, constants.get(op, {}))
    for func in pre_order(copy):
        if isinstance(func, FuncOp) and func.body.blocks:
            block = func.body.block
            last = block.last_op
            results = [] if last is None else [each.type for each in last.operands]
            func.properties["function_type"] = FunctionType.from_lists([each.type for each in block.args], results)
    count = module.attributes.get("mhlo.num_partitions")
    if isinstance(count, IntegerAttr) and ties.mesh.before != ties.mesh.after:
        copy.attributes["mhlo.num_partitions"] = IntegerAttr(ties.mesh.after, 32)
    return copy


def _set_devices(op: Operation, new: Operation, mesh: SmallerMesh) -> None:
    """Give a collective the groups of a smaller mesh."""
    if op not in mesh.groups:
        return
    rows = mesh.groups[op]
    table_type = TensorType(i64, [len(rows), len(rows[0])])
    name = "replica_groups" if "replica_groups" in op.properties else "source_target_pairs"
    new.properties[name] = DenseElementsAttr.from_values(table_type, [each for row in rows for each in row])
    if "split_count" in op.properties:
        new.properties["split_count"] = IntegerAttr(mesh.sizes[op][1], i64)


class _Types:
    """Types with new sizes. Equal types are the same object, so that equal ops are verified once.

    They are found by the ids of the original types, which live as long as the module that is rewritten.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[int, tuple[int, ...]], Attribute] = {}

    def set_all(self, op: Operation, new: Operation, ties: Ties, new_size: NewSize) -> None:
        """Set the types of the values that an op defines in its copy."""
        for value, other in zip(op.results, new.results, strict=True):
            self._set(value, other, ties, new_size)
        for block, copy in zip(blocks_of(op), blocks_of(new), strict=True):
            for value, other in zip(block.args, copy.args, strict=True):
                self._set(value, other, ties, new_size)

    def _set(self, value: SSAValue, copy: SSAValue, ties: Ties, new_size: NewSize) -> None:
        tensor = as_tensor(value.type)
        if tensor is None:
            return
        key = id(tensor), tuple(new_size(each) for each in ties.of(value))
        if key not in self._found:
            self._found[key] = TensorType(tensor.element_type, key[1], tensor.encoding)
        set_type(copy, self._found[key])


def _constant(value: DenseElementsAttr, result_type: Attribute, numbers: Numbers) -> DenseElementsAttr:
    """Return a constant of a new type with new numbers."""
    tensor = as_tensor(result_type)
    assert tensor is not None
    dense_type = TensorType(value.type.get_element_type(), tensor.get_shape(), tensor.encoding)
    if value.is_splat:
        (number,) = value.data.codec.decode_all(value.data.raw)
        if not isinstance(number, complex) and number in numbers and numbers[number] != number:
            return DenseElementsAttr.from_values(dense_type, (_typed(number, numbers[number]),))
        return DenseElementsAttr.from_bytes(dense_type, value.data.raw)
    found = value.get_values()
    if not any(numbers.get(cast("float", each), each) != each for each in found):
        return value
    return DenseElementsAttr.from_values(
        dense_type, [_typed(each, numbers.get(cast("float", each), each)) for each in found]
    )


def _typed(original: object, number: object) -> int | float:
    assert isinstance(number, int | float)
    return int(number) if isinstance(original, int) else float(number)
