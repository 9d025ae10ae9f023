"""Lemmas of contractions, reductions, windows and sorts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from xdsl.ir import Operation, Region

from sdy.dialects.stablehlo.attributes.types import TokenType
from sdy.dialects.stablehlo.calls import CustomCallOp, is_identity_call, is_ragged_all_to_all
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.window import ConvolutionOp
from sdy.evidence.proof.compute import Computation, computed
from sdy.evidence.proof.factors import (
    Factors,
    along,
    attributes_of,
    batch_of,
    batched,
    contraction_factors,
    ints,
    number,
    reduce,
)
from sdy.evidence.proof.offsets import plus
from sdy.evidence.proof.relations import FREE, Known, NotProvedError, Relation, Unknown, View, dim_of
from sdy.evidence.proof.walk import Walk, element_of, known_or_view, shape_of


def known_operands(operands: Sequence[Relation]) -> list[View | Known]:
    """Return relations that are not unknown. Raises: NotProvedError if some is."""
    return [known_or_view(each) for each in operands]


def compute(walk: Walk, op: Operation, factors: Factors, operands: Sequence[View | Known]) -> list[Relation]:
    """Return the relations of the results of an op with these factors."""
    shapes, elements = tuple(map(shape_of, op.results)), tuple(map(element_of, op.results))
    work = Computation(op.name, factors, shapes, elements, walk.devices)
    return list(computed(work, operands, walk.table))


def contraction(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a contraction over shards gives contributions to a sum."""
    assert isinstance(op, DotGeneralOp | DotOp)
    return compute(walk, op, contraction_factors(op), known_operands(operands))


