"""Lemmas of contractions, reductions, windows and sorts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import Operation, Region, SSAValue

from sdy.dialects.stablehlo.attributes.types import TokenType
from sdy.dialects.stablehlo.calls import CustomCallOp, is_identity_call, is_ragged_all_to_all
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.window import ConvolutionOp, ReduceWindowOp
from sdy.evidence.proof.compute import Computation, Placement, computed
from sdy.evidence.proof.contributions import is_neutral, masked
from sdy.evidence.proof.factors import (
    Factors,
    along,
    along_dims,
    attributes_of,
    batch_of,
    batched,
    contraction_factors,
    ints,
    number,
    reduce,
)
from sdy.evidence.proof.known import as_view, combined_copies, moved
from sdy.evidence.proof.offsets import plus
from sdy.evidence.proof.relations import (
    FREE,
    Known,
    NotProvedError,
    Relation,
    Unknown,
    View,
    dim_of,
    have_same_bits,
)
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.shards import check_effect
from sdy.evidence.proof.terms import Term
from sdy.evidence.proof.walk import Walk, element_of, known_or_view, shape_of
from sdy.evidence.proof.windows import (
    CONVOLUTION_WINDOWS,
    WindowAttributes,
    Windowed,
    convolution_windows,
    over_windows,
    pooling_windows,
)


def known_operands(operands: Sequence[Relation]) -> list[View | Known]:
    """Return relations that are not unknown. Raises: NotProvedError if some is."""
    return [known_or_view(each) for each in operands]


def to_view(walk: Walk, relation: View | Known) -> View:
    """Return a relation as a view."""
    return as_view(relation, walk.table) if isinstance(relation, Known) else relation


def compute(
    walk: Walk,
    op: Operation,
    factors: Factors,
    operands: Sequence[View | Known],
    name: str = "",
    *,
    shards: tuple[tuple[int, Placement], ...] = (),
) -> list[Relation]:
    """Return the relations of the results of an op with these factors."""
    shapes, elements = tuple(map(shape_of, op.results)), tuple(map(element_of, op.results))
    work = Computation(name or op.name, factors, shapes, elements, walk.devices, shards)
    return list(computed(work, operands, walk.table))


def concatenated(walk: Walk, op: Operation, operands: Sequence[View | Known], sizes: tuple[int, ...]) -> View:
    """Return what a concatenation of some operands of `op` is, given their sizes along its dim, which are whole."""
    dim, shape = number(op, "dimension"), list(shape_of(op.results[0]))
    shape[dim] = sum(sizes)
    factors = along_dims([len(shape)] * len(operands), len(shape), 1, (dim,), (dim, sizes))
    work = Computation(op.name, factors, (tuple(shape),), (element_of(op.results[0]),), walk.devices)
    return computed(work, operands, walk.table)[0]


def contraction(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a contraction over shards gives contributions to a sum."""
    assert isinstance(op, DotGeneralOp | DotOp)
    return compute(walk, op, contraction_factors(op), known_operands(operands))


def as_contribution(walk: Walk, value: View | Known) -> View:
    """Return a value as a view; one that is zero on some devices as contributions of the others."""
    if isinstance(value, Known) and value.dim is None and not value.is_uniform:
        rows = value.rows[:, :1]
        used = np.flatnonzero(rows != np.zeros_like(rows))
        if len(used) and have_same_bits(rows[used], rows[used[:1]]):
            scalar = Known(value.element, value.shape, None, rows[used[:1]])
            return masked(as_view(scalar, walk.table), [bool(each) for each in rows[:, 0]])
    return to_view(walk, value)


