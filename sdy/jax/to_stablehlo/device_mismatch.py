"""Reports arguments of a call that are on different devices, or on the same devices in different orders."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import jax
from jax.sharding import AbstractMesh, NamedSharding

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

_HINT = (
    "put both on one mesh with jax.device_put(array, NamedSharding(mesh, spec)); uncommitted arrays follow the others"
)


def device_mismatch_error(
    fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> SdyError | None:
    """Return SDY-T211 for the first argument whose devices differ from those of the arguments before it.

    Return None if all committed arrays are on the same devices in the same order.
    """
    committed = _committed(named_leaves(fn, args, kwargs))
    first_name, first = next(committed, ("", ()))
    for name, devices in committed:
        if devices != first:
            order = " in another order" if sorted(first) == sorted(devices) else ""
            message = f"{first_name} is on {_devices_text(first)}, and {name} on {_devices_text(devices)}{order}"
            return SdyError(Diagnostic("SDY-T211", message, hint=_HINT))
    return None


def named_leaves(
    fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Iterator[tuple[str, Any]]:
    """Return each leaf of the arguments of a call with its name, `params['w']` for example."""
    for name, argument in _by_name(fn, args, kwargs).items():
        leaves = cast(list[tuple[Any, Any]], jax.tree_util.tree_leaves_with_path(argument))
        yield from ((name + jax.tree_util.keystr(path), leaf) for path, leaf in leaves)


def _by_name(fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments by parameter name, or by position if the function has no signature."""
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return {f"argument {index}": value for index, value in enumerate(args)} | dict(kwargs)
    return dict(bound.arguments)


def _committed(leaves: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Return the name and the devices of each committed array; the devices of an abstract mesh are all -1."""
    for name, leaf in leaves:
        sharding: Any = getattr(leaf, "sharding", None)
        if sharding is not None and getattr(leaf, "committed", True):
            yield name, _devices(sharding)


def _devices(sharding: Any) -> tuple[int, ...]:
    """Return the device ids in the order of the mesh, or sorted if the sharding has no mesh."""
    if not isinstance(sharding, NamedSharding):
        return tuple(sorted(device.id for device in sharding.device_set))
    if isinstance(sharding.mesh, AbstractMesh):
        return (-1,) * sharding.mesh.size
    return tuple(device.id for device in sharding.mesh.devices.flat)


def _devices_text(devices: tuple[int, ...]) -> str:
    if -1 in devices:
        return f"{len(devices)} devices of an abstract mesh"
    return f"device{'s' * (len(devices) > 1)} {', '.join(map(str, devices))}"
