"""Fast equivalents of xDSL's op constructors and edits, without their checks, which would dominate the parsing time.

This is the only module that sets private fields of xDSL's classes; tests compare its results with xDSL's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeVar, cast

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use

from sdy.dialects.ir.edit_log import note_type

OpT = TypeVar("OpT", bound=Operation)

# Sets a field without the knowledge of logs of edits (`edit_log.py`): one of an op that is in no block yet, or a link
# between ops, which matters to no log. While a log listens, an assignment takes six times as long.
_set = object.__setattr__

# The operands of an op as a tuple. `op.operands` would create a new view at each access.
operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
# The type of a value. `value.type` is a property and slower in loops.
type_of: Callable[[SSAValue], Attribute] = attrgetter("_type")
# `values[index]` of a tuple of values, without xDSL's test whether the index is a slice.
item_of = cast("Callable[[Sequence[SSAValue], int], SSAValue]", tuple.__getitem__)


def nth_result(op: Operation, index: int = 0) -> SSAValue:
    """Return `op.results[index]`, without xDSL's test whether the index is a slice."""
    return item_of(op.results, index)


def make_op(
    op_class: type[OpT],
    operands: Sequence[SSAValue],
    result_types: Iterable[Attribute],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    location: LocationAttr,
    regions: Iterable[Region] = (),
) -> OpT:
    """Return an op like `op_class.create`. Properties with defaults must be included."""
    op = object.__new__(op_class)
    _set(op, "_operands", SSAValues(operands))
    _set(op, "_operand_uses", _new_uses(op, operands))
    results = SSAValues([OpResult(result_type, op, index) for index, result_type in enumerate(result_types)])
    _set(op, "results", results)
    _set(op, "properties", {**properties})
    _set(op, "attributes", {**attributes})
    _set(op, "location", location)
    for region in regions:
        op.add_region(region)
    return op


def _new_uses(op: Operation, operands: Sequence[SSAValue]) -> tuple[Use, ...]:
    """Return the uses of the operands by an op, added to those of each operand, as `operand.add_use` does."""
    uses: list[Use] = []
    for operand in operands:
        use = Use(op, len(uses))
        uses.append(use)
        following = operand.first_use
        if following is not None:
            use._next_use = following  # pyright: ignore[reportPrivateUsage] -- see above
            following._prev_use = use  # pyright: ignore[reportPrivateUsage] -- see above
        operand.first_use = use
    return tuple(uses)


def append_new_op(
    block: Block,
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    location: LocationAttr,
) -> Operation:
    """Append an op without regions to a block, like `make_op` and `append_op`, but twice as fast without logs."""
    op = object.__new__(op_class)
    op._operands = SSAValues(operands)  # pyright: ignore[reportPrivateUsage] -- see above
    op._operand_uses = _new_uses(op, operands)  # pyright: ignore[reportPrivateUsage] -- see above
    if len(result_types) == 1:
        op.results = SSAValues((OpResult(result_types[0], op, 0),))
    else:
        op.results = SSAValues([OpResult(result_type, op, index) for index, result_type in enumerate(result_types)])
    op.properties = {**properties}
    op.attributes = {**attributes}
    op.location = location
    append_op(block, op)
    return op


def copy_before(op: OpT, operands: Sequence[SSAValue], anchor: Operation | None = None) -> OpT:
    """Insert a copy of `op` with other operands right before `anchor`, by default before `op`, and return it."""
    if op.regions or op._successors:  # pyright: ignore[reportPrivateUsage] -- see above
        copy = op.clone()
        copy.operands = operands
    else:
        copy = make_op(type(op), operands, map(type_of, op.results), op.properties, op.attributes, op.location)
        for result, new in zip(op.results, copy.results, strict=True):
            new._name = result._name  # pyright: ignore[reportPrivateUsage] -- see above
    insert_op_before(copy, anchor or op)
    return copy


def copy_with_regions(op: OpT, values: dict[SSAValue, SSAValue] | None = None) -> OpT:
    """Return a copy like `op.clone(values)`: operands are mapped by `values`, to which all new values are added."""
    values = {} if values is None else values
    has_successors = bool(op._successors)  # pyright: ignore[reportPrivateUsage] -- see above
    if has_successors or any(region.first_block is not region.last_block for region in op.regions):
        return op.clone(values)
    operands = [values.get(operand, operand) for operand in operands_of(op)]
    copy = make_op(type(op), operands, map(type_of, op.results), op.properties, op.attributes, op.location)
    _map_values(op.results, copy.results, values)
    for region in op.regions:
        copy.add_region(Region([_copy_block(block, values) for block in region.blocks]))
    return copy


def _copy_block(block: Block, values: dict[SSAValue, SSAValue]) -> Block:
    copy = Block()
    for index, argument in enumerate(block.args):
        copy.insert_arg(argument.type, index, argument.location)
    _map_values(block.args, copy.args, values)
    for op in block.ops:
        append_op(copy, copy_with_regions(op, values))
    return copy


def _map_values(old: Iterable[SSAValue], new: Iterable[SSAValue], values: dict[SSAValue, SSAValue]) -> None:
    for value, copy in zip(old, new, strict=True):
        values[value] = copy
        copy._name = value._name  # pyright: ignore[reportPrivateUsage] -- see above


def insert_op_before(new: Operation, op: Operation) -> None:
    """Insert an op without a parent block right before `op`, like `op.parent.insert_op_before(new, op)`."""
    block, previous = op.parent, op._prev_op  # pyright: ignore[reportPrivateUsage] -- see above
    assert block is not None
    new.parent = block
    _set(new, "_prev_op", previous)
    _set(new, "_next_op", op)
    _set(op, "_prev_op", new)
    if previous is None:
        _set(block, "_first_op", new)
    else:
        _set(previous, "_next_op", new)


