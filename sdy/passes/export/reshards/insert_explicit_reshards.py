"""Insert reshards so that the tensors of every op agree, and all-reduces of partial results.

    before  %0 = stablehlo.dot_general %x, %w ...  %x [{"q"}, {"p"}], %w [{"p"}, {"q"}], %0 [{"q"}, {}]
    after   %1 = sdy.reshard %w <@m, [{"p"}, {}]>
            %2 = stablehlo.dot_general %x, %1 ...
            %3 = sdy.all_reduce {"p"} %2 out_sharding=<@m, [{"q"}, {}]>

Requires: closed shardings; constraints converted to reshards. Ensures: with `enable-full-version`, every op with a rule
needs no communication except halo exchange. Source: docs/spec/05, 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.data_flow import (
    DATA_FLOW_OPS,
    DataFlowOp,
    EdgeSource,
    argument_owners,
    has_data_flow_edges,
    index_of,
    result_owners,
    sources_of,
)
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import post_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import (
    argument_shardings,
    first_usable_mesh,
    function_result_sharding,
    result_shardings,
    sharding_of,
)
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotLikeOp, DotOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp
from sdy.model.mesh_table import MeshTable
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed, without_manual_axes
from sdy.passes.export.reshards.reshard_op import Resharder
from sdy.passes.export.reshards.reshard_uses import adapt_use, make_unreduced, reduce_use
from sdy.passes.export.single_device.single_device import check_boundary, device_mesh, global_mesh, reshard_to_device
from sdy.passes.rewriting.insertion import after_definition, replace_by
from sdy.passes.rewriting.sharding_walk import map_shardings
from sdy.rules.all import RuleCache

# Ops that the light version may reshard if no value is unreduced.
ALWAYS_CONCERNED = frozenset[type[Operation]]((*DATA_FLOW_OPS, DotGeneralOp, DotOp, CallOp, ReshardOp, ConcatenateOp))
RAGGED_DOT = "mhlo.ragged_dot"  # always resharded in full


@dataclass(frozen=True)
class InsertExplicitReshardsPass(ModulePass):
    """Insert the reshards and all-reduces that sharded ops need."""

    name = "sdy-insert-explicit-reshards"

    enable_full_version: bool = False
    for_shards: bool = False  # every op must run on shards, ops with custom rules included
    by_count: bool = False  # a contraction gets axes that most of its tensors have, as in XLA; else, of most elements

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every op of every function, ops in regions before their parent.

        Raises: SdyError if an argument or result is on one device, or an op would run on two single devices.
        """
        inserter = _Inserter(op, full=self.enable_full_version, for_shards=self.for_shards, by_count=self.by_count)
        for func in functions_of(op).values():
            if func.body.blocks:
                inserter.visit_function(func)


