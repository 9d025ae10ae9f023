"""Turn the asynchronous collectives of JAX, two custom calls, into collectives of StableHLO.

    before  %0 = stablehlo.custom_call @"all-gather-start"(%a) {... async_collective_config = "{...}"} : ...
            %1 = stablehlo.custom_call @"all-gather-done"(%0) : ...
    after   %0 = "stablehlo.all_gather"(%a) ...

Whether a collective runs beside ops is up to the compiler, which the predicted times assume anyway.
"""

from __future__ import annotations

import json
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.fast_ops import append_op, copy_with_regions, replace_uses
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.stablehlo import collectives
from sdy.dialects.stablehlo.attributes.attrs import ChannelHandle, ChannelHandleAttr
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.dialects.stablehlo.control import ReturnOp
from sdy.passes.import_.hlo_annotations import FRONTEND
from sdy.passes.rewriting.insertion import erase, replace_op

# By target: the collective; entries of the configuration have the names of its properties, except those in `_RENAMED`.
_STARTS: dict[str, type[Operation]] = {
    "all-gather-start": collectives.AllGatherOp,
    "all-reduce-start": collectives.AllReduceOp,
    "all-to-all-start": collectives.AllToAllOp,
    "collective-permute-start": collectives.CollectivePermuteOp,
    "reduce-scatter-start": collectives.ReduceScatterOp,
}
_RENAMED = {"all_gather_dimension": "all_gather_dim", "permutation": "source_target_pairs"}
_DONE = frozenset(name.replace("-start", "-done") for name in _STARTS)


def import_async_collectives(module: ModuleOp) -> None:
    """Replace the calls of a module; one whose configuration is malformed stays as it is."""
    functions = functions_of(module)
    for op in list(ops_of(module, CustomCallOp)):
        target = op.call_target_name.data
        called = [functions.get(each.root_reference.data) for each in op.called_computations or ()]
        if target in _DONE and len(op.operands) == len(op.results) == 1:
            replace_uses(op.results[0], op.operands[0])
            erase(op)
        elif target in _STARTS and (properties := _properties(op)) is not None:
            regions = [_reducer(each.body.block) for each in called if each is not None and each.body.blocks]
            types = [result.type for result in op.results]
            made = _STARTS[target].create(
                operands=op.operands, result_types=types, properties=properties, regions=regions
            )
            replace_op(op, made)


def _properties(op: CustomCallOp) -> dict[str, Attribute] | None:
    frontend = op.attributes.get(FRONTEND)
    config = frontend.data.get("async_collective_config") if isinstance(frontend, DictionaryAttr) else None
    try:
        entries: object = json.loads(config.data) if isinstance(config, StringAttr) else None
    except json.JSONDecodeError:
        return None
    if not isinstance(entries, dict):
        return None
    found: dict[str, Attribute] = {}
    for name, value in cast("dict[str, object]", entries).items():
        if name == "use_global_device_ids":
            found |= {name: UnitAttr()} if value else {}
        elif name == "channel_id" and isinstance(value, int):
            found["channel_handle"] = ChannelHandleAttr(ChannelHandle(value, 1))
        elif isinstance(value, list) and (rows := cast("list[list[int]]", value)):
            table = TensorType(i64, [len(rows), len(rows[0])])
            found[_RENAMED.get(name, name)] = DenseElementsAttr.from_values(
                table, [each for row in rows for each in row]
            )
        elif isinstance(value, int) and not isinstance(value, bool):
            found[_RENAMED.get(name, name)] = IntegerAttr(value, i64)
    return found


def _reducer(body: Block) -> Region:
    """Return the body of a function as that of a reduction."""
    region = Region(Block(arg_types=[each.type for each in body.args]))
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, region.block.args, strict=True))
    for op in body.ops:
        end = ReturnOp(operands=[[values[each] for each in op.operands]]) if op is body.last_op else None
        append_op(region.block, copy_with_regions(op, values) if end is None else end)
    return region
