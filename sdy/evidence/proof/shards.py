"""The relations of arguments, which are shards, and the values that the devices give to calls with side effects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

from xdsl.ir import Operation

from sdy.dialects.stablehlo.attributes.types import TokenType
from sdy.evidence.proof.offsets import Offset, at, offset
from sdy.evidence.proof.readings import plain_readings
from sdy.evidence.proof.relations import (
    Digit,
    Digits,
    Known,
    NotProvedError,
    Partial,
    Relation,
    View,
    is_within,
    partial_of,
)
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.terms import Shape, Term, TermTable
from sdy.evidence.proof.walk import Walk
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.devices.placement import TensorPlacement
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind

KINDS = {ReductionKind.SUM: "add", ReductionKind.MAX: "maximum", ReductionKind.MIN: "minimum"}

MOST_READINGS = 64  # ways to read the operands of one op


@dataclass(frozen=True, slots=True)
class Description:
    """The facts that determine a local value: two values with equal descriptions are equal on each device.

    `shared` is the same for all devices, `own` has what differs, per device.
    """

    terms: tuple[Term, ...]
    shared: Hashable
    own: tuple[Hashable, ...]


def describe(relation: Relation, devices: int) -> Description:
    """Return the facts that determine a local value.

    Raises: NotProvedError if its relation does not tell all its elements.
    """
    match relation:
        case View() if relation.outside is not None or is_within(relation):
            return _description(relation, devices)
        case Known():
            rows = [row.tobytes() for row in relation.rows]
            shared = (relation.element, relation.shape, relation.dim)
            return Description((), shared, tuple(rows[device % len(rows)] for device in range(devices)))
        case _:
            raise NotProvedError("an operand of which not all elements are known")


def _description(view: View, devices: int) -> Description:
    """Return the facts that determine a window.

    Raises: NotProvedError if devices have some of several contributions to it.
    """
    terms = (view.term,) if view.outside is None else (view.term, view.outside)
    is_varying, partial = any(each.is_varying for each in terms), view.partial
    own: list[Hashable] = []
    for device in range(devices):
        has_all = partial is None or partial.masks[device] == partial.whole
        if not has_all and (partial is None or partial.kind != "add" or partial.masks[device]):
            raise NotProvedError("an operand of which devices have contributions")
        start = tuple(at(each, device) for each in view.base)
        own.append((start, device if is_varying else -1) if has_all else "zero")
    return Description(terms, (view.dims, partial and partial.kind), tuple(own))


def ways_to_read(relation: Relation, table: TermTable) -> list[Relation]:
    """Return a window as one of the clearest term if the global program has it, otherwise as windows of any terms."""
    if not isinstance(relation, View):
        return [relation]
    try:
        return [cleaned(relation, table)] if table.is_recording else [*plain_readings(relation, table), relation]
    except NotProvedError:
        return [relation]


def check_effect(walk: Walk, op: Operation, operands: Sequence[Relation]) -> None:
    """Check that a call for its effect, such as a debug print, gets values that the program gives such a call.

    How often it runs, and on which device, is not checked. Raises: NotProvedError if the values differ.
    """
    given = [each for value, each in zip(op.operands, operands, strict=True) if not isinstance(value.type, TokenType)]
    for reading in islice(product(*(ways_to_read(each, walk.table) for each in given)), MOST_READINGS):
        found = [describe(each, walk.devices) for each in reading]
        if any(len(set(each.own)) > 1 for each in found):
            raise NotProvedError("a custom call with side effects on values that differ between devices")
        terms = tuple(term for each in found for term in each.terms)
        key = (op.name, str(op.properties.get("call_target_name")), *((each.shared, each.own[0]) for each in found))
        term = walk.table.make("effect", key, terms, (), "i1")
        if walk.table.is_recording or walk.table.is_global(term):
            return
    raise NotProvedError("a custom call with side effects on other values than in the program")


@lru_cache(maxsize=4096)
def starts(axes: AxisList, mesh: Mesh, extent: int) -> Offset:
    """Return the first element of each device's shard of a dim, for shards of `extent` elements."""
    return offset(tuple(each * extent for each in shard_coordinates(axes, mesh))) if axes else 0


def bases(placement: TensorPlacement, local: Shape, devices: int) -> tuple[Offset, ...]:
    """Return the first element of each device's shard, per dim.

    Raises: NotProvedError if the shard has another shape than the sharding says.
    """
    mesh, sharding = placement.mesh, placement.sharding
    if not mesh.axes:
        return (0,) * len(local)
    if mesh.device_count != devices:
        raise NotProvedError("a value on a mesh of its own")
    found: list[Offset] = []
    for size, extent, dim in zip(placement.shape, local, sharding.dims, strict=True):
        count = sharded_size(dim.axes, mesh)
        if -(-size // count) != extent:
            raise NotProvedError(f"expected shards of {-(-size // count)} elements, got {extent}")
        found.append(starts(dim.axes, mesh, extent))
    return tuple(found)


def contributions_of(placement: TensorPlacement) -> Partial | None:
    """Return the contributions of devices to an unreduced tensor."""
    axes, mesh = placement.sharding.unreduced, placement.mesh
    if not axes:
        return None
    coordinates = shard_coordinates(axes, mesh)
    masks = tuple(1 << each for each in coordinates)
    return partial_of(KINDS[placement.sharding.unreduced_kind], masks, (1 << (max(coordinates) + 1)) - 1)


def argument(
    number: int, placement: TensorPlacement, local: Shape, element: str, devices: int, table: TermTable
) -> View:
    """Return the relation of a local argument to the global one. Raises: NotProvedError as `bases`."""
    tables = bases(placement, local, devices)
    if 0 in placement.shape:
        raise NotProvedError("a value without elements")
    kept = [dim for dim, size in enumerate(placement.shape) if size > 1]
    term = table.make("argument", number, (), tuple(placement.shape[dim] for dim in kept), element)
    dims: list[Digits] = []
    for dim, extent in enumerate(local):
        dims.append((Digit(extent, kept.index(dim), 1),) if dim in kept else ())
    return View(term, tuple(tables[dim] for dim in kept), tuple(dims), None, contributions_of(placement))
