"""Lemmas of collectives: devices exchange windows of one term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from sdy.evidence.proof.offsets import Groups, Offset, at, of_devices, offset, plus
from sdy.evidence.proof.relations import FREE, Digit, Digits, NotProvedError, View, is_within, partial_of, tidy
from sdy.evidence.proof.terms import Term
from sdy.evidence.proof.views import window


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


def _exchanged_dim(base: Sequence[Offset], pairs: Sequence[tuple[int, int]]) -> int:
    """Return the first dim along which senders and receivers have different windows, or else one of several windows.

    Zeros are outside of the term along it: along the other dims, a device with zeros has the window that it had.
    """
    tables = [dim for dim, table in enumerate(base) if not isinstance(table, int)]
    exchanged = (dim for dim in tables if any(at(base[dim], one) != at(base[dim], other) for one, other in pairs))
    return next(exchanged, tables[0] if tables else 0)


def permuted(view: View, pairs: Sequence[tuple[int, int]], devices: int, zero: Term) -> View:
    """Return the windows after each target got that of its source; devices that get nothing have zeros.

    Zeros are a window outside of the term.
    """
    check_exchangeable(view)
    source_of = {target: source for source, target in pairs}
    if view.partial is not None:
        if len(source_of) < devices:
            raise NotProvedError("a partial value is sent to some devices only")
        masks = tuple(view.partial.masks[source_of[device]] for device in range(devices))
        view = replace(view, partial=partial_of(view.partial.kind, masks, view.partial.whole))
    senders = tuple(source_of.get(device, device) for device in range(devices))
    base = [of_devices(each, senders) for each in view.base]
    if len(source_of) == devices:
        return replace(view, base=tuple(base))
    if not base or not pairs:
        raise NotProvedError("some devices get zeros")
    received = replace(view, base=tuple(offset(tuple(at(each, target) for target in source_of)) for each in base))
    outside = zero if is_within(received) or view.outside is zero else None
    dim = _exchanged_dim(view.base, pairs)
    far = view.term.shape[dim] + prod(view.shape)
    base[dim] = offset(tuple(at(base[dim], p) if p in source_of else far for p in range(devices)))
    return replace(view, base=tuple(base), outside=outside)
