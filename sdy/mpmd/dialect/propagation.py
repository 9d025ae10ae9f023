"""How shardings propagate through the ops of the dialect `mpmd`. Source: docs/spec/08, 2.1."""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import add_data_flow_ops
from sdy.model.rule import OpShardingRule
from sdy.model.rule_builder import identity_rule
from sdy.mpmd.dialect.functions import mesh_named
from sdy.mpmd.dialect.ops import TransferOp
from sdy.mpmd.dialect.regions import ForOp, FragmentOp
from sdy.mpmd.dialect.types import is_inter_mesh
from sdy.rules.all import RULES

_RULES = OpTable[OpShardingRule | None]()


@_RULES.of(TransferOp)
def transfer_rule(op: TransferOp) -> OpShardingRule | None:
    """Return the rule that ties the dims of both sides, unless a transfer is between different meshes."""
    source, target = op.source_type, op.target_type
    shape = static_shape(target)
    if shape is None or (is_inter_mesh(source, target) and mesh_named(op, source.mesh) != mesh_named(op, target.mesh)):
        return None
    return identity_rule(shape)


def register() -> None:
    """Let propagation work through fragments, loops and transfers; called once, when the dialect is loaded."""
    add_data_flow_ops(FragmentOp, ForOp)
    RULES.extend(_RULES)
