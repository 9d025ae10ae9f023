"""All padding rules, and the pass over a module that applies them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.rule import FactorKind
from sdy.partitioner.emit.emitter import ints
from sdy.partitioner.on_shards.shard_rules import known_rule
from sdy.partitioner.padding import contraction, control, gather_scatter, reduction, shape, slicing, window
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.padder import Padder, Rule
from sdy.upstream.padding import collectives

# Slices and concatenations after reshards, where elements do not move between shards.
STATIC_RULES = OpTable[Rule]()


@STATIC_RULES.of(SliceOp)
def slice_(op: SliceOp) -> Rule:
    """Widen the slice instead of padding it: the elements after it serve as padding."""
    starts, strides = ints_of(op.start_indices), ints_of(op.strides)

    def pad(padder: Padder) -> None:
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

    return pad


@STATIC_RULES.of(ConcatenateOp)
def concatenate(op: ConcatenateOp) -> Rule:
    """Compute without padding if padding would be between the operands."""
    dim = op.dimension.value.data

    def pad(padder: Padder) -> None:
        if padder.facts.dim_axes(op.result)[dim] or any(
            dim in padder.facts.padded_dims(value) for value in op.operands
        ):
            compute_unpadded(op, padder)
        else:
            padder.resize_to_targets(op.results)

    return pad


RULES = OpTable[Rule](
    collectives.RULES,
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
        argument_rule = control.ARGUMENT_RULES.get(op)
        if argument_rule is not None:
            argument_rule(padder)
        for region in op.regions:
            for inner in region.blocks:
                _pad_block(inner, padder)
        rule = RULES.get(op)
        if rule is not None:
            rule(padder)
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
