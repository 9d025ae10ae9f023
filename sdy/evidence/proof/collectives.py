"""Lemmas of collectives: devices exchange windows of one term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.evidence.proof.contributions import combined
from sdy.evidence.proof.factors import number
from sdy.evidence.proof.known import as_view
from sdy.evidence.proof.offsets import Groups, Offset, at, of_devices, offset, plus
from sdy.evidence.proof.relations import FREE, Digit, Digits, NotProvedError, Relation, View, tidy
from sdy.evidence.proof.views import window
from sdy.evidence.proof.walk import Lemma, Walk, known_or_view


def check_exchangeable(view: View) -> None:
    """Check that devices hold windows of one value. Raises: NotProvedError if the value depends on the device."""
    if view.term.is_varying:
        raise NotProvedError("a collective on a value that depends on the device")


def checked_groups(groups: Groups, devices: int) -> Groups:
    """Return groups that have each device once. Raises: NotProvedError if they have not."""
    if sorted(device for group in groups for device in group) != list(range(devices)):
        raise NotProvedError("the groups do not have each device once")
    if len({len(group) for group in groups}) != 1:
        raise NotProvedError("the groups have different sizes")
    return groups


def gathered(view: View, dim: int, groups: Groups, devices: int) -> View:
    """Return the concatenation along a local dim of the windows of all devices of each group."""
    check_exchangeable(view)
    _check_equal_contributions(view, groups)
    base, digits = _first_and_digits(view.base, groups, devices)
    dims = (*view.dims[:dim], (*digits, *view.dims[dim]), *view.dims[dim + 1 :])
    return replace(view, base=base, dims=tidy(dims))


def _check_equal_contributions(view: View, groups: Groups) -> None:
    partial = view.partial
    if partial is not None and any(len({partial.masks[device] for device in group}) > 1 for group in groups):
        raise NotProvedError("expected an all-reduce before a gather of partial values")


@lru_cache(maxsize=4096)
def _first_and_digits(bases: tuple[Offset, ...], groups: Groups, devices: int) -> tuple[tuple[Offset, ...], Digits]:
    """Return the bases of the first device of each device's group, and the digits of the windows of a group.

    Raises: NotProvedError if not all groups have such windows.
    """
    steps = {_steps(bases, group) for group in groups}
    if len(steps) > 1:
        raise NotProvedError("groups of devices exchange windows at different distances")
    first = [0] * devices
    for group in groups:
        for device in group:
            first[device] = group[0]
    leaders = tuple(first)
    return tuple(of_devices(base, leaders) for base in bases), _digits(steps.pop())


def _steps(bases: Sequence[Offset], group: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the distance of each window from the first one, per dim of the term."""
    return tuple(tuple(at(base, device) - at(base, group[0]) for base in bases) for device in group)


def _digits(steps: Sequence[Sequence[int]]) -> Digits:
    """Return digits whose values are the steps, in order.

    Raises: NotProvedError if no digits have these values.
    """
    digits: list[Digit] = []
    rest = [tuple(each) for each in steps]
    while len(rest) > 1:
        step = rest[1]
        moved = [dim for dim, each in enumerate(step) if each]
        if len(moved) > 1:
            raise NotProvedError("windows that are gathered differ along two dims at once")
        if any(each < 0 for each in step):
            raise NotProvedError("windows that are gathered are in descending order")
        count = _run_length(rest)
        minor, majors = rest[:count], rest[::count]
        expected = [tuple(a + b for a, b in zip(major, each, strict=True)) for major in majors for each in minor]
        if expected != rest:
            raise NotProvedError("windows that are gathered do not follow each other")
        digits.insert(0, Digit(count, moved[0] if moved else FREE, step[moved[0]] if moved else 0))
        rest = majors
    return tuple(digits)


def _run_length(steps: Sequence[Sequence[int]]) -> int:
    """Return the number of steps at the start that are multiples of the first one, a divisor of the number of steps."""
    step, count = steps[1], 2
    while count < len(steps) and tuple(steps[count]) == tuple(each * count for each in step):
        count += 1
    while len(steps) % count:
        count -= 1
    if count == 1:
        raise NotProvedError("windows that are gathered do not follow each other")
    return count


@lru_cache(maxsize=4096)
def index_in_group(groups: Groups, devices: int) -> Offset:
    """Return the position of each device in its group."""
    found = [0] * devices
    for group in groups:
        for position, device in enumerate(group):
            found[device] = position
    return offset(tuple(found))


def scattered(view: View, dim: int, groups: Groups, devices: int) -> View:
    """Return the part of the local dim that belongs to each device of a group, in order."""
    extent = view.shape[dim] // len(groups[0])
    return window(view, dim, plus(0, index_in_group(groups, devices), extent), extent)


