"""Do the arguments of a call lie on the same devices, in the same order?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import jax
from jax.sharding import AbstractMesh, NamedSharding

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

_HINT = (
    "jax.device_put(array, NamedSharding(mesh, spec)) puts both on one mesh; an array put nowhere goes where others are"
)


def where_devices_differ(
    fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> SdyError | None:
    """SDY-T211 with the first argument that is on other devices than the ones before it, or in another order.

    None where all that were put somewhere are on the same ones.
    """
    placed = _placed(_by_name(fn, args, kwargs))
    first_name, first = next(placed, ("", ()))
    for name, devices in placed:
        if devices != first:
            order = " in another order" if sorted(first) == sorted(devices) else ""
            message = f"{first_name} is on {_said(first)}, and {name} on {_said(devices)}{order}"
            return SdyError(Diagnostic("SDY-T211", message, hint=_HINT))
    return None


def _by_name(fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
    """The arguments by the names of the parameters, or by their places where the function does not tell them."""
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return {f"argument {place}": value for place, value in enumerate(args)} | dict(kwargs)
    return dict(bound.arguments)


def _placed(arguments: Mapping[str, object]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and devices of each array that was put somewhere; the devices of an abstract mesh are all -1."""
    for name, argument in arguments.items():
        leaves = cast(list[tuple[Any, Any]], jax.tree_util.tree_leaves_with_path(argument))
        for path, leaf in leaves:
            sharding: Any = getattr(leaf, "sharding", None)
            if sharding is not None and getattr(leaf, "committed", True):
                yield name + jax.tree_util.keystr(path), _devices(sharding)


def _devices(sharding: Any) -> tuple[int, ...]:
    """In the order of the mesh, where there is one."""
    if not isinstance(sharding, NamedSharding):
        return tuple(sorted(device.id for device in sharding.device_set))
    if isinstance(sharding.mesh, AbstractMesh):
        return (-1,) * sharding.mesh.size
    return tuple(device.id for device in sharding.mesh.devices.flat)


def _said(devices: tuple[int, ...]) -> str:
    if -1 in devices:
        return f"{len(devices)} devices of an abstract mesh"
    return f"device{'s' * (len(devices) > 1)} {', '.join(map(str, devices))}"
