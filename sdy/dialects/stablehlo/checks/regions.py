"""Checks of the regions of ops: bodies of control flow, and the reducers that several ops have."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue

from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.stablehlo.attributes.types import scalar_of
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    have_compatible_types,
    ints,
    name_of,
    require_dims,
    require_element_type,
    require_same_element_type,
    require_same_shape,
    require_same_type,
    require_shape,
    shape,
    tensor,
)


def check_while(op: Operation) -> None:
    """Check that both regions take the operands, the body returns their types, and the condition a boolean."""
    types = op.operand_types
    cond, body = op.regions
    _require_types(op, "the results", op.result_types, types)
    _require_types(op, "the arguments of the condition", cond.block.arg_types, types)
    _require_types(op, "the arguments of the body", body.block.arg_types, types)
    _require_types(op, "the values returned by the body", _returned_types(body), types)
    returned = _returned_types(cond)
    if (
        len(returned) != 1
        or tensor(op, terminator_of(cond).operands[0]).element_type != i1
        or shape(op, terminator_of(cond).operands[0])
    ):
        fail(op, "SDY-D018", f"the condition must return one tensor<i1>, got ({_listed(_returned_types(cond))})")


def check_if_or_case(op: Operation) -> None:
    """Check that branches have no arguments, and that they return the result types of the op."""
    selector = op.operands[0]
    require_shape(op, selector, (), "it selects one branch")
    if op.name == "stablehlo.if":
        require_element_type(op, selector, i1, "a predicate is a boolean")
    else:
        require_element_type(op, selector, i32, "it is the index of a branch")
    if not op.regions:
        fail(op, "SDY-D001", "expected at least one branch")
    for index, region in enumerate(op.regions):
        _require_types(op, f"the arguments of branch {index}", region.block.arg_types, ())
        _require_types(op, f"the values returned by branch {index}", _returned_types(region), op.result_types)


def check_map(op: Operation) -> None:
    """Check that inputs have one shape, that `dimensions` lists all dims, and that the region returns one element."""
    if not op.operands:
        fail(op, "SDY-D001", "expected at least one operand")
    require_same_shape(op, (*op.operands, op.results[0]))
    rank = len(shape(op, op.operands[0]))
    if ints(op, "dimensions") != tuple(range(rank)):
        message = f"dimensions must be {list(range(rank))}, all dims in order, got {list(ints(op, 'dimensions'))}"
        fail(op, "SDY-D015", message)
    expected = [scalar_of(tensor(op, operand)) for operand in op.operands]
    require_region(op, op.regions[0], "the region", expected, [scalar_of(tensor(op, op.results[0]))])


def require_region(
    op: Operation, region: Region, name: str, arguments: Sequence[Attribute], returned: Sequence[Attribute]
) -> None:
    """Raise an error unless the region takes and returns values of these types. `name` is used in the message."""
    _require_types(op, f"the arguments of {name}", region.block.arg_types, arguments)
    _require_types(op, f"the values returned by {name}", _returned_types(region), returned)


def check_optimization_barrier(op: Operation) -> None:
    """Check that the results have the types of the operands."""
    _require_types(op, "the results", op.result_types, op.operand_types)


def check_results_like_operands(op: Operation) -> None:
    """Check that there is one result per operand, of the same type."""
    require_result_per_operand(op)
    for operand, result in zip(op.operands, op.results, strict=True):
        require_same_type(op, (operand, result))


def require_result_per_operand(op: Operation) -> None:
    """Raise an error unless the op has as many results as operands."""
    if len(op.results) != len(op.operands):
        fail(op, "SDY-D001", f"expected one result per operand ({len(op.operands)}), got {len(op.results)}")


def _returned_types(region: Region) -> Sequence[Attribute]:
    return terminator_of(region).operand_types


def _require_types(op: Operation, values: str, actual: Sequence[Attribute], expected: Sequence[Attribute]) -> None:
    if len(actual) != len(expected) or not all(map(have_compatible_types, actual, expected)):
        fail(op, "SDY-D018", f"expected {values} to have types ({_listed(expected)}), got ({_listed(actual)})")


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))


def check_reduce(op: Operation) -> None:
    """Check that inputs have the same shape and one init value each, and that results lack the reduced dims."""
    inputs, _ = reduction_operands(op)
    operand = shape(op, inputs[0])
    dims = ints(op, "dimensions")
    require_dims(op, "dimensions", dims, len(operand), "the first input")
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
        counts = f"expected {2 * len(reduced)}, got {len(block.args)}"
        fail(op, "SDY-D018", f"the region must have two arguments per value: {counts}")
    for index, argument in enumerate(block.args):
        if tensor(op, argument).get_shape():
            fail(op, "SDY-D018", f"argument {index} of the region must be a scalar, got {argument.type}")
    returned = block.last_op.operands if block.last_op is not None else ()
    if len(returned) != len(reduced):
        counts = f"expected {len(reduced)}, got {len(returned)}"
        fail(op, "SDY-D018", f"the region must return one element per value: {counts}")
    for index, value in enumerate(returned):
        if value.type != block.args[index].type:
            expected = block.args[index].type
            fail(op, "SDY-D018", f"value {index} returned by the region must have type {expected}, got {value.type}")


def reduction_operands(op: Operation) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """Return the inputs and the init values of an op with one result per input, checked against each other."""
    count = len(op.operands) // 2
    if not count:
        fail(op, "SDY-D001", "expected at least one input and its init value")
    inputs, inits = op.operands[:count], op.operands[count:]
    require_same_shape(op, inputs)
    for value, init in zip(inputs, inits, strict=True):
        require_same_element_type(op, (value, init))
        require_shape(op, init, (), "an init value")
    if len(op.results) != count:
        first = name_of(op, inputs[0])
        fail(op, "SDY-D001", f"expected one result per input from {first} on ({count}), got {len(op.results)}")
    return inputs, inits