def exchanged(view: View, split: int, concat: int, groups: Groups, devices: int) -> View:
    """Return what an all-to-all gives: the part of `split` that belongs to a device, of all devices along `concat`."""
    check_exchangeable(view)
    _check_equal_contributions(view, groups)
    base, digits = _first_and_digits(view.base, groups, devices)
    part = scattered(replace(view, base=base), split, groups, devices)
    dims = (*part.dims[:concat], (*digits, *part.dims[concat]), *part.dims[concat + 1 :])
    return replace(part, dims=tidy(dims))


def permuted(view: View, pairs: Sequence[tuple[int, int]], devices: int) -> View:
    """Return the windows after each target got that of its source.

    Raises: NotProvedError if some device gets none, and so zeros.
    """
    check_exchangeable(view)
    source_of = {target: source for source, target in pairs}
    if source_of.keys() != set(range(devices)):
        raise NotProvedError("some devices get zeros")
    sources = tuple(source_of[device] for device in range(devices))
    partial = view.partial
    if partial is not None:
        partial = replace(partial, masks=tuple(partial.masks[source] for source in sources))
    return replace(view, base=tuple(of_devices(each, sources) for each in view.base), partial=partial)


def groups_of(walk: Walk, op: Operation) -> Groups:
    """Return the groups of devices of a collective. Raises: NotProvedError if they are not lists of all devices."""
    table = op.properties.get("replica_groups")
    needs_global = op.name != "stablehlo.all_to_all"
    if not has_channel(op) or (needs_global and "use_global_device_ids" not in op.properties):
        raise NotProvedError("expected groups of device numbers, got groups of replicas")
    if not isinstance(table, DenseElementsAttr):
        raise NotProvedError("expected groups as a list of devices")
    return listed_groups(table, walk.devices)


@lru_cache(maxsize=4096)
def listed_groups(table: DenseElementsAttr, devices: int) -> Groups:
    """Return groups that are rows of a table. Raises: NotProvedError if they do not have each device once."""
    size, ids = table.type.get_shape()[1], table.get_ints()
    return checked_groups(tuple(tuple(ids[start : start + size]) for start in range(0, len(ids), size)), devices)


def _views(walk: Walk, operands: list[Relation]) -> list[View]:
    return [as_view(known_or_view(each), walk.table) for each in operands]


def all_gather(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an all-gather along the windows of a group joins them to one window."""
    groups, dim = groups_of(walk, op), number(op, "all_gather_dim")
    return [gathered(each, dim, groups, walk.devices) for each in _views(walk, operands)]


def all_reduce(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an all-reduce over devices with all contributions gives the value."""
    return [_reduced(walk, op, each) for each in _views(walk, operands)]


def _reduced(walk: Walk, op: Operation, view: View) -> View:
    _, kind = walk.fingerprint(op.regions[0])
    groups = groups_of(walk, op)
    if not kind or view.term.is_varying:
        raise NotProvedError("expected a sum, product, maximum, minimum, and, or: of a value that all devices share")
    if view.partial is not None:
        return combined(view, kind, groups)
    if len(groups[0]) == 1:
        return view
    raise NotProvedError("expected contributions of devices: they reduce other values")


def reduce_scatter(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a reduce-scatter is an all-reduce of which each device keeps its part."""
    dim, groups = number(op, "scatter_dimension"), groups_of(walk, op)
    return [scattered(_reduced(walk, op, each), dim, groups, walk.devices) for each in _views(walk, operands)]


def all_to_all(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: an all-to-all moves windows from one dim to another."""
    groups, split, concat = groups_of(walk, op), number(op, "split_dimension"), number(op, "concat_dimension")
    if number(op, "split_count") != len(groups[0]):
        raise NotProvedError("expected as many parts as devices in a group")
    return [exchanged(each, split, concat, groups, walk.devices) for each in _views(walk, operands)]


def collective_permute(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a permutation gives each target the window of its source."""
    return [permuted(_views(walk, operands)[0], pairs_of(op), walk.devices)]


def pairs_of(op: Operation) -> list[tuple[int, int]]:
    """Return the sources and targets of a permutation. Raises: NotProvedError if they are not numbers of devices."""
    table = op.properties["source_target_pairs"]
    if not has_channel(op) or not isinstance(table, DenseElementsAttr):
        raise NotProvedError("expected pairs of device numbers, got pairs of replicas")
    ids = table.get_ints()
    return [(ids[n], ids[n + 1]) for n in range(0, len(ids), 2)]


COLLECTIVES: dict[str, Lemma] = {
    "stablehlo.all_gather": all_gather,
    "stablehlo.all_reduce": all_reduce,
    "stablehlo.reduce_scatter": reduce_scatter,
    "stablehlo.all_to_all": all_to_all,
    "stablehlo.collective_permute": collective_permute,
}