def append_op(block: Block, op: Operation) -> None:
    """Add an op without a parent block at the end of `block`, like `block.add_op(op)`.

    An op needs less memory if it is added before many others of its class are created: Python then shares their keys.
    """
    last = block._last_op  # pyright: ignore[reportPrivateUsage] -- see above
    op.parent = block
    if last is None:
        block._first_op = op  # pyright: ignore[reportPrivateUsage] -- see above
    else:
        last._next_op = op  # pyright: ignore[reportPrivateUsage] -- see above
        op._prev_op = last  # pyright: ignore[reportPrivateUsage] -- see above
    block._last_op = op  # pyright: ignore[reportPrivateUsage] -- see above


def detach(op: Operation) -> None:
    """Remove an op from its block, like `op.detach()`."""
    block, previous, following = op.parent, op._prev_op, op._next_op  # pyright: ignore[reportPrivateUsage] -- see above
    assert block is not None
    op.parent = None
    if previous is None:
        block._first_op = following  # pyright: ignore[reportPrivateUsage] -- see above
    else:
        _set(previous, "_next_op", following)
        _set(op, "_prev_op", None)
    if following is None:
        block._last_op = previous  # pyright: ignore[reportPrivateUsage] -- see above
    else:
        _set(following, "_prev_op", previous)
        _set(op, "_next_op", None)


def drop_uses(op: Operation) -> None:
    """Remove the uses that a detached op, and the ops inside it, make of values, like `op.drop_all_references()`."""
    if op.regions or op._successors:  # pyright: ignore[reportPrivateUsage] -- see above
        op.drop_all_references()
        return
    if op.parent is not None:  # as after `detach_range`
        op.parent = None
    for operand, use in zip(op._operands, op._operand_uses, strict=True):  # pyright: ignore[reportPrivateUsage] -- see above
        operand.remove_use(use)
    _set(op, "_operand_uses", ())


def detach_range(first: Operation, last: Operation) -> None:
    """Detach the ops from `first` to `last` from their block at once; they remain linked to each other."""
    block, previous, following = first.parent, first._prev_op, last._next_op  # pyright: ignore[reportPrivateUsage] -- see above
    assert block is not None
    if previous is None:
        block._first_op = following  # pyright: ignore[reportPrivateUsage] -- see above
    else:
        previous._next_op = following  # pyright: ignore[reportPrivateUsage] -- see above
    if following is None:
        block._last_op = previous  # pyright: ignore[reportPrivateUsage] -- see above
    else:
        following._prev_op = previous  # pyright: ignore[reportPrivateUsage] -- see above
    first._prev_op = last._next_op = None  # pyright: ignore[reportPrivateUsage] -- see above


def replace_uses(value: SSAValue, replacement: SSAValue) -> None:
    """Replace all uses of `value`, like `value.replace_all_uses_with(replacement)`, with the same order of uses."""
    if value is not replacement:
        redirect_uses(value, tuple(value.uses), replacement)


def redirect_uses(value: SSAValue, uses: Iterable[Use], replacement: SSAValue) -> None:
    """Replace some of the uses of `value`."""
    for use in uses:
        set_operand(use.operation, use.index, replacement)
    if replacement._name is None:  # pyright: ignore[reportPrivateUsage] -- see above
        replacement._name = value._name  # pyright: ignore[reportPrivateUsage] -- see above


def set_operand(op: Operation, index: int, value: SSAValue) -> None:
    """Set an operand, like `op.operands[index] = value`."""
    operands = list(op._operands)  # pyright: ignore[reportPrivateUsage] -- see above
    use = op._operand_uses[index]  # pyright: ignore[reportPrivateUsage] -- see above
    operands[index].remove_use(use)
    value.add_use(use)
    operands[index] = value
    op._operands = SSAValues(operands)  # pyright: ignore[reportPrivateUsage] -- see above


def set_type(value: SSAValue, value_type: Attribute) -> None:
    """Change the type of `value` in place. xDSL would create a new value and replace each use."""
    note_type(value)
    value._type = value_type  # pyright: ignore[reportPrivateUsage] -- see above


def make_location(file: StringAttr, line: int, column: IntAttr) -> FileLineColLoc:
    """Return `FileLineColLoc(file, IntAttr(line), column)`, without the checks of frozen data classes."""
    number = object.__new__(IntAttr)
    _set(number, "data", line)
    location = object.__new__(FileLineColLoc)
    _set(location, "filename", file)
    _set(location, "line", number)
    _set(location, "column", column)
    return location


Properties = dict[str, Attribute]


class OpInserter:
    """Inserts ops before one op. New ops have the location of that op, or `location`."""

    def __init__(self, before: Operation, location: LocationAttr | None = None) -> None:
        self._before = before
        self._location = location or before.location

    def op(
        self,
        op_class: type[OpT],
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        properties: Properties | None = None,
        regions: Sequence[Region] = (),
    ) -> OpT:
        """Insert an op and return it."""
        new = make_op(op_class, operands, result_types, properties or {}, {}, self._location, regions)
        block = self._before.parent
        assert block is not None
        block.insert_op_before(new, self._before)
        return new

    def value(
        self,
        op_class: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Properties | None = None,
        regions: Sequence[Region] = (),
    ) -> SSAValue:
        """Insert an op with one result and return the result."""
        return self.op(op_class, operands, [result_type], properties, regions).results[0]