class _Inserter:
    """Inserts reshards into one module."""

    def __init__(self, module: ModuleOp, *, full: bool, for_shards: bool, by_count: bool) -> None:
        self._meshes: MeshTable = meshes_of(module)
        self._has_single_devices = any(mesh.is_maximal for mesh in self._meshes.values())
        self._functions = functions_of(module)
        self._full = full
        self._for_shards = for_shards
        self._rule_of = RuleCache()
        self._resharder = Resharder(self._meshes, is_strict=for_shards, by_count=by_count)
        self._has_unreduced = _mentions_unreduced_axes(module)
        self._everywhere = global_mesh(module)

    def visit_function(self, func: FuncOp) -> None:
        """Insert the reshards for the ops and the results of a function."""
        if self._has_single_devices:
            check_boundary(func, self._meshes)
        for op in post_order(func):
            if self._is_concerned(op):
                self._visit(op)
        terminator = func.body.block.last_op
        if terminator is not None:
            for index in range(len(terminator.operands)):
                target = function_result_sharding(func, index)
                point = InsertPoint.before(terminator)
                adapt_use(EdgeSource(terminator, index), target, point, self._meshes, full=self._full)

    def _is_concerned(self, op: Operation) -> bool:
        if self._full or self._has_unreduced or self._has_single_devices:
            return not op.has_trait(IsTerminator)
        return type(op) in ALWAYS_CONCERNED or op.name == RAGGED_DOT

    def _visit(self, op: Operation) -> None:
        if type(op) in DATA_FLOW_OPS and has_data_flow_edges(op):
            self._adapt_edges(op)
            return
        if type(op) is CallOp:
            self._adapt_call(op)
            return
        if type(op) is ReshardOp and self._make_unreduced_instead(op):
            return
        full = self._full or _is_always_full(op)  # decided before operands are reduced
        if self._has_unreduced:
            self._reduce_operands(op)
        if self._has_single_devices and self._visit_single_device(op):
            return
        if not full and not self._has_unreduced and not isinstance(op, DotLikeOp):
            return
        rule = self._rule_of(op)
        if rule is not None and (self._for_shards or not rule.is_custom):
            self._resharder.reshard(op, rule, full=full)

    def _adapt_edges(self, op: DataFlowOp) -> None:
        """Reshard every source of a data-flow edge to the sharding of its owner."""
        for owner in (*result_owners(op), *argument_owners(op)):
            target = _owner_target(op, owner)
            for source in sources_of(owner):
                adapt_use(source, target, after_definition(source.value), self._meshes, full=self._full)

    def _adapt_call(self, op: CallOp) -> None:
        """Reshard every operand to the sharding of the callee's argument."""
        callee = self._functions.get(op.callee.root_reference.data)
        targets = None if callee is None else argument_shardings(callee, self._meshes)
        if targets is None:
            mesh = first_usable_mesh([sharding_of(operand) for operand in op.operands], self._meshes)
            if mesh is None:
                return
            targets = tuple(fully_closed(mesh, rank_of_type(operand.type)) for operand in op.operands)
        for index, target in enumerate(targets):
            use = EdgeSource(op, index)
            adapt_use(use, target, after_definition(use.value), self._meshes, full=True)

    def _make_unreduced_instead(self, op: ReshardOp) -> bool:
        """Replace a reshard that adds unreduced axes by the ops that create partial values; return whether it was."""
        use = EdgeSource(op, 0)
        if not make_unreduced(use, op.sharding.data, InsertPoint.before(op), self._meshes):
            return False
        replace_by(op, use.value)
        return True

    def _visit_single_device(self, op: Operation) -> bool:
        """Reshard the tensors of a single-device op to the device and back; return False for other ops."""
        device = device_mesh(op, self._meshes)
        if device is None:
            return False
        if self._everywhere is not None:
            reshard_to_device(op, device, self._everywhere, self._meshes)
        return True

    def _reduce_operands(self, op: Operation) -> None:
        """All-reduce operands along axes on which the result is not unreduced."""
        unreduced = [index for index, operand in enumerate(op.operands) if _is_unreduced(operand)]
        if not unreduced:
            return
        targets = {None if (found := sharding_of(result)) is None else found.unreduced for result in op.results}
        if len(targets) != 1:
            message = f"{op.name} has partial operands, so its results must be unreduced on the same axes"
            raise SdyError(Diagnostic("SDY-L101", message, span_of(op), hint="reduce the operand before this op"))
        for index in unreduced:
            reduce_use(EdgeSource(op, index), sharding_of(op.results[0]), InsertPoint.before(op), self._meshes)


def _mentions_unreduced_axes(module: ModuleOp) -> bool:
    """Return whether any sharding of the module has unreduced axes."""
    found: set[bool] = set()

    def check(sharding: TensorSharding) -> TensorSharding:
        found.add(bool(sharding.unreduced))
        return sharding

    map_shardings(module, check)
    return True in found


def _owner_target(op: DataFlowOp, owner: SSAValue) -> TensorSharding | None:
    if not isinstance(op, ManualComputationOp):
        return sharding_of(owner)
    if isinstance(owner.owner, Block):
        return op.in_shardings.data[index_of(owner)]
    return without_manual_axes(op.out_shardings.data[index_of(owner)], op.manual_axes.data)


def _is_unreduced(value: SSAValue) -> bool:
    sharding = sharding_of(value)
    return sharding is not None and bool(sharding.unreduced)


def _is_always_full(op: Operation) -> bool:
    """Return whether the light version reshards this op too, because its local form requires equal shardings."""
    if type(op) is ConcatenateOp:
        shardings = result_shardings(op)
        result = shardings[0] if shardings else None
        return any(sharding_of(operand) != result for operand in op.operands)
    return op.name == RAGGED_DOT
