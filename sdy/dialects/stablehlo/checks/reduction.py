"""Checks of `reduce`, and of the reducer regions that several ops have."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, Region, SSAValue

from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    ints,
    name_of,
    require_dims,
    require_element_type,
    require_same_element_type,
    require_same_shape,
    require_shape,
    shape,
    tensor,
)


def check_reduce(op: Operation) -> None:
    """Check that inputs have the same shape and one init value each, and that results lack the reduced dims."""
    inputs, inits = _halves(op)
    require_same_shape(op, inputs)
    operand = shape(op, inputs[0])
    dims = ints(op, "dimensions")
    require_dims(op, "dimensions", dims, len(operand), "the first input")
    _require_init_values(op, inputs, inits)
    _require_result_per_input(op, inputs)
    expected = [size for dim, size in enumerate(operand) if dim not in dims]
    for result in op.results:
        require_shape(op, result, expected, "inferred from the inputs and dimensions")
    require_reducer(op, inputs)


def require_reducer(op: Operation, inputs: Sequence[SSAValue]) -> None:
    """Raise an error unless the first region reduces the inputs and returns elements of the types of the results."""
    require_reducer_region(op, op.regions[0], inputs)
    for result, argument in zip(op.results, op.regions[0].block.args, strict=False):
        require_element_type(op, result, tensor(op, argument).element_type, "inferred from the region")


def require_reducer_region(op: Operation, region: Region, reduced: Sequence[SSAValue]) -> None:
    """Raise an error unless the region reduces an accumulated and a new element of every value to one."""
    block = region.block
    if len(block.args) != 2 * len(reduced):
        fail(
            op,
            "SDY-D018",
            f"the region must have two arguments per value: expected {2 * len(reduced)}, got {len(block.args)}",
        )
    for index, argument in enumerate(block.args):
        if tensor(op, argument).get_shape():
            fail(op, "SDY-D018", f"argument {index} of the region must be a scalar, got {argument.type}")
    returned = block.last_op.operands if block.last_op is not None else ()
    if len(returned) != len(reduced):
        fail(
            op,
            "SDY-D018",
            f"the region must return one element per value: expected {len(reduced)}, got {len(returned)}",
        )
    for index, value in enumerate(returned):
        if value.type != block.args[index].type:
            expected = block.args[index].type
            fail(op, "SDY-D018", f"value {index} returned by the region must have type {expected}, got {value.type}")


def reduction_operands(op: Operation) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """Return the inputs and the init values of an op with one result per input, checked against each other."""
    inputs, inits = _halves(op)
    require_same_shape(op, inputs)
    _require_init_values(op, inputs, inits)
    _require_result_per_input(op, inputs)
    return inputs, inits


def _halves(op: Operation) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """Return the first and the second half of the operands."""
    count = len(op.operands) // 2
    if not count:
        fail(op, "SDY-D001", "expected at least one input and its init value")
    return op.operands[:count], op.operands[count:]


def _require_init_values(op: Operation, inputs: Sequence[SSAValue], inits: Sequence[SSAValue]) -> None:
    for value, init in zip(inputs, inits, strict=True):
        require_same_element_type(op, (value, init))
        require_shape(op, init, (), "an init value")


def _require_result_per_input(op: Operation, inputs: Sequence[SSAValue]) -> None:
    if len(op.results) != len(inputs):
        fail(
            op,
            "SDY-D001",
            f"expected one result per input from {name_of(op, inputs[0])} on ({len(inputs)}), got {len(op.results)}",
        )
