"""Calls into the JAX frontend and backend, which import JAX only when they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement

OLDEST_JAX = "0.10"  # also the bound of the extra `jax` in pyproject.toml


def named_shardings(
    placements: Sequence[TensorPlacement], devices: Sequence[object], axis_types: Mapping[str, object]
) -> list[object]:
    """Return the `NamedSharding` of each value.

    Raises: SdyError SDY-T205 if JAX is not installed, SDY-T214 if it is too old.
    """
    require_jax()
    from sdy.jax.to_devices.run_on_devices import named_sharding

    return [named_sharding(placement, devices, axis_types) for placement in placements]


def jax_function(
    local: ModuleOp, boundary: ProgramPlacement, devices: Sequence[object]
) -> Callable[..., Sequence[object]]:
    """Return the local program as a function of global JAX arrays.

    Raises: SdyError SDY-T205 if JAX is not installed, SDY-T214 if it is too old.
    """
    require_jax()
    from sdy.jax.to_devices.run_on_devices import function_on_devices

    return function_on_devices(local, boundary, devices)


def put(value: object, sharding: object) -> object:
    """Return a JAX array with a sharding."""
    return import_module("jax").device_put(value, sharding)


def transferred(array: object, sharding: object) -> object:
    """Return a JAX array with a sharding on other devices, of which other processes may have some."""
    return import_module("sdy.jax.to_devices.transfer").transferred(array, sharding)


def all_devices() -> Sequence[object]:
    """Return the JAX devices."""
    return import_module("jax").devices()


def has_jax() -> bool:
    """Return whether JAX is installed. This does not import it."""
    return find_spec("jax") is not None


def require_jax() -> None:
    """Raise SdyError SDY-T205 if JAX is not installed, SDY-T214 if it is too old. This does not import it."""
    if not has_jax():
        raise missing_jax_error(ModuleNotFoundError("no JAX", name="jax"))
    check_jax_version()


def check_jax_version() -> None:
    """Raise SdyError SDY-T214 if the installed JAX is older than the oldest supported version."""
    try:
        installed = version("jax")
    except ModuleNotFoundError:
        return  # importing it will fail
    if _release(installed) < _release(OLDEST_JAX):
        message = f"JAX {installed} is too old: sdy requires JAX {OLDEST_JAX} or newer"
        raise SdyError(Diagnostic("SDY-T214", message, hint="pip install --upgrade 'sdy[jax]'"))


def version(package: str) -> str:
    """Return the version of an installed package."""
    return import_module("importlib.metadata").version(package)  # imported here, because it takes long


def _release(text: str) -> tuple[int, ...]:
    """Return major and minor number of a version."""
    return tuple(map(int, text.split(".")[:2]))


def missing_jax_error(error: ModuleNotFoundError) -> SdyError:
    """Return the diagnostic for a missing JAX; re-raise `error` if another module is missing, which is a bug."""
    if error.name is None or error.name.partition(".")[0] not in ("jax", "jaxlib"):
        raise error
    return SdyError(Diagnostic("SDY-T205", "JAX is not installed", hint="pip install 'sdy[jax]'"))