def reduction(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a reduction of shards gives contributions, if its initial value is neutral."""
    body, kind = walk.fingerprint(op.regions[0])
    return compute(walk, op, reduce(op, kind, body), known_operands(operands))


def window_reduction(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: windows of several elements, and those that are padded, need unsharded dims; others may be sharded."""
    body: Hashable = tuple(walk.fingerprint(region)[0] for region in op.regions)
    return compute(walk, op, along(op, _dims_of_windows(op), (attributes_of(op), body)), known_operands(operands))


def _dims_of_windows(op: Operation) -> list[int]:
    """Return the dims along which windows are others than the single elements of the operand."""
    rank = len(shape_of(op.operands[0]))
    names = ("window_dimensions", "window_strides", "base_dilations")
    sizes = list(zip(*(ints(op, name) or (1,) * rank for name in names), strict=True))
    padding = ints(op, "padding") or (0,) * (2 * rank)
    return [dim for dim in range(rank) if (*sizes[dim], *padding[2 * dim : 2 * dim + 2]) != (1, 1, 1, 0, 0)]


BATCH, IN, OUT, GROUP = range(4)  # factors of a convolution; other dims have factors of their own


def convolution(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: batch and output features are computed on their shards; input features are contracted.

    Groups of one feature each, or of one element of a batch, are computed on their shards. With larger groups of
    features, these may not be sharded; with larger groups of a batch, neither the batch nor output features.
    """
    assert isinstance(op, ConvolutionOp)
    numbers = op.dimension_numbers.data
    rank, batch = len(shape_of(op.lhs)), shape_of(op.lhs)[numbers.input_batch_dimension]
    inputs, outputs = numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension
    features, batches = number(op, "feature_group_count"), number(op, "batch_group_count")
    sizes = shape_of(op.rhs)
    shared: tuple[dict[int, int], ...]  # the factors of dims of the input, of the kernel and of the result
    if features == batches == 1:
        shared = ({BATCH: BATCH, IN: IN, OUT: OUT},) * 3
    elif batches > 1 and batch == sizes[outputs] == batches:
        shared = {BATCH: GROUP, IN: IN}, {IN: IN, OUT: GROUP}, {OUT: GROUP}
    elif features > 1 == sizes[inputs] and sizes[outputs] == features:
        shared = {BATCH: BATCH, IN: GROUP}, {OUT: GROUP}, {BATCH: BATCH, OUT: GROUP}
    else:
        shared = ({IN: IN} if batches > 1 else {BATCH: BATCH},) * 3
    roles = (
        {numbers.input_batch_dimension: BATCH, numbers.input_feature_dimension: IN},
        {inputs: IN, outputs: OUT},
        {numbers.output_batch_dimension: BATCH, numbers.output_feature_dimension: OUT},
    )
    *operand_dims, out = (
        tuple(names.get(each.get(dim, -1), GROUP + 1 + tensor * rank + dim) for dim in range(rank))
        for tensor, (each, names) in enumerate(zip(roles, shared, strict=True))
    )
    used = frozenset(factor for names in shared for factor in names.values())
    # The numbers of groups on a device are those of its shards.
    omitted = ("feature_group_count", "batch_group_count") if GROUP in used else ()
    attributes = (GROUP in used and batches > 1, GROUP in used, attributes_of(op, *omitted))
    linear = frozenset({(0,), (1,)})
    parallel, reduced = used & {BATCH, OUT, GROUP}, used & {IN}
    factors = Factors(tuple(operand_dims), (out,), parallel, attributes, reduced, "add", linear=linear)
    return compute(walk, op, factors, known_operands(operands))


ROWS = {"chlo.top_k": 1, "stablehlo.cholesky": 2, "stablehlo.triangular_solve": 2}  # dims of a row or matrix
BY_ROWS = (*ROWS, *(f"stablehlo.{each}" for each in ("sort", "fft", "rng_bit_generator", "map", "custom_call")))


def row_factors(walk: Walk, op: Operation) -> Factors:
    """Return the factors of an op that treats rows or matrices one by one; other ops need all dims unsharded.

    Raises: NotProvedError if the op is not a function of its operands.
    """
    if is_ragged_all_to_all(op):
        raise NotProvedError("a collective on a value that depends on the device")
    if _has_side_effect(op):
        raise NotProvedError("a custom call with side effects, of which results are used")
    body: Hashable = tuple(walk.fingerprint(region)[0] for region in (*op.regions, *_called_by(walk, op)))
    attributes = (attributes_of(op, "dimension", "called_computations"), body)
    if op.name == "stablehlo.custom_call":  # which may take other attributes too
        kept = (item for item in op.attributes.items() if not item[0].startswith(("sdy.", "mhlo.sharding")))
        attributes = (*attributes, tuple(sorted(kept, key=lambda item: item[0])))
        return batched(op, batch_of(op), attributes)
    if op.name not in ("stablehlo.sort", "stablehlo.fft", *ROWS):
        return batched(op, (), attributes)
    rank = len(shape_of(op.results[0]))
    if op.name == "stablehlo.sort":
        dims = [number(op, "dimension", -1) % max(1, rank)]
    else:
        count = len(ints(op, "fft_length")) if op.name == "stablehlo.fft" else ROWS[op.name]
        dims = list(range(rank - count, rank))
    return along(op, dims, (attributes, tuple(dims)))


def _has_side_effect(op: Operation) -> bool:
    return bool(number(op, "has_side_effect"))


def _called_by(walk: Walk, op: Operation) -> list[Region]:
    """Return the bodies of the functions that a custom call may call.

    Raises: NotProvedError if one has no body.
    """
    names = [each.root_reference.data for each in op.called_computations or ()] if isinstance(op, CustomCallOp) else []
    found = [walk.functions[name].body for name in names if name in walk.functions]
    if len(found) < len(names) or not all(each.blocks for each in found):
        raise NotProvedError("a custom call calls a function without a body")
    return found


def by_rows(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: equal rows give equal rows of the results; other dims than those of a row may be sharded.

    Some custom calls return their operands, others are called for their effects and return nothing.
    """
    if is_identity_call(op):
        return operands
    if _has_side_effect(op) and all(isinstance(each.type, TokenType) for each in op.results):
        _check_effect(walk, op, operands)
        return [Unknown(()) for _ in op.results]
    return compute(walk, op, row_factors(walk, op), known_operands(operands))


def _check_effect(walk: Walk, op: Operation, operands: Sequence[Relation]) -> None:
    """Check that a call for its effect, such as a debug print, gets values that the program gives such a call.

    How often it runs, and on which device, is not checked. Raises: NotProvedError if the values differ.
    """
    given = [number for number, each in enumerate(op.operands) if not isinstance(each.type, TokenType)]
    factors = batched(op, (), str(op.properties.get("call_target_name")))
    factors = replace(factors, operands=tuple(factors.operands[each] for each in given), results=((),))
    work = Computation("effect", factors, ((),), ("i1",), walk.devices)
    (found,) = computed(work, [known_or_view(operands[each]) for each in given], walk.table)
    if found.partial is not None or found.term.is_varying:
        raise NotProvedError("a custom call with side effects on values that differ between devices")
    if not walk.table.is_recording and not walk.table.is_global(found.term):
        raise NotProvedError("a custom call with side effects on other values than in the program")


def reverse(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: the window of a reversed dim is as far from the end as it was from the start; one element stays."""
    rank = len(shape_of(op.results[0]))
    dims = tuple(dim for dim in ints(op, "dimensions") if shape_of(op.results[0])[dim] > 1)
    if not dims:
        return operands
    parallel = Factors((tuple(range(rank)),), (tuple(range(rank)),), frozenset(range(rank)), dims)
    (found,) = compute(walk, op, parallel, known_operands(operands))
    assert isinstance(found, View)
    base = list(found.base)
    for digits in (found.dims[dim] for dim in dims if dim_of(found.dims[dim]) != FREE):
        dim = dim_of(digits)
        base[dim] = plus(found.term.shape[dim] - digits[0].size, base[dim], -1)
    return [replace(found, base=tuple(base))]
