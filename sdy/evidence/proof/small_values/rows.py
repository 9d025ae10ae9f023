"""Ops of which a result depends on many elements, and branches, on codes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import Operation

from sdy.evidence.proof.relations import Codes, NotProvedError
from sdy.evidence.proof.rings import chosen
from sdy.evidence.proof.small_values.codes import ElementTable
from sdy.evidence.proof.structured import row_factors
from sdy.evidence.proof.walk import Walk, element_of, shape_of


def of_rows(table: ElementTable, walk: Walk, op: Operation, codes: Sequence[Codes]) -> list[Codes]:
    """Return new variables per element of the results, equal for rows of equal elements."""
    factors = row_factors(walk, op)
    parallel = sorted(factors.parallel)
    columns: list[Codes] = []
    for value, dims in zip(codes, factors.operands, strict=True):
        own = [each for each in parallel if each in dims]  # scalars have none
        moved = np.moveaxis(value, [dims.index(each) + 1 for each in own], range(1, len(own) + 1))
        sizes_of_batch = [value.shape[dims.index(each) + 1] if each in dims else 1 for each in parallel]
        rows = moved.reshape(len(value), *sizes_of_batch, -1)
        columns += (rows[..., position] for position in range(rows.shape[-1]))
    types = tuple((element_of(each), len(shape_of(each))) for each in (*op.operands, *op.results))
    sizes = tuple(
        tuple(size for size, factor in zip(shape_of(value), dims, strict=True) if factor not in parallel)
        for value, dims in zip((*op.operands, *op.results), (*factors.operands, *factors.results), strict=True)
    )
    row = table.variables((op.name, factors.attributes, types, sizes), columns)
    found: list[Codes] = []
    for number, (result, dims) in enumerate(zip(op.results, factors.results, strict=True)):
        shape = shape_of(result)
        inner = [size for size, factor in zip(shape, dims, strict=True) if factor not in parallel]
        places = np.arange(prod(inner), dtype=np.int64)
        each = table.variables(("element of a row", number), [row[..., None], places])
        each = each.reshape(*each.shape[:-1], *inner)
        found.append(np.moveaxis(each, range(1, len(parallel) + 1), [dims.index(factor) + 1 for factor in parallel]))
    return found


def branch(table: ElementTable, walk: Walk, op: Operation, codes: Sequence[Codes]) -> list[Codes]:
    """Return what the branch gives that is taken, given the condition and what all branches give."""
    condition, count, branches = codes[0], len(op.results), len(op.regions)
    if len(condition) > 1:
        raise NotProvedError("a branch whose condition depends on the device")
    returned = [codes[1 + count * number :][:count] for number in range(branches)]
    found = list(returned[-1])  # of an index out of bounds, too
    if op.name == "stablehlo.if":
        masks = [condition]
    else:
        ends = [(number, number) for number in range(branches - 1)]
        masks = list(np.moveaxis(table.choices.in_intervals(condition, ends), -1, 0))
    for mask, values in reversed(list(zip(masks, returned, strict=False))):
        before = found
        found = [
            chosen(mask.reshape((-1, *(1,) * (each.ndim - 1))), each, rest)
            for each, rest in zip(values, before, strict=True)
        ]
        for result, *parts in zip(op.results, found, values, before, strict=True):
            table.masked.note_choice(element_of(result), *parts)
    return found
