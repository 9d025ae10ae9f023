"""Ops and locations made without the checks of xDSL's constructors, which cost more than all else that a line takes.

The one place that sets private fields of xDSL's classes; a test compares what it makes with what the constructors make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeVar, cast

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use

OpT = TypeVar("OpT", bound=Operation)

# The operands of an op as a tuple, not as the view that `operands` gives anew each time.
operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
# The type of a value, for loops over many: the property `type` is a call of a function.
type_of: Callable[[SSAValue], Attribute] = attrgetter("_type")
_item = cast("Callable[[tuple[SSAValue, ...], int], SSAValue]", tuple.__getitem__)


def nth_result(op: Operation, index: int = 0) -> SSAValue:
    """What `op.results[index]` gives, of which xDSL asks first whether the index is a slice."""
    return _item(op.results, index)


def make_op(
    op_class: type[OpT],
    operands: Sequence[SSAValue],
    result_types: Iterable[Attribute],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    location: LocationAttr,
    regions: Iterable[Region] = (),
) -> OpT:
    """What `op_class.create` gives; for an op like one that the constructor has made, defaults filled in."""
    op = object.__new__(op_class)
    op._operands = SSAValues(operands)  # pyright: ignore[reportPrivateUsage] -- see above
    uses: list[Use] = []
    for index, operand in enumerate(operands):
        use = Use(op, index)
        uses.append(use)
        operand.add_use(use)
    op._operand_uses = tuple(uses)  # pyright: ignore[reportPrivateUsage] -- see above
    op.results = SSAValues([OpResult(result_type, op, index) for index, result_type in enumerate(result_types)])
    op.properties = dict(properties)
    op.attributes = dict(attributes)
    op.location = location
    for region in regions:
        op.add_region(region)
    return op


def copy_before(op: OpT, operands: Sequence[SSAValue], place: Operation | None = None) -> OpT:
    """A copy of `op` with other operands, right before `place`, or where that is None, before `op`."""
    if op.regions or op._successors:  # pyright: ignore[reportPrivateUsage] -- see above
        copy = op.clone()
        copy.operands = operands
    else:
        copy = make_op(type(op), operands, map(type_of, op.results), op.properties, op.attributes, op.location)
        for result, new in zip(op.results, copy.results, strict=True):
            new._name = result._name  # pyright: ignore[reportPrivateUsage] -- see above
    _link_before(copy, place or op)
    return copy


def copy_with_regions(op: OpT, values: dict[SSAValue, SSAValue] | None = None) -> OpT:
    """What `op.clone(values)` gives: `values` stand for those outside, and get the results and what is inside."""
    values = {} if values is None else values
    branches = bool(op._successors)  # pyright: ignore[reportPrivateUsage] -- see above
    if branches or any(region.first_block is not region.last_block for region in op.regions):
        return op.clone(values)
    operands = [values.get(operand, operand) for operand in operands_of(op)]
    copy = make_op(type(op), operands, map(type_of, op.results), op.properties, op.attributes, op.location)
    _stand_for(op.results, copy.results, values)
    for region in op.regions:
        copy.add_region(Region([_copy_of_block(block, values) for block in region.blocks]))
    return copy


def _copy_of_block(block: Block, values: dict[SSAValue, SSAValue]) -> Block:
    copy = Block()
    for index, argument in enumerate(block.args):
        copy.insert_arg(argument.type, index, argument.location)
    _stand_for(block.args, copy.args, values)
    copy.add_ops([copy_with_regions(op, values) for op in block.ops])
    return copy


def _stand_for(old: Iterable[SSAValue], new: Iterable[SSAValue], values: dict[SSAValue, SSAValue]) -> None:
    for value, copy in zip(old, new, strict=True):
        values[value] = copy
        copy._name = value._name  # pyright: ignore[reportPrivateUsage] -- see above


def _link_before(new: Operation, op: Operation) -> None:
    """Put an op that has no block yet right before `op`."""
    block, before = op.parent, op._prev_op  # pyright: ignore[reportPrivateUsage] -- see above
    assert block is not None
    new.parent = block
    new._prev_op, new._next_op = before, op  # pyright: ignore[reportPrivateUsage] -- see above
    op._prev_op = new  # pyright: ignore[reportPrivateUsage] -- see above
    if before is None:
        block._first_op = new  # pyright: ignore[reportPrivateUsage] -- see above
    else:
        before._next_op = new  # pyright: ignore[reportPrivateUsage] -- see above


def detach_range(first: Operation, last: Operation) -> None:
    """Take all ops from `first` to `last` out of their block at once; they remain linked with each other."""
    block, before, after = first.parent, first._prev_op, last._next_op  # pyright: ignore[reportPrivateUsage] -- see above
    assert block is not None
    if before is None:
        block._first_op = after  # pyright: ignore[reportPrivateUsage] -- see above
    else:
        before._next_op = after  # pyright: ignore[reportPrivateUsage] -- see above
    if after is None:
        block._last_op = before  # pyright: ignore[reportPrivateUsage] -- see above
    else:
        after._prev_op = before  # pyright: ignore[reportPrivateUsage] -- see above
    first._prev_op = last._next_op = None  # pyright: ignore[reportPrivateUsage] -- see above


def replace_uses(value: SSAValue, replacement: SSAValue) -> None:
    """What `value.replace_all_uses_with(replacement)` does; the order of the uses comes out the same."""
    if value is not replacement:
        redirect_uses(value, tuple(value.uses), replacement)


def redirect_uses(value: SSAValue, uses: Iterable[Use], replacement: SSAValue) -> None:
    """The same for some of the uses of `value`."""
    for use in uses:
        set_operand(use.operation, use.index, replacement)
    if replacement._name is None:  # pyright: ignore[reportPrivateUsage] -- see above
        replacement._name = value._name  # pyright: ignore[reportPrivateUsage] -- see above


def set_operand(op: Operation, index: int, value: SSAValue) -> None:
    """What `op.operands[index] = value` does."""
    operands = list(op._operands)  # pyright: ignore[reportPrivateUsage] -- see above
    use = op._operand_uses[index]  # pyright: ignore[reportPrivateUsage] -- see above
    operands[index].remove_use(use)
    value.add_use(use)
    operands[index] = value
    op._operands = SSAValues(operands)  # pyright: ignore[reportPrivateUsage] -- see above


def set_type(value: SSAValue, value_type: Attribute) -> None:
    """Give `value` another type, of which xDSL wants a new value, and each use of the old one replaced."""
    value._type = value_type  # pyright: ignore[reportPrivateUsage] -- see above


def make_location(file: StringAttr, line: int, column: IntAttr) -> FileLineColLoc:
    """`FileLineColLoc(file, IntAttr(line), column)`."""
    location = object.__new__(FileLineColLoc)
    for name, value in (("filename", file), ("line", IntAttr(line)), ("column", column)):
        object.__setattr__(location, name, value)
    return location
