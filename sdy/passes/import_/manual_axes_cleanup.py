"""Make every sharding of a manual computation refer to all manual axes, and sort the manual axes in mesh order.

    before  in_shardings=[<@m, [{"b"}]>] manual_axes={"c", "b"}
    after   in_shardings=[<@m, [{"b"}], replicated={"c"}>] manual_axes={"b", "c"}

Propagation then does not use a manual axis for the values that enter or leave the computation. Source: docs/spec/04,
2.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, ShapedType
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import nested_first
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import ManualAxesAttr, TensorShardingPerValueAttr
from sdy.dialects.sdy.ops import ReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import ValueShardings
from sdy.model.axis import AxisRef
from sdy.model.axis_list import set_difference, sort_and_merge
from sdy.model.axis_on_mesh import in_mesh_order
from sdy.model.mesh_table import CommonMesh, MeshTable, common_mesh
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.op_order import keep_order, op_order


class ManualAxesCleanupPass(ModulePass):
    """Sort manual axes, and list the unused ones as replicated."""

    name = "sdy-manual-axes-cleanup"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inner computations first. Raises: SdyError for all that have manual axes and no shardings."""
        meshes = meshes_of(op)
        problems = [
            problem
            for inner in nested_first(op_order(op).of(ManualComputationOp))
            if (problem := _clean(inner, meshes)) is not None
        ]
        if problems:
            raise SdyError(*problems)
        keep_order(op)


def _clean(op: ManualComputationOp, meshes: MeshTable) -> Diagnostic | None:
    shardings = (*op.in_shardings.data, *op.out_shardings.data)
    if not shardings:
        return _check_without_shardings(op)
    common = common_mesh(shardings, meshes)
    if common is None:
        return None
    refs = in_mesh_order((AxisRef(name) for name in op.manual_axes.data), common.mesh)
    op.manual_axes = ManualAxesAttr(tuple(ref.name for ref in refs))
    op.in_shardings = TensorShardingPerValueAttr(_cleaned(op.in_shardings.data, op.operand_types, refs, common))
    op.out_shardings = TensorShardingPerValueAttr(_cleaned(op.out_shardings.data, op.result_types, refs, common))
    return None


def _check_without_shardings(op: ManualComputationOp) -> Diagnostic | None:
    if not op.manual_axes.data or isinstance(op.body.block.first_op, ReturnOp):
        return None
    message = f"manual computation on {op.manual_axes.data} must have in_shardings or out_shardings"
    return Diagnostic("SDY-T110", message, span_of(op), hint="add an operand or a result, so that the mesh is known")


def _cleaned(
    shardings: ValueShardings, types: Iterable[Attribute], manual: tuple[AxisRef, ...], common: CommonMesh
) -> ValueShardings:
    return tuple(
        _with_all(sharding, manual, common) if isinstance(value_type, ShapedType) else sharding
        for sharding, value_type in zip(shardings, types, strict=False)
    )


def _with_all(sharding: TensorSharding, manual: tuple[AxisRef, ...], common: CommonMesh) -> TensorSharding:
    missing = set_difference(manual, tuple(sharding.axis_refs()), common.mesh)
    if not missing:
        return sharding
    replicated = sort_and_merge((*sharding.replicated, *missing), common.mesh)
    return replace(sharding, mesh=common.reference, replicated=replicated)
