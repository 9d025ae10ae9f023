"""Collectives on codes of elements: arrays of a dim of devices and the local dims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.meshes import visible_meshes
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.evidence.proof.collectives.lemmas import groups_of, manual_axes, mesh_of, pairs_of
from sdy.evidence.proof.device_values import starts
from sdy.evidence.proof.factors import number
from sdy.evidence.proof.known import DTYPES
from sdy.evidence.proof.offsets import at
from sdy.evidence.proof.relations import ARBITRARY, Codes, Elements, NotProvedError, Relation
from sdy.evidence.proof.small_values.codes import ElementTable
from sdy.evidence.proof.small_values.elementwise import combined
from sdy.evidence.proof.terms import Shape
from sdy.evidence.proof.walk import Walk, element_of, shape_of
from sdy.model.sharding import TensorSharding


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
    _, kind = walk.fingerprint(op.regions[0])
    if kind == "multiply":
        raise NotProvedError("a product over devices")
    found = np.empty_like(codes)
    for group in groups_of(walk, op):
        found[list(group)] = combined(table, kind, element_of(op.results[0]), list(codes[list(group)]))
    return found


def _reduce_scatter(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    whole, dim = _all_reduce(table, walk, op, codes), number(op, "scatter_dimension")
    found: dict[int, Codes] = {}
    for group in groups_of(walk, op):
        found.update(zip(group, np.split(whole[group[0]], len(group), dim), strict=True))
    return np.stack([found[device] for device in range(walk.devices)])


def taken_apart(walk: Walk, op: ManualComputationOp, number: int, value: Elements) -> Elements:
    """Return what each device gets of an operand of a manual computation."""
    sharding, shape = op.in_shardings.data[number], shape_of(op.body.block.args[number])
    found = [
        value.codes[device % len(value.codes)][region]
        for device, region in enumerate(_regions(walk, op, sharding, shape))
    ]
    return Elements(value.element, np.stack(found), value.degree)


def _regions(walk: Walk, op: ManualComputationOp, sharding: TensorSharding, local: Shape) -> list[tuple[slice, ...]]:
    """Return the part of a value that is on each device inside of a manual computation."""
    mesh = mesh_of(walk, sharding, visible_meshes(op))
    axes = manual_axes(sharding, op.manual_axes.data)
    bases = [starts(each, mesh, size) if each else 0 for each, size in zip(axes, local, strict=True)]
    return [
        tuple(slice(at(base, device), at(base, device) + size) for base, size in zip(bases, local, strict=True))
        for device in range(walk.devices)
    ]


def put_together(table: ElementTable, walk: Walk, op: ManualComputationOp, number: int, value: Elements) -> Relation:
    """Return a result of a manual computation, given what each device returns.

    Raises: NotProvedError if devices that must hold copies return different elements.
    """
    whole = np.full(shape_of(op.results[number]), ARBITRARY)
    for device, region in enumerate(_regions(walk, op, op.out_shardings.data[number], value.shape)):
        codes = value.codes[device % len(value.codes)]
        if (codes == ARBITRARY).any() or bool(((whole[region] != ARBITRARY) & (whole[region] != codes)).any()):
            raise NotProvedError("a manual computation returns different values on devices that must hold copies")
        whole[region] = codes
    return table.view_of(Elements(value.element, whole[None], value.degree))


EXCHANGES: dict[str, Callable[[ElementTable, Walk, Operation, Codes], Codes]] = {
    "stablehlo.all_gather": _all_gather,
    "stablehlo.all_to_all": _all_to_all,
    "stablehlo.collective_permute": _collective_permute,
    "stablehlo.all_reduce": _all_reduce,
    "stablehlo.reduce_scatter": _reduce_scatter,
}
