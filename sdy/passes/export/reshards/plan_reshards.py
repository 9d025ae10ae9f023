"""Replace every reshard by the collectives that send the fewest bytes, then by the fewest collectives.

    before  %1 = sdy.reshard %0 <@m, [{}, {"x", "y"}]>       %0 [{"x"}, {}]
    after   %1 = stablehlo.reshape %0 : 8x8 as 8x2x4         [{"x"}, {}, {}]
            %2 = sdy.all_slice [{}, {}, {"y"}] %1
            %3 = sdy.all_to_all [{"x"}: 0->1] %2
            %4 = stablehlo.reshape %3 : 8x2x4 as 8x8         [{}, {"x", "y"}]

Equal reshards of one value share their collectives, unless `share-equal` is false. `sdy-reshard-to-collectives` uses
upstream's fixed schedule instead.

Requires: explicit reshards. Ensures: the reshards left are those to or from a single device, and those between meshes
with other axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllReduceOp
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import sharding_before_barriers, sharding_of
from sdy.model.axis import AxisRef
from sdy.model.collective import AllSlice
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.partitioner.reshard.plan import plan
from sdy.partitioner.reshard.steps import PlanStep, Reshape
from sdy.passes.export.reshards.equal_reshards import share_equal_reshards
from sdy.passes.export.reshards.reshard_to_collectives import ends_of, is_expressible, step_op
from sdy.passes.rewriting.insertion import erase, insert


@dataclass(frozen=True)
class PlanReshardsPass(ModulePass):
    """Replace reshards by the cheapest collectives."""

    name = "sdy-plan-reshards"

    share_equal: bool = True  # equal reshards of one value share their collectives

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every reshard of the module."""
        if self.share_equal:
            share_equal_reshards(op)
        planner = _Planner(op)
        for reshard in ops_of(op, ReshardOp):
            planner.rewrite(reshard)
        planner.erase_reductions()


class _Planner:
    """Rewrites reshards in program order."""

    def __init__(self, module: ModuleOp) -> None:
        self._meshes: MeshTable = meshes_of(module)
        self._scopes = ManualScopes(module)
        self._reductions: dict[AllReduceOp, SSAValue] = {}  # results of repeated all-reduces, reshaped

    def rewrite(self, reshard: ReshardOp) -> None:
        """Replace `reshard` by collectives, if collectives can express it."""
        source, target = sharding_before_barriers(reshard.input), reshard.sharding.data
        if not is_expressible(source, target, self._meshes):
            return
        reshard.result.replace_all_uses_with(self._resharded(reshard, source))
        reshard.detach()
        reshard.erase()

    def _resharded(self, reshard: ReshardOp, source: TensorSharding | None) -> SSAValue:
        value, ends = ends_of(reshard, source, self._meshes)
        if ends is None:
            return value
        manual_axes = frozenset(AxisRef(name) for name in self._scopes.around(reshard))
        target_mesh = resolve_mesh(ends.target.mesh, self._meshes)
        steps = plan(ends.source, ends.target, ends.shape, ends.mesh, target_mesh, manual_axes)
        reduction = _reduction_of(value, reshard)
        if reduction is not None and [type(step.action) for step in steps[:2]] == [Reshape, AllSlice]:
            value = self._reductions.get(reduction) or self._reduced_in_shape(reduction, steps[0])
            steps = steps[1:]
        for step in steps:
            value = insert(step_op(step, value), InsertPoint.before(reshard), reshard.location).results[0]
        return value

    def _reduced_in_shape(self, reduction: AllReduceOp, step: PlanStep) -> SSAValue:
        """Return the result of `step`, a reshape, of a reduction, with the reshape before the reduction.

        A slice fuses to a reduce-scatter only right after the reduction.
        """
        before = sharding_of(reduction.tensor) or fully_closed(step.sharding.mesh, 0)
        sharding = replace(step.sharding, unreduced=before.unreduced, unreduced_kind=before.unreduced_kind)
        point = InsertPoint.before(reduction)
        reshaped = insert(step_op(replace(step, sharding=sharding), reduction.tensor), point, reduction.location)
        assert reduction.kind is not None  # verified
        again = AllReduceOp(reshaped.results[0], reduction.reduction_axes.data, step.sharding, reduction.kind)
        self._reductions[reduction] = insert(again, point, reduction.location).result
        return again.result

    def erase_reductions(self) -> None:
        """Erase reductions that were repeated, after the last reshard is replaced."""
        for reduction in self._reductions:
            if reduction.result.first_use is None:
                erase(reduction)


def _reduction_of(value: SSAValue, reshard: ReshardOp) -> AllReduceOp | None:
    """Return the all-reduce that produces `value`, if its only users are reshards like this one."""
    owner = value.owner
    if not isinstance(owner, AllReduceOp):
        return None
    users = [use.operation for use in value.uses]
    alike = all(isinstance(user, ReshardOp) and user.sharding == reshard.sharding for user in users)
    return owner if alike else None


class ManualScopes:
    """The manual axes around the ops of a module, in functions called from manual computations too."""

    def __init__(self, module: ModuleOp) -> None:
        self._of_function: dict[str, frozenset[str]] = {}
        calls = ops_of(module, CallOp) if ops_of(module, ManualComputationOp) else []
        pending = calls
        while pending:
            grown = {call.callee.root_reference.data for call in pending if self._propagate(call)}
            pending = [call for call in calls if _function_around(call) in grown]

    def around(self, op: Operation) -> frozenset[str]:
        """Return the names of the axes, over all callers of the function."""
        own = {
            name for parent in _parents(op) if type(parent) is ManualComputationOp for name in parent.manual_axes.data
        }
        return self._of_function.get(_function_around(op), frozenset()) | own

    def _propagate(self, call: CallOp) -> bool:
        """Add the axes around the call to the callee; return whether any was new."""
        callee, axes = call.callee.root_reference.data, self.around(call)
        known = self._of_function.get(callee, frozenset())
        self._of_function[callee] = known | axes
        return not axes <= known


def _function_around(op: Operation) -> str:
    return next((parent.sym_name.data for parent in _parents(op) if type(parent) is FuncOp), "")


def _parents(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()