def reduction(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a reduction of shards gives contributions, if its initial value is neutral.

    A reduction of several values that combines each of them alone is a reduction of each.
    """
    body, kinds = walk.combined_alone(op.regions[0])
    count = len(op.results)
    known = known_operands(operands)
    if not all(kinds):
        return compute(walk, op, reduce(op, "", body), known)
    results: list[Relation] = []
    for position, (kind, result) in enumerate(zip(kinds, op.results, strict=True)):
        alone = body if count == 1 else (kind, count)
        found = _reduced(walk, op, [known[position], known[count + position]], kind, alone, result)
        results.append(found)
    return results


def _reduced(
    walk: Walk, op: Operation, known: list[View | Known], kind: str, body: Hashable, result: SSAValue
) -> Relation:
    """Return the relation of the reduction of one value."""
    shape = shape_of(result)
    if kind:
        dims, init = ints(op, "dimensions"), to_view(walk, known[1])
        value = cleaned(known[0], walk.table) if isinstance(known[0], View) else known[0]
        if all(value.shape[dim] == 1 for dim in dims) and is_neutral(init.term, kind):
            if isinstance(value, Known):
                kept = [dim for dim in range(len(value.shape)) if dim not in dims]
                return moved(value, shape, None if value.dim is None else kept.index(value.dim))
            if all(not value.dims[dim] for dim in dims):
                return replace(value, dims=tuple(d for dim, d in enumerate(value.dims) if dim not in dims))
        if isinstance(value, Known) and is_neutral(init.term, kind):
            total = combined_copies(value, kind, prod(value.shape[dim] for dim in dims))
            if total is not None:
                return moved(total, shape, None)
    if kind == "add":
        known[1] = as_contribution(walk, known[1])
    work = Computation(op.name, reduce(op, kind, body), (shape,), (element_of(result),), walk.devices)
    return computed(work, known, walk.table)[0]


def window_reduction(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: windows are computed on shards that have, or have received, the elements that they read."""
    body: Hashable = tuple(walk.fingerprint(region)[0] for region in op.regions)
    known, attributes = known_operands(operands), WindowAttributes(body, pooling_windows(op))

    def factors(attributes: WindowAttributes) -> Factors:
        return along(op, [each.dim for each in attributes.along], attributes)

    if isinstance(op, ReduceWindowOp) and len(op.inputs) == 1:
        init = to_view(walk, known[1])

        def is_init(scalar: Term) -> bool:
            return scalar is init.term and init.partial is None and not init.term.is_varying

        return [over_windows(walk, Windowed(op, attributes, factors, is_init), [known[0], init])]
    return compute(walk, op, factors(attributes), known)


def convolution(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: batch, output features and windows are computed on their shards; input features are contracted.

    Groups of one feature each, or of one element of a batch, are computed on their shards. With larger groups of
    features, these may not be sharded; with larger groups of a batch, neither the batch nor output features.
    """
    assert isinstance(op, ConvolutionOp)
    groups = _Groups(op)
    operand, kernel, out = groups.factors()
    linear = frozenset({(0,), (1,)})

    def factors(attributes: WindowAttributes) -> Factors:
        return Factors((operand, kernel), (out,), groups.parallel, attributes, groups.reduced, "add", linear=linear)

    rest = (groups.attributes, str(op.properties["dimension_numbers"]))
    windowed = Windowed(op, WindowAttributes(rest, convolution_windows(op)), factors, _is_plain_zero)
    return [over_windows(walk, windowed, known_operands(operands))]


BATCH, IN, OUT, GROUP = range(4)  # factors of a convolution; other dims have factors of their own


class _Groups:
    """The factors of a convolution, which its groups of features or of the batch tell."""

    def __init__(self, op: ConvolutionOp) -> None:
        numbers = op.dimension_numbers.data
        features, batches = number(op, "feature_group_count"), number(op, "batch_group_count")
        inputs = shape_of(op.rhs)[numbers.kernel_input_feature_dimension]
        outputs = shape_of(op.rhs)[numbers.kernel_output_feature_dimension]
        batch = shape_of(op.lhs)[numbers.input_batch_dimension]
        self._op = op
        self._names: list[dict[str, int]]  # of the input, of the kernel and of the result
        if features == batches == 1:
            self._names = [{"batch": BATCH, "in": IN, "out": OUT}] * 3
        elif batches > 1 and batch == outputs == batches:
            self._names = [{"batch": GROUP, "in": IN}, {"in": IN, "out": GROUP}, {"out": GROUP}]
        elif features > 1 == inputs and outputs == features:
            self._names = [{"batch": BATCH, "in": GROUP}, {"out": GROUP}, {"batch": BATCH, "out": GROUP}]
        else:
            self._names = [{"in": IN} if batches > 1 else {"batch": BATCH}] * 3
        used = {each for names in self._names for each in names.values()}
        self.parallel, self.reduced = frozenset(used & {BATCH, OUT, GROUP}), frozenset(used & {IN})
        omitted = ("feature_group_count", "batch_group_count") if GROUP in used else ()
        # The numbers of groups on a device are those of its shards.
        self.attributes = (
            GROUP in used and batches > 1,
            GROUP in used,
            attributes_of(op, *CONVOLUTION_WINDOWS, *omitted),
        )

    def factors(self) -> tuple[tuple[int, ...], ...]:
        """Return the factor of each dim of the input, of the kernel and of the result."""
        rank = len(shape_of(self._op.lhs))
        pairs = enumerate(zip(_convolution_dims(self._op), self._names, strict=True))
        return tuple(
            tuple(names.get(each, 10 + tensor * rank + n) for n, each in enumerate(dims))
            for tensor, (dims, names) in pairs
        )


def _is_plain_zero(scalar: Term) -> bool:
    return scalar.op == "constant" and not scalar.shape and not any(cast("bytes", scalar.attributes))


def _convolution_dims(op: ConvolutionOp) -> list[list[str]]:
    """Return what each dim of the operands and of the result is: batch, in, out or spatial."""
    numbers = op.dimension_numbers.data
    rank = len(shape_of(op.operands[0]))
    roles = (
        {numbers.input_batch_dimension: "batch", numbers.input_feature_dimension: "in"},
        {numbers.kernel_input_feature_dimension: "in", numbers.kernel_output_feature_dimension: "out"},
        {numbers.output_batch_dimension: "batch", numbers.output_feature_dimension: "out"},
    )
    return [[each.get(dim, "spatial") for dim in range(rank)] for each in roles]


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
        dims = [number(op, "dimension") % max(1, rank)]
    else:
        count = len(ints(op, "fft_length")) if op.name == "stablehlo.fft" else ROWS[op.name]
        dims = list(range(rank - count, rank))
    return along(op, dims, (attributes, tuple(dims)))


def _has_side_effect(op: Operation) -> bool:
    return "has_side_effect" in op.properties and bool(number(op, "has_side_effect"))


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
        check_effect(walk, op, operands)
        return [Unknown(()) for _ in op.results]
    return compute(walk, op, row_factors(walk, op), known_operands(operands))


def reverse(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: the window of a reversed dim is as far from the end as it was from the start; one element stays."""
    dims, shape = ints(op, "dimensions"), shape_of(op.results[0])
    long = tuple(dim for dim in dims if shape[dim] > 1)
    if long != dims and not walk.table.is_recording:
        found = _reversed(walk, op, dims, operands)  # shards of one element may be those of a dim that is reversed
        if walk.table.is_global(found.term):
            return [found]
    return [_reversed(walk, op, long, operands)] if long else operands


def _reversed(walk: Walk, op: Operation, dims: tuple[int, ...], operands: list[Relation]) -> View:
    factors = tuple(range(len(shape_of(op.results[0]))))
    parallel = Factors((factors,), (factors,), frozenset(factors), dims)
    (found,) = compute(walk, op, parallel, known_operands(operands))
    assert isinstance(found, View)
    base = list(found.base)
    for digits in (found.dims[dim] for dim in dims if dim_of(found.dims[dim]) != FREE):
        dim = dim_of(digits)
        base[dim] = plus(found.term.shape[dim] - digits[0].size, base[dim], -1)
    return replace(found, base=tuple(base))
