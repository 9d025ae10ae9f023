"""Lemmas of collectives: devices exchange windows of one term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from sdy.evidence.proof.offsets import Groups, Offset, at, of_devices, offset, plus
from sdy.evidence.proof.relations import FREE, Digit, Digits, NotProvedError, View, tidy
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
