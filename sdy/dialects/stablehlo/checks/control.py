"""Types at the borders of regions that run as part of the program."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, Region

from sdy.dialects.stablehlo.attributes.types import scalar_of
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    have_compatible_types,
    ints,
    require_element_type,
    require_same_shape,
    require_same_type,
    require_shape,
    shape,
    tensor,
)


def check_while(op: Operation) -> None:
    """`while`: both regions take the values that go around; the body gives them, the condition gives a boolean."""
    types = op.operand_types
    cond, body = op.regions
    _require_types(op, "the op gives", op.result_types, types)
    _require_types(op, "the arguments of the condition are", cond.block.arg_types, types)
    _require_types(op, "the arguments of the body are", body.block.arg_types, types)
    _require_types(op, "the body gives", _given(body), types)
    given = _given(cond)
    if len(given) != 1 or tensor(op, _last(cond).operands[0]).element_type != i1 or shape(op, _last(cond).operands[0]):
        fail(op, "SDY-D018", f"the condition gives ({_listed(given)}), it should give one tensor<i1>")


def check_if_or_case(op: Operation) -> None:
    """`if` and `case`: branches take nothing, and give what the op gives."""
    chooser = op.operands[0]
    require_shape(op, chooser, (), "it chooses one branch")
    if op.name == "stablehlo.if":
        require_element_type(op, chooser, i1, "it chooses one of two")
    if not op.regions:
        fail(op, "SDY-D001", "there is no branch")
    for index, region in enumerate(op.regions):
        _require_types(op, f"the arguments of branch {index} are", region.block.arg_types, ())
        _require_types(op, f"branch {index} gives", _given(region), op.result_types)


def check_map(op: Operation) -> None:
    """`map`: over all dims of inputs of one shape; the region gives one element."""
    if not op.operands:
        fail(op, "SDY-D001", "there is nothing to map")
    require_same_shape(op, (*op.operands, op.results[0]))
    rank = len(shape(op, op.operands[0]))
    if ints(op, "dimensions") != tuple(range(rank)):
        fail(op, "SDY-D015", f"dimensions is {list(ints(op, 'dimensions'))}, it should be all {rank} dims in order")
    wanted = [scalar_of(tensor(op, operand)) for operand in op.operands]
    require_region(op, op.regions[0], "the region", wanted, [scalar_of(tensor(op, op.results[0]))])


def require_region(
    op: Operation, region: Region, name: str, taken: Sequence[Attribute], given: Sequence[Attribute]
) -> None:
    """A region takes and gives values of these types."""
    _require_types(op, f"the arguments of {name} are", region.block.arg_types, taken)
    _require_types(op, f"{name} gives", _given(region), given)


def check_optimization_barrier(op: Operation) -> None:
    """`optimization_barrier`: gives its operands."""
    _require_types(op, "the op gives", op.result_types, op.operand_types)


def check_results_like_operands(op: Operation) -> None:
    """One result per operand, of its type."""
    require_result_per_operand(op)
    for operand, result in zip(op.operands, op.results, strict=True):
        require_same_type(op, (operand, result))


def require_result_per_operand(op: Operation) -> None:
    """The op has as many results as operands."""
    if len(op.results) != len(op.operands):
        fail(op, "SDY-D001", f"{len(op.results)} results for {len(op.operands)} operands")


def _last(region: Region) -> Operation:
    last = region.block.last_op
    assert last is not None  # every region ends in a terminator, which is checked before
    return last


def _given(region: Region) -> Sequence[Attribute]:
    return _last(region).operand_types


def _require_types(op: Operation, what: str, found: Sequence[Attribute], wanted: Sequence[Attribute]) -> None:
    if len(found) != len(wanted) or not all(map(have_compatible_types, found, wanted)):
        fail(op, "SDY-D018", f"{what} ({_listed(found)}), it should be ({_listed(wanted)})")


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))
