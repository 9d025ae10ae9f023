"""Values that each device computes by itself in a manual computation, and that are windows of no value of the program.

A term has the values of all devices, one after the other along the first dim. Devices that are known to compute equal
values share one, so it is known where devices hold copies, such as after an all-reduce.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import cast

from xdsl.ir import Operation, SSAValue

from sdy.dialects.stablehlo.attributes.token_types import TokenType
from sdy.evidence.proof.known import whole
from sdy.evidence.proof.offsets import Groups, Offset, at, offset
from sdy.evidence.proof.readings import plain_readings
from sdy.evidence.proof.relations import (
    Digit,
    Digits,
    Known,
    NotProvedError,
    Partial,
    Relation,
    Unknown,
    View,
    is_within,
    partial_of,
    tidy,
)
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.terms import JOINED, LOCAL, LOCAL_SCALAR, Shape, Term, TermTable
from sdy.evidence.proof.walk import Walk, element_of, is_on_devices, shape_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.devices.placement import TensorPlacement
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind

KINDS = {ReductionKind.SUM: "add", ReductionKind.MAX: "maximum", ReductionKind.MIN: "minimum"}

MOST_READINGS = 64  # ways to read the operands of one op
BY_CLASSES = "shared by classes"
Classes = tuple[int, ...]  # the first device of the class of each device


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


def are_compared(walk: Walk, op: Operation) -> bool:
    """Return whether an op may be compared device by device: in a manual computation, or with what one computes."""
    return is_on_devices(walk, op) if walk.table.is_recording else walk.table.has(LOCAL)


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


def stacked(
    table: TermTable, key: Hashable, terms: tuple[Term, ...], own: Sequence[Hashable], shape: Shape, element: str
) -> View:
    """Return local values, given what each follows from, as windows of the term that has them one after the other.

    Scalars of several devices have no place in a term; theirs depends on the device.
    """
    distinct = tuple(dict.fromkeys(own))
    if len(distinct) > 1 and not shape:
        return View(table.make(LOCAL_SCALAR, (key, tuple(own)), terms, (), element), (), ())
    row_of = {each: row for row, each in enumerate(distinct)}
    term = table.make(LOCAL, (key, distinct), terms, _sizes_of_rows(len(distinct), shape), element)
    return _rows(term, [row_of[each] for each in own], shape)


def _sizes_of_rows(count: int, shape: Shape) -> Shape:
    """Return the shape of a term that has several values of a shape, one after the other along the first dim."""
    return tuple(size for size in (count * shape[0], *shape[1:]) if size > 1) if shape else ()


def _rows(term: Term, rows: Sequence[int], shape: Shape) -> View:
    """Return values of a shape as windows of the term that has them, given the number of the value of each device."""
    if not any(rows):
        return whole(term, shape)
    first = shape[0]
    inner = whole(term, (term.shape[0], *shape[1:]))
    base: list[Offset] = [offset(tuple(row * first for row in rows)), *inner.base[1:]]
    return View(term, tuple(base), tidy(((Digit(first, 0, 1),), *inner.dims[1:])))


def value_of_classes(walk: Walk, relation: Relation, classes: Classes) -> Relation:
    """Return a local value that the devices of each class share as windows of a term; unknown if they share none.

    Carried values of loops are such where an iteration keeps no other relation.
    """
    for reading in ways_to_read(relation, walk.table):
        try:
            found = describe(reading, walk.devices)
        except NotProvedError:
            continue
        if not _is_finer(classes, shared_by(found)):
            continue
        assert isinstance(reading, View | Known)
        element = reading.term.element if isinstance(reading, View) else reading.element
        own = list(zip(classes, found.own, strict=True))
        view = stacked(walk.table, (BY_CLASSES, classes, found.shared), found.terms, own, reading.shape, element)
        if walk.table.is_recording or walk.table.is_global(view.term):
            return view
    return Unknown(relation.shape)


def classes_of(view: View) -> Classes | None:
    """Return the classes of devices of a view that `value_of_classes` returns; None for others."""
    if view.term.op not in (LOCAL, LOCAL_SCALAR):
        return None
    key = cast("tuple[Sequence[Hashable], Hashable]", view.term.attributes)[0]
    return cast("Classes", key[1]) if key[0] == BY_CLASSES else None


def shared_by(found: Description) -> Classes:
    """Return the classes of devices whose values are known to be equal."""
    first: dict[Hashable, int] = {}
    return tuple(first.setdefault(each, device) for device, each in enumerate(found.own))


def common_classes(relations: Sequence[Relation], devices: int) -> Classes:
    """Return the classes of devices that share each of some values.

    Raises: NotProvedError if the relation of a value does not tell all its elements.
    """
    found = [shared_by(describe(each, devices)) for each in relations]
    first: dict[tuple[int, ...], int] = {}
    return tuple(first.setdefault(each, device) for device, each in enumerate(zip(*found, strict=True)))


def _is_finer(classes: Classes, others: Classes) -> bool:
    """Return whether devices of one class are of one class of others, too."""
    return len(set(zip(classes, others, strict=True))) == len(set(classes))


def put_together(walk: Walk, part: Relation, starts: Sequence[Offset], copies: Groups, value: SSAValue) -> View:
    """Return the relation of a value of which devices have parts, given the start of each along each dim.

    Each group of `copies` has a value of its own. Raises: NotProvedError if devices of a group may have other copies.
    """
    found = describe(ways_to_read(part, walk.table)[0], walk.devices)
    group_of = {device: number for number, group in enumerate(copies) for device in group}
    parts: dict[tuple[int, ...], Hashable] = {}
    for device, own in enumerate(found.own):
        place = (group_of[device], *(at(each, device) for each in starts))
        if parts.setdefault(place, own) != own:
            raise NotProvedError("a manual computation returns different values on devices that must hold copies")
    shape, attributes = shape_of(value), (found.shared, tuple(sorted(parts.items())))
    if len(copies) > 1 and not shape:
        raise NotProvedError("a manual computation in another one returns a scalar that differs between devices")
    sizes = _sizes_of_rows(len(copies), shape)
    term = walk.table.make(JOINED, attributes, found.terms, sizes, element_of(value))
    return _rows(term, [group_of[device] for device in range(walk.devices)], shape)


def note_part(walk: Walk, window: View | Known, part: Relation) -> None:
    """Note what devices return of a result of a manual computation, which is a window of the result, too."""
    if isinstance(window, View) and window != part:
        walk.parts.setdefault(window, part)
        if isinstance(part, View) and part.partial is None and part.outside is None:
            key = (window.term, window.base, window.dims)
            walk.table.note_joined((part.term, part.base, part.dims), key)


def part_of(walk: Walk, window: View | Known) -> Relation:
    """Return what devices returned of a result of a manual computation, given a window of it, or else the window."""
    return walk.parts.get(window, window) if isinstance(window, View) else window


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
