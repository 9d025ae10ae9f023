"""Padding of uneven dims by Shardy's rules: all dims of a module, and the collectives that pad and trim them."""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy import collectives as ops
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sharded_types import local_type
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.grammar.write import write_sharding
from sdy.model.axis import AxisList
from sdy.model.axis_list import set_difference
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.rule import FactorKind
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed_like
from sdy.partitioner.emit.emitter import Emitter, ints
from sdy.partitioner.on_shards.shard_rules import known_rule
from sdy.partitioner.padding import contraction, control, gather_scatter, reduction, shape, slicing, window
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.facts import is_static
from sdy.partitioner.padding.padder import Padder, padding_error
from sdy.passes.export.close.barriers import erase_barriers

COLLECTIVE_RULES = OpTable[None, [Padder]]()


@COLLECTIVE_RULES.of(ops.AllReduceOp, ops.CollectivePermuteOp, ops.ReplicatedToUnreducedOp)
def unchanged_shard_counts(op: ops.CollectiveOp, padder: Padder) -> None:
    """Keep the padding: no dim changes its number of shards."""
    padder.resize(op.result, shape_of(op.tensor))


@COLLECTIVE_RULES.of(ops.AllSliceOp, ops.AllGatherOp, ops.AllToAllOp, ops.ReduceScatterOp, ops.ShardedToUnreducedOp)
def changed_shard_counts(op: ops.CollectiveOp, padder: Padder) -> None:
    """Pad dims that become sharded, trim dims that become unsharded; gather first if padding would change shards."""
    before, after = padder.facts.shardings.axes_per_dim(op.tensor), tuple(dim.axes for dim in op.out_sharding.data.dims)
    even = padder.facts.even_sizes(padder.facts.true_sizes(op.tensor), op.out_sharding.data)
    current = shape_of(op.tensor)
    dims = range(len(after))
    if any(before[d] and after[d] and current[d] != even[d] for d in dims):
        _gather_and_slice(op, before, after, padder)
        return
    emit = padder.emitter(op)
    was_zero = padder.facts.is_zero_padded(op.tensor)
    true_sizes = padder.facts.true_sizes(op.tensor)
    extended = padder.extended(
        emit, op.tensor, tuple(even[d] if after[d] and not before[d] else current[d] for d in dims)
    )
    becomes_unsharded = [d for d in dims if before[d] and not after[d] and current[d] != true_sizes[d]]
    op.operands[0] = extended
    if not becomes_unsharded:
        padder.resize(op.result, shape_of(extended), is_zero=was_zero)
        return
    moved = op.clone()
    moved.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(moved, op)
    padder.resize(moved.results[0], shape_of(extended))
    result = padder.facts.record(moved.results[0], true_sizes, is_zero=was_zero)
    padder.replace(op, padder.trimmed_along(emit, result, becomes_unsharded))


@COLLECTIVE_RULES.of(ReshardOp)
def reshard(op: ReshardOp, padder: Padder) -> None:
    """Reshard between devices or meshes, or between equal layouts; gather and slice if the padding changes."""
    if not is_static(op.input):
        return
    even = padder.facts.even_sizes(padder.facts.true_sizes(op.input), op.sharding.data)
    if even == shape_of(op.input):
        padder.resize(op.result, even, is_zero=padder.facts.is_zero_padded(op.input))
        return
    emit = padder.emitter(op)
    gathered = padder.gathered(emit, op.input, range(len(even)))
    padder.replace(op, padder.sliced(emit, gathered, op.sharding.data, range(len(even))))


def _gather_and_slice(
    op: ops.CollectiveOp, before: tuple[AxisList, ...], after: tuple[AxisList, ...], padder: Padder
) -> None:
    """Replace `op`: gather the dims that it changes, and slice them again with another padding."""
    if isinstance(op, ops.ShardedToUnreducedOp):
        raise padding_error(op, op.tensor, padder.facts)
    emit = padder.emitter(op)
    value = _reduced(op, emit, padder) if isinstance(op, ops.ReduceScatterOp) else op.tensor
    changed = [dim for dim, axes in enumerate(before) if axes != after[dim]]
    gathered = padder.gathered(emit, value, changed)
    padder.replace(op, padder.sliced(emit, gathered, op.out_sharding.data, changed))


def _reduced(op: ops.ReduceScatterOp, emit: Emitter, padder: Padder) -> SSAValue:
    """Return the operand after an all-reduce of its partial values."""
    sharding: TensorSharding = sharding_of(op.tensor) or fully_closed_like(op.out_sharding.data)
    axes = op.listed_axes
    mesh = padder.facts.shardings.mesh(sharding)
    sharding = replace(sharding, unreduced=set_difference(sharding.unreduced, axes, mesh))
    assert op.kind is not None  # verified
    result = emit.add(ops.AllReduceOp(op.tensor, axes, sharding, op.kind))
    return padder.facts.record(result, padder.facts.true_sizes(op.tensor))


# Slices and concatenations after reshards, where elements do not move between shards.
STATIC_RULES = OpTable[None, [Padder]]()


@STATIC_RULES.of(SliceOp)
def slice_(op: SliceOp, padder: Padder) -> None:
    """Widen the slice instead of padding it: the elements after it serve as padding."""
    starts, strides = ints_of(op.start_indices), ints_of(op.strides)
    sizes, even = shape_of(op.result), padder.facts.target_sizes(op.result)
    limits = list(ints_of(op.limit_indices))
    for dim, size in enumerate(even):
        if size != sizes[dim]:
            limits[dim] = starts[dim] + (size - 1) * strides[dim] + 1
    if any(limit > own for limit, own in zip(limits, shape_of(op.operand), strict=True)):
        compute_unpadded(op, padder)
        return
    if even != sizes:
        op.limit_indices = ints(limits)
        padder.resize(op.result, even)


