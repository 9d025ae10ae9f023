"""Remove axes that do not divide a dim, inside the program; a remark lists each of them.

    before  %0 = stablehlo.slice ... : tensor<63xf32>  [{"x"}]      "x"=4
    after   %0 = stablehlo.slice ... : tensor<63xf32>  [{}]

Requires: closed shardings, divisible boundaries. Ensures: every tensor of an op divides by its axes.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.context import remark
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import set_sharding, sharding_of
from sdy.grammar.write import write_sharding
from sdy.partitioner.on_shards.value_shardings import ValueShardings
from sdy.passes.export.close.boundary_shardings import divisible


class DropUnevenAxesPass(ModulePass):
    """Restrict the shardings of op results to axes that divide."""

    name = "sdy-drop-uneven-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Restrict the sharding of every result."""
        shardings = ValueShardings(meshes_of(op))
        for inner in pre_order(op):
            for result in inner.results:
                _shrink(ctx, inner, result, shardings)


def _shrink(ctx: Context, op: Operation, result: SSAValue, shardings: ValueShardings) -> None:
    layout, shape = shardings.layout(sharding_of(result)), static_shape(result.type)
    if layout is None or shape is None:
        return
    sharding = layout.sharding
    even = divisible(sharding, shape, layout.mesh)
    if even != sharding:
        set_sharding(result, even)
        message = f"{op.name}: {write_sharding(sharding)} does not divide {result.type}; using"
        message += f" {write_sharding(even)}"
        remark(ctx, "SDY-L112", message, op)
