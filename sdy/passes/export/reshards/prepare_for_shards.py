"""See to it that every op will have a form on shards, once explicit reshards are inserted.

    before  %1 = stablehlo.reduce_window(%0, %c) ...  %0 [{"x"}], with windows that reach into the next shard
    after   the same, with the rule ([i], [])->([i]) {i=8} need_replication={i}

The rule is what explicit reshards go by, so that the operand is gathered; a remark says so. Propagation barriers go,
and the branches of `stablehlo.if`, which have no data flow edges, get reshards here.
Requires: closed shardings; constraints have become reshards. Ensures: with explicit reshards in full, also of ops with
custom rules, no op stands in the way of lowering to one shard.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.data_flow import EdgeSource
from sdy.dialects.ir.context import remark
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import OpShardingRuleAttr
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.control import IfOp
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.grammar.write import write_axis_list
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.partitioner.on_shards.agreement import Layout, disagreement
from sdy.partitioner.on_shards.shard_exchanges import exchanges_results
from sdy.partitioner.on_shards.shard_rules import kind_of, rule_on_shards, shard_rule, with_whole
from sdy.passes.export.close.barriers import erase_barriers
from sdy.passes.export.reshards.reshard_uses import adapt_use
from sdy.propagation.projection import project_tensor
from sdy.rules.all import RULE_ATTRIBUTE, sharding_rule


@dataclass(frozen=True)
class PrepareForShardsPass(ModulePass):
    """Give ops the rules by which they can be run on shards."""

    name = "sdy-prepare-for-shards"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every op that touches a cut tensor."""
        meshes = meshes_of(op)
        required: dict[Hashable, OpShardingRule | None] = {}
        erase_barriers(op)
        for inner in pre_order(op):
            if isinstance(inner, IfOp):
                _adapt_branches(inner, meshes)
                continue
            shardings = [sharding_of(value) for value in (*operands_of(inner), *inner.results)]
            if all(sharding is None or sharding.is_fully_replicated for sharding in shardings):
                continue
            kind = kind_of(inner, shardings)
            if kind not in required:
                required[kind] = _required_rule(inner, shardings, meshes)
            rule = required[kind]
            if rule is None:
                continue
            _remark(ctx, inner, rule, meshes)
            if rule != sharding_rule(inner):
                inner.attributes[RULE_ATTRIBUTE] = OpShardingRuleAttr(rule)


def _required_rule(
    op: Operation, shardings: Sequence[TensorSharding | None], meshes: MeshTable
) -> OpShardingRule | None:
    """The rule by which `op` runs on shards; dims along which it can move elements, or exchange results, stay cut.

    Where elements move, all tensors must be cut alike for that already, or reshards might cut the dim by more axes than
    divide both sizes of it. Results are exchanged however often a dim is cut, so that reshards may find out.
    """
    rule = shard_rule(op)
    source = shardings[0] if op.operands else None
    if rule is None or source is None:
        return rule
    counts = [_count(source, dim, meshes) for dim in range(len(source.dims))]
    lenient = rule_on_shards(op, counts)
    if lenient is None or lenient == rule:
        return rule
    if disagreement(lenient, tuple(_layout(sharding, meshes) for sharding in shardings)) is None:
        return lenient
    exchanged = {
        factor
        for dim, (count, factors) in enumerate(zip(counts, rule.operands[0], strict=True))
        if count > 1 and not isinstance(op, SliceOp | PadOp) and exchanges_results(op, dim, count)
        for factor in factors
        if _is_cut_one_way(rule, factor, shardings, meshes)
    }
    return with_whole(rule, {*rule.need_replication} - exchanged)


def _is_cut_one_way(
    rule: OpShardingRule, factor: FactorIndex, shardings: Sequence[TensorSharding | None], meshes: MeshTable
) -> bool:
    """Whether all tensors that are cut along a factor are so by the same axes of one mesh."""
    layouts = {place: layout for place, each in enumerate(shardings) if (layout := _layout(each, meshes)) is not None}
    cuts = [
        project_tensor(layout.sharding, rule.tensors[place], rule.factor_sizes, layout.mesh, missing_is_closed=True)
        for place, layout in layouts.items()
    ]
    return (
        len({layout.mesh for layout in layouts.values()})
        == 1
        == len({axes for each in cuts if (axes := each.axes(factor))})
    )


def _count(sharding: TensorSharding, dim: int, meshes: MeshTable) -> int:
    mesh = resolve_mesh(sharding.mesh, meshes)
    return 1 if mesh is None else sharded_size(sharding.dims[dim].axes, mesh)


def _layout(sharding: TensorSharding | None, meshes: MeshTable) -> Layout | None:
    mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
    return None if sharding is None or mesh is None or sharding.is_fully_replicated else Layout(sharding, mesh)


def _adapt_branches(op: IfOp, meshes: MeshTable) -> None:
    """Let both branches give each result as it is cut outside."""
    for branch in (op.true_branch, op.false_branch):
        terminator = branch.block.last_op
        assert terminator is not None  # verified
        for index, result in enumerate(op.results):
            point = InsertPoint.before(terminator)
            adapt_use(EdgeSource(terminator, index), sharding_of(result), point, meshes, full=True)


def _remark(ctx: Context, op: Operation, rule: OpShardingRule, meshes: MeshTable) -> None:
    """Say what is gathered because of `op`."""
    for place, operand in enumerate(op.operands):
        sharding = sharding_of(operand)
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
        if sharding is None or mesh is None:
            continue
        projection = project_tensor(sharding, rule.operands[place], rule.factor_sizes, mesh, missing_is_closed=True)
        for dim, factors in enumerate(rule.operands[place]):
            cut: AxisList = tuple(
                axis for factor in factors if factor in rule.need_replication for axis in projection.axes(factor) or ()
            )
            if cut:
                message = (
                    f"{op.name} needs operand {place} whole along dim {dim}, "
                    f"which is cut by {write_axis_list(cut)}: it is gathered"
                )
                remark(ctx, "SDY-L111", message, op)