@STATIC_RULES.of(ConcatenateOp)
def concatenate(op: ConcatenateOp, padder: Padder) -> None:
    """Compute without padding if padding would be between the operands."""
    dim = op.dimension.value.data
    is_padded = any(dim in padder.facts.padded_dims(value) for value in op.operands)
    if is_padded or padder.facts.shardings.dim_axes(op.result, dim):
        compute_unpadded(op, padder)
    else:
        padder.resize_to_targets(op.results)


ALL_RULES = OpTable[None, [Padder]](
    COLLECTIVE_RULES,
    contraction.RULES,
    gather_scatter.RULES,
    reduction.RULES,
    shape.RULES,
    slicing.RULES,
    STATIC_RULES,
    window.RULES,
)


def pad_module(module: ModuleOp, *, pads_arguments: bool = False) -> Padder:
    """Pad every value in the functions of the module; return the padder, which knows the padding.

    The arguments and results of functions must divide, unless `pads_arguments`: then callers pad arguments with zeros
    and accept padded results; the caller of this function updates the function types.
    Raises: SdyError SDY-L014 if a dim would need different paddings outside and inside a manual computation, or if a
    dim with padding becomes partial.
    """
    padder = Padder(module)
    for func in functions_of(module).values():
        for block in func.body.blocks:
            if pads_arguments:
                padder.resize_to_targets(block.args, is_zero=True)
            _pad_block(block, padder)
    return padder


def _pad_block(block: Block, padder: Padder) -> None:
    """Pad the values of a block in program order, so that operands are padded before their users."""
    for op in tuple(block.ops):
        control.ARGUMENT_RULES.get(op, padder)
        for region in op.regions:
            for inner in region.blocks:
                _pad_block(inner, padder)
        if type(op) in ALL_RULES:
            ALL_RULES.get(op, padder)
        elif isinstance(op, StablehloOp) and not _pads_equally(op, padder):
            compute_unpadded(op, padder)
        elif not isinstance(op, CallOp | FuncOp) and not op.has_trait(IsTerminator, value_if_unregistered=False):
            padder.resize_to_targets(op.results)


def _pads_equally(op: Operation, padder: Padder) -> bool:
    """Return whether each padded dim of an op without a padding rule has the same sizes in all its tensors."""
    rule = known_rule(op)
    if rule is None:
        return True
    dims = [
        (size, true_size, factors)
        for value, mapping in zip((*op.operands, *op.results), rule.tensors, strict=True)
        for size, true_size, factors in zip(
            padder.facts.target_sizes(value) if value.owner is op else shape_of(value),
            padder.facts.true_sizes(value),
            mapping,
            strict=True,
        )
    ]
    return all(
        len(factors) == 1
        and rule.kind(factors[0]) is FactorKind.PASS_THROUGH
        # The sharding rule uses sizes with padding: a repeated element may look like several elements.
        and all((other, true_other) == (size, true_size) for other, true_other, shared in dims if factors[0] in shared)
        for size, true_size, factors in dims
        if size != true_size
    )


class PadForDivisibilityPass(ModulePass):
    """Pad dims that do not divide; the results of the program do not change.

        before  %1 = sdy.all_slice [{"x"}] %0 out_sharding=<@m, [{"x"}]> : tensor<7xf32>      "x"=4
        after   %1 = stablehlo.pad %0, %zero, low = [0], high = [1], interior = [0] : ... -> tensor<8xf32>
                %2 = sdy.all_slice [{"x"}] %1 out_sharding=<@m, [{"x"}]> : tensor<8xf32>

    Before an op that combines elements along a padded dim, the padding is replaced by the identity element.
    Some ops then still need elements of other shards: `sdy-unshard-unsupported-ops` runs them unsharded.
    Requires: collectives instead of reshards; divisible function boundaries. Ensures: every sharded dim divides.
    Source: docs/spec/06, 2.
    """

    name = "sdy-pad-for-divisibility"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check that function boundaries divide, then pad inside the functions."""
        meshes = meshes_of(op)
        erase_barriers(op)
        for func in functions_of(op).values():
            _check_boundary(func, meshes)
        pad_module(op)


def _check_boundary(func: FuncOp, meshes: MeshTable) -> None:
    """Check a function. Raises: SdyError SDY-L015 for the first argument or result that does not divide."""
    inputs, outputs = func.function_type.inputs, func.function_type.outputs
    values = [
        *((f"argument #{i}", each, argument_sharding(func, i)) for i, each in enumerate(inputs)),
        *((f"result #{i}", each, function_result_sharding(func, i)) for i, each in enumerate(outputs)),
    ]
    for name, value_type, sharding in values:
        mesh = None if sharding is None else resolve_mesh(sharding.mesh, meshes)
        if sharding is None or mesh is None or local_type(value_type, sharding, mesh, allow_uneven=False) is not None:
            continue
        message = f"{name} has a non-divisible sharding: {write_sharding(sharding)} does not divide {value_type}"
        hint = "run sdy-update-non-divisible-input-output-shardings first"
        consequence = (
            f"@{func.sym_name.data} cannot be padded: its callers depend on the sizes of arguments and results"
        )
        raise SdyError(
            Diagnostic("SDY-L015", message, span_of(func), hint=hint),
            Diagnostic("SDY-L015", consequence, span_of(func)),
        )
