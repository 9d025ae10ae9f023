"""Replace every reshard by the collectives that send the fewest bytes, then by the fewest collectives.

    before  %1 = sdy.reshard %0 <@m, [{}, {"x", "y"}]>       %0 [{"x"}, {}]
    after   %1 = stablehlo.reshape %0 : 8x8 as 8x2x4         [{"x"}, {}, {}]
            %2 = sdy.all_slice [{}, {}, {"y"}] %1
            %3 = sdy.all_to_all [{"x"}: 0->1] %2
            %4 = stablehlo.reshape %3 : 8x2x4 as 8x8         [{}, {"x", "y"}]

Equal reshards of one value share their collectives, unless `share-equal` is false. With `fixed-schedule`, the
collectives are those of upstream's schedule where it shards dims evenly.

Requires: explicit reshards. Ensures: the reshards left are those to or from a single device, and those between meshes
with other axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.walk import ops_around, ops_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllReduceOp, AllSliceOp, ReduceScatterOp
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import sharding_before_barriers, sharding_of
from sdy.model.axis import AxisRef
from sdy.model.axis_list import extended, set_difference, sort_and_merge
from sdy.model.collective import AllSlice, AxesPerDim
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import digits_of
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.partitioner.reshard.plan import fixed_schedule, plan
from sdy.partitioner.reshard.reduced_slices import reduced_slices
from sdy.partitioner.reshard.steps import Plan
from sdy.passes.export.reshards.equal_reshards import share_equal_reshards
from sdy.passes.export.reshards.reshard_to_collectives import ends_of, is_expressible, step_op
from sdy.passes.rewriting.insertion import erase, insert, replace_by


@dataclass(frozen=True)
class PlanReshardsPass(ModulePass):
    """Replace reshards by the cheapest collectives."""

    name = "sdy-plan-reshards"

    share_equal: bool = True  # equal reshards of one value share their collectives
    fixed_schedule: bool = False  # collectives by upstream's schedule, or gathers and slices where it is uneven

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every reshard of the module."""
        if self.share_equal:
            share_equal_reshards(op)
        planner = _Planner(op, self.fixed_schedule)
        for reshard in ops_of(op, ReshardOp):
            planner.rewrite(reshard)
        planner.erase_reductions()


class _Planner:
    """Rewrites reshards in program order."""

    def __init__(self, module: ModuleOp, is_fixed: bool) -> None:
        self._is_fixed = is_fixed
        self._meshes: MeshTable = meshes_of(module)
        self._scopes = ManualScopes(module)
        self._reductions: dict[AllReduceOp, SSAValue] = {}  # reduced slices, in place of these

    def rewrite(self, reshard: ReshardOp) -> None:
        """Replace `reshard` by collectives, if collectives can express it."""
        source, target = sharding_before_barriers(reshard.input), reshard.sharding.data
        if not is_expressible(source, target, self._meshes):
            return
        replace_by(reshard, self._resharded(reshard, source))

    def _resharded(self, reshard: ReshardOp, source: TensorSharding | None) -> SSAValue:
        value, ends = ends_of(reshard, source, self._meshes)
        if ends is None:
            return value
        if self._is_fixed:
            steps = fixed_schedule(*ends)
        else:
            manual_axes = frozenset(AxisRef(name) for name in self._scopes.around(reshard))
            steps = plan(*ends, resolve_mesh(ends.target.mesh, self._meshes), manual_axes)
        reduction = _reduction_of(value, reshard)
        count = next((index + 1 for index, step in enumerate(steps[:2]) if isinstance(step.action, AllSlice)), 0)
        if reduction is not None and count:
            reduced = self._reductions.get(reduction) or _reduced_in_slices(reduction, steps[:count], ends.mesh)
            if reduced is not None:
                self._reductions[reduction] = value = reduced
                steps = steps[count:]
        for step in steps:
            value = insert(step_op(step, value), InsertPoint.before(reshard), reshard.location).results[0]
        return value

    def erase_reductions(self) -> None:
        """Erase reductions whose slices are reduced instead, after the last reshard is replaced."""
        for reduction in self._reductions:
            erase(reduction)


def _reduced_in_slices(reduction: AllReduceOp, steps: Plan, mesh: Mesh) -> SSAValue | None:
    """Insert ops that reduce the slices of a value; return what `steps` do to the result of `reduction`.

    `steps` are a slice, perhaps after a reshape. None if the two split an axis in ways that have no common parts.
    """
    *reshape, last = steps
    action, axes, kind = last.action, reduction.reduction_axes.data, reduction.kind
    assert isinstance(action, AllSlice)
    assert kind is not None  # verified
    digits = digits_of([*axes, *(ref for own in action.axes for ref in own)], mesh)
    if digits is None:
        return None
    split = reduced_slices(tuple(map(digits.inside, action.axes)), digits.inside(axes))
    before, scattered, after = (tuple(map(digits.join, own)) for own in (split.before, split.scattered, split.after))
    given = sharding_of(reduction.tensor) or fully_closed(last.sharding.mesh, 0)
    dims = reshape[0].sharding.dims if reshape else reduction.out_sharding.data.dims
    sharding = replace(last.sharding, dims=dims, unreduced=given.unreduced, unreduced_kind=given.unreduced_kind)
    value, point = reduction.tensor, InsertPoint.before(reduction)

    def add(op: Operation) -> SSAValue:
        return insert(op, point, reduction.location).results[0]

    for step in reshape:
        value = add(step_op(replace(step, sharding=sharding), value))
    if any(before):
        sharding = _sharded_further(sharding, before, mesh)
        value = add(AllSliceOp(value, before, sharding))
    if any(scattered):
        left = set_difference(given.unreduced, tuple(ref for own in scattered for ref in own), mesh)
        sharding = replace(_sharded_further(sharding, scattered, mesh), unreduced=left)
        value = add(ReduceScatterOp(value, scattered, sharding, kind))
    if split.left:
        sharding = replace(sharding, unreduced=last.sharding.unreduced)
        value = add(AllReduceOp(value, sort_and_merge(digits.join(split.left), mesh), sharding, kind))
    return add(AllSliceOp(value, after, last.sharding)) if any(after) else value


def _sharded_further(sharding: TensorSharding, axes: AxesPerDim, mesh: Mesh) -> TensorSharding:
    pairs = zip(sharding.dims, axes, strict=True)
    return replace(sharding, dims=tuple(DimSharding(extended(dim.axes, more, mesh)) for dim, more in pairs))


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
            name for parent in ops_around(op) if type(parent) is ManualComputationOp for name in parent.manual_axes.data
        }
        return self._of_function.get(_function_around(op), frozenset()) | own

    def _propagate(self, call: CallOp) -> bool:
        """Add the axes around the call to the callee; return whether any was new."""
        callee, axes = call.callee.root_reference.data, self.around(call)
        known = self._of_function.get(callee, frozenset())
        self._of_function[callee] = known | axes
        return not axes <= known


def _function_around(op: Operation) -> str:
    return next((parent.sym_name.data for parent in ops_around(op) if type(parent) is FuncOp), "")
