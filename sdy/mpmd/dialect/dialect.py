"""The registration of the dialect `mpmd` in xDSL, and how shardings propagate through it. Source: docs/spec/08, 2.1."""

from __future__ import annotations

from xdsl.ir import Dialect

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import add_data_flow_ops
from sdy.model.rule import OpShardingRule
from sdy.model.rule_builder import identity_rule
from sdy.mpmd.dialect import ops, regions
from sdy.mpmd.dialect.attrs import ATTRIBUTES
from sdy.mpmd.dialect.functions import mesh_named
from sdy.mpmd.dialect.syntax import ReturnOp
from sdy.mpmd.dialect.types import MeshTensorType, is_inter_mesh
from sdy.rules.all import RULES

_RULES = OpTable[OpShardingRule | None]()


@_RULES.of(ops.TransferOp)
def _transfer_rule(op: ops.TransferOp) -> OpShardingRule | None:
    """Return the rule that ties the dims of both sides, unless a transfer is between different meshes."""
    source, target = op.source_type, op.target_type
    shape = static_shape(target)
    if shape is None or (is_inter_mesh(source, target) and mesh_named(op, source.mesh) != mesh_named(op, target.mesh)):
        return None
    return identity_rule(shape)


add_data_flow_ops(regions.FragmentOp, regions.ForOp)
RULES.extend(_RULES)
MPMD = Dialect("mpmd", [ReturnOp, *ops.OPS, *regions.OPS], [*ATTRIBUTES, MeshTensorType])
