"""Collectives on codes of elements: arrays of a dim of devices and the local dims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from sdy.proof.collective_lemmas import groups_of, pairs_of
from sdy.proof.contributions import IDEMPOTENT, is_neutral
from sdy.proof.factors import number
from sdy.proof.known import DTYPES
from sdy.proof.relations import Codes, NotProvedError
from sdy.proof.small_values.codes import ARBITRARY, ElementTable, zero
from sdy.proof.walk import Walk, element_of


def _all_gather(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    found: dict[int, Codes] = {}
    for group in groups_of(walk, op):
        joined = np.concatenate([codes[each] for each in group], number(op, "all_gather_dim"))
        found.update(dict.fromkeys(group, joined))
    return np.stack([found[device] for device in range(walk.devices)])


def _all_to_all(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    split, concat = number(op, "split_dimension"), number(op, "concat_dimension")
    found: dict[int, Codes] = {}
    for group in groups_of(walk, op):
        parts = [np.split(codes[each], len(group), split) for each in group]
        for position, device in enumerate(group):
            found[device] = np.concatenate([each[position] for each in parts], concat)
    return np.stack([found[device] for device in range(walk.devices)])


def _collective_permute(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    element = element_of(op.results[0])
    if element not in DTYPES:
        raise NotProvedError(f"the proof does not support zeros of type {element}")
    found = np.full_like(codes, table.constant(element, bytes(DTYPES[element](0).itemsize)))
    for source, target in pairs_of(op):
        found[target] = codes[source]
    return found


def _all_reduce(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    """Return the only element of each group that is not neutral, or the one of all devices."""
    _, kind = walk.fingerprint(op.regions[0])
    element = element_of(op.regions[0].block.args[0])
    neutral = [
        code
        for code in map(int, np.unique(codes))
        if (found := table.of_constant(code)) is not None
        and is_neutral(walk.table.make("constant", found[1], (), (), element), kind)
    ]
    neutral += [zero(table, element)] * (kind == "add")
    found = codes.copy()
    for group in groups_of(walk, op):
        rows = codes[list(group)]
        others = np.sort(np.where(np.isin(rows, neutral), np.iinfo(np.int64).max, rows), 0)
        has_one = others[0] == others[-1] if kind in IDEMPOTENT else np.zeros(others.shape[1:], np.bool_)
        is_alone = has_one | (others[1:] == np.iinfo(np.int64).max).all(0)
        is_alone &= (others[0] != np.iinfo(np.int64).max) | (rows == rows[:1]).all(0)
        if not kind or (rows == ARBITRARY).any() or not is_alone.all():
            raise NotProvedError("devices combine different elements")
        found[list(group)] = np.where(others[0] == np.iinfo(np.int64).max, rows[0], others[0])
    return found


def _reduce_scatter(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    whole, dim = _all_reduce(table, walk, op, codes), number(op, "scatter_dimension")
    found: dict[int, Codes] = {}
    for group in groups_of(walk, op):
        found.update(zip(group, np.split(whole[group[0]], len(group), dim), strict=True))
    return np.stack([found[device] for device in range(walk.devices)])


EXCHANGES: dict[str, Callable[[ElementTable, Walk, Operation, Codes], Codes]] = {
    "stablehlo.all_gather": _all_gather,
    "stablehlo.all_to_all": _all_to_all,
    "stablehlo.collective_permute": _collective_permute,
    "stablehlo.all_reduce": _all_reduce,
    "stablehlo.reduce_scatter": _reduce_scatter,
}
