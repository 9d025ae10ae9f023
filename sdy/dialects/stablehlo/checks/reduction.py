"""Types of ops that fold many elements into one, and of the regions by which they do it."""

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
    """`reduce`: inputs of one shape, an init value each; the results lack the reduced dims."""
    inputs, inits = _halves(op)
    require_same_shape(op, inputs)
    operand = shape(op, inputs[0])
    dims = ints(op, "dimensions")
    require_dims(op, "dimensions", dims, len(operand), "the first input")
    _require_inits(op, inputs, inits)
    _require_one_result_each(op, inputs)
    wanted = [size for dim, size in enumerate(operand) if dim not in dims]
    for result in op.results:
        require_shape(op, result, wanted, "inputs and dimensions give it")
    require_reducer(op, inputs)


def require_reducer(op: Operation, inputs: Sequence[SSAValue]) -> None:
    """The first region folds the inputs, and gives elements of the types of the results."""
    require_reducer_region(op, op.regions[0], inputs)
    for result, argument in zip(op.results, op.regions[0].block.args, strict=False):
        require_element_type(op, result, tensor(op, argument).element_type, "the region gives it")


def require_reducer_region(op: Operation, region: Region, folded: Sequence[SSAValue]) -> None:
    """The region takes an element so far and a new element of every value, and gives an element of every value."""
    block = region.block
    if len(block.args) != 2 * len(folded):
        fail(op, "SDY-D018", f"the region has {len(block.args)} arguments, it takes two per value folded")
    for index, argument in enumerate(block.args):
        if tensor(op, argument).get_shape():
            fail(op, "SDY-D018", f"argument {index} of the region is {argument.type}, it should be a scalar")
    given = block.last_op.operands if block.last_op is not None else ()
    if len(given) != len(folded):
        fail(op, "SDY-D018", f"the region gives {len(given)} values, it should give {len(folded)}")
    for index, value in enumerate(given):
        if value.type != block.args[index].type:
            wanted = block.args[index].type
            fail(op, "SDY-D018", f"value {index} that the region gives is {value.type}, it should be {wanted}")


def reduction_operands(op: Operation) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """The inputs and the init values of an op with a result per input; both checked against each other."""
    inputs, inits = _halves(op)
    require_same_shape(op, inputs)
    _require_inits(op, inputs, inits)
    _require_one_result_each(op, inputs)
    return inputs, inits


def _halves(op: Operation) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """The first and the second half of the operands."""
    count = len(op.operands) // 2
    if not count:
        fail(op, "SDY-D001", "there is nothing to reduce")
    return op.operands[:count], op.operands[count:]


def _require_inits(op: Operation, inputs: Sequence[SSAValue], inits: Sequence[SSAValue]) -> None:
    for value, init in zip(inputs, inits, strict=True):
        require_same_element_type(op, (value, init))
        require_shape(op, init, (), "it is one element")


def _require_one_result_each(op: Operation, inputs: Sequence[SSAValue]) -> None:
    if len(op.results) != len(inputs):
        fail(
            op,
            "SDY-D001",
            f"{len(op.results)} results for {len(inputs)} inputs, first of them {name_of(op, inputs[0])}",
        )
