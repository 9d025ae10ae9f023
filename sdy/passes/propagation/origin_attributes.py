"""Writer of sharding origins: one dictionary per value, from each axis to the annotation that it comes from.

The axes that come from the value's own annotation have the origin `self`. Source: docs/spec/02, 9.2 and 9.6.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from sdy.dialects.data_flow import index_of, op_of
from sdy.dialects.ir.func_attrs import with_attribute
from sdy.dialects.sdy.attrs import ORIGIN_NAME, ORIGINS
from sdy.dialects.sdy.ops import DataFlowEdgeOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.model.axis import AxisRef

AxisOrigins = Mapping[AxisRef, str]
SELF = "self"


def write_origins(module: ModuleOp, origins: Mapping[SSAValue, AxisOrigins]) -> None:
    """Write the origins of the values that store shardings, and of the function results that return these values."""
    for value, origins_of_axes in origins.items():
        _write_on_result(value, origins_of_axes)
        _write_on_value(value, origins)


def _write_on_result(value: SSAValue, origins_of_axes: AxisOrigins) -> None:
    for use in value.uses:
        func = use.operation.parent_op()
        if isinstance(func, FuncOp) and use.operation is func.body.block.last_op:
            count = len(func.function_type.outputs)
            attr = _dictionary(origins_of_axes, f"output: {use.index}")
            func.res_attrs = with_attribute(func.res_attrs, count, use.index, ORIGINS, attr)
            return


def _write_on_value(value: SSAValue, origins: Mapping[SSAValue, AxisOrigins]) -> None:
    op, origins_of_axes = op_of(value), origins[value]
    if isinstance(value, BlockArgument):
        if isinstance(op, FuncOp):
            count = len(op.function_type.inputs)
            attr = _dictionary(origins_of_axes, f"input: {value.index}")
            op.arg_attrs = with_attribute(op.arg_attrs, count, value.index, ORIGINS, attr)
    elif isinstance(op, ShardingConstraintOp | DataFlowEdgeOp):
        op.attributes[ORIGINS] = _dictionary(origins_of_axes, _own_name(op))
    elif op is not None:
        op.attributes[ORIGINS] = ArrayAttr(_dictionary(origins.get(result, {})) for result in op.results)


def _own_name(op: ShardingConstraintOp | DataFlowEdgeOp) -> str | None:
    """Return the name of the op's annotation; the edge of a manual computation has that of the in or out sharding."""
    if isinstance(op, ShardingConstraintOp):
        return _origin_name(op)
    owner = op.input
    computation = op_of(owner)
    if not isinstance(computation, ManualComputationOp):
        return None
    side = "input" if isinstance(owner.owner, Block) else "output"
    return f"{_origin_name(computation)}_{side}: {index_of(owner)}"


def _origin_name(op: Operation) -> str | None:
    name = op.attributes.get(ORIGIN_NAME)
    return name.data if isinstance(name, StringAttr) else None


def _dictionary(origins_of_axes: AxisOrigins, own_name: str | None = None) -> DictionaryAttr:
    entries: dict[str, Attribute] = {}
    for axis, origin in origins_of_axes.items():
        entries[str(axis).replace('"', "")] = StringAttr(SELF if origin == own_name else origin)
    return DictionaryAttr(entries)
