"""Give ops sharding rules such that explicit reshards make every op runnable on shards.

    before  %1 = stablehlo.reduce_window(%0, %c) ...  %0 [{"x"}], with windows that extend into the next shard
    after   the same, with the rule ([i], [])->([i]) {i=8} need_replication={i}

Explicit reshards follow the rule, so the operand is gathered; a remark reports it. Propagation barriers are erased, and
the branches of `stablehlo.if`, which have no data-flow edges, get reshards here.
Requires: closed shardings; constraints converted to reshards. Ensures: after full explicit reshards, including ops with
custom rules, every op can be lowered to its local form.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.data_flow import EdgeSource
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.context import remark
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import OpShardingRuleAttr
from sdy.dialects.shardings import is_on_single_device, sharding_of
from sdy.dialects.stablehlo.control import IfOp
from sdy.grammar.write import write_axis_list, write_sharding
from sdy.model.axis import AxisList
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.partitioner.on_shards.agreement import disagreement
from sdy.partitioner.on_shards.shard_rules import (
    rule_for_shard_counts,
    shard_rule,
    sharded_op_key,
)
from sdy.partitioner.on_shards.value_shardings import ValueShardings
from sdy.passes.export.close.barriers import erase_barriers
from sdy.passes.export.reshards.reshard_uses import adapt_use
from sdy.passes.export.single_device.single_device import device_mesh
from sdy.passes.rewriting.sharding_walk import map_shardings
from sdy.propagation.projection import project_tensor
from sdy.rules.all import RULE_ATTRIBUTE, sharding_rule


class PrepareForShardsPass(ModulePass):
    """Give ops the rules with which they can run on shards."""

    name = "sdy-prepare-for-shards"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every op with a sharded tensor."""
        meshes = meshes_of(op)
        _check_same_devices(op, meshes)
        required: dict[Hashable, OpShardingRule | None] = {}
        erase_barriers(op)
        for inner in pre_order(op):
            if isinstance(inner, IfOp):
                _adapt_branches(inner, meshes)
                continue
            shardings = [_sharding_on_mesh(value, meshes) for value in (*operands_of(inner), *inner.results)]
            if all(sharding is None or sharding.is_fully_replicated for sharding in shardings):
                continue
            if device_mesh(inner, meshes) is not None:
                continue
            key = sharded_op_key(inner, shardings)
            if key not in required:
                required[key] = _required_rule(inner, shardings, meshes)
            rule = required[key]
            if rule is None:
                continue
            if rule.need_replication:
                _remark(ctx, inner, rule, meshes)
            if rule != sharding_rule(inner):
                inner.attributes[RULE_ATTRIBUTE] = OpShardingRuleAttr(rule)


def _check_same_devices(module: ModuleOp, meshes: MeshTable) -> None:
    """Check that all meshes that shardings use have the same number of devices, except for meshes of one device.

    Raises: SdyError SDY-L020 at the module.
    """
    used: dict[int, TensorSharding] = {}

    def visit(sharding: TensorSharding) -> TensorSharding:
        mesh = resolve_mesh(sharding.mesh, meshes)
        if mesh is not None and mesh.device_count > 1:
            used.setdefault(mesh.device_count, sharding)
        return sharding

    map_shardings(module, visit)
    if len(used) > 1:
        (count, first), (other_count, other), *_ = used.items()
        message = (
            f"all meshes must have the same devices, got {write_sharding(first)} on {count} devices and "
            f"{write_sharding(other)} on {other_count}"
        )
        raise SdyError(Diagnostic("SDY-L020", message, span_of(module), hint="use one mesh, or meshes of equal size"))


def _sharding_on_mesh(value: SSAValue, meshes: MeshTable) -> TensorSharding | None:
    """Return the sharding of a value; None for a value on one device, which explicit reshards copy to all devices."""
    sharding = sharding_of(value)
    return None if sharding is None or is_on_single_device(sharding, meshes) else sharding


def _required_rule(
    op: Operation, shardings: Sequence[TensorSharding | None], meshes: MeshTable
) -> OpShardingRule | None:
    """Return the rule with which `op` runs on shards; dims with halo or result exchange stay sharded.

    Where elements move, all tensors must already be sharded along the same axes: reshards might otherwise add axes that
    do not divide both sizes.
    """
    rule = shard_rule(op)
    source = shardings[0] if op.operands else None
    if rule is None or source is None:
        return rule
    values = ValueShardings(meshes)
    lenient = rule_for_shard_counts(op, values.shard_counts(op.operands[0]))
    if lenient is None or lenient == rule:
        return rule
    layouts = tuple(map(values.layout, shardings))
    return lenient if disagreement(lenient, layouts) is None else rule


def _adapt_branches(op: IfOp, meshes: MeshTable) -> None:
    """Reshard the results of both branches to the shardings of the op's results."""
    for branch in (op.true_branch, op.false_branch):
        terminator = terminator_of(branch)
        for index, result in enumerate(op.results):
            point = InsertPoint.before(terminator)
            adapt_use(EdgeSource(terminator, index), sharding_of(result), point, meshes, full=True)


def _remark(ctx: Context, op: Operation, rule: OpShardingRule, meshes: MeshTable) -> None:
    """Emit a remark for each operand that `op` requires to be gathered."""
    for index, operand in enumerate(op.operands):
        layout = ValueShardings(meshes).layout(_sharding_on_mesh(operand, meshes))
        if layout is None:
            continue
        mapping = rule.operands[index]
        projection = project_tensor(layout.sharding, mapping, rule.factor_sizes, layout.mesh, missing_is_closed=True)
        for dim, factors in enumerate(mapping):
            axes: AxisList = tuple(
                axis for factor in factors if factor in rule.need_replication for axis in projection.axes(factor) or ()
            )
            if axes:
                message = (
                    f"{op.name}: operand {index} must be unsharded along dim {dim}; "
                    f"inserting an all-gather over {write_axis_list(axes)}"
                )
                remark(ctx, "SDY-L111", message, op)
