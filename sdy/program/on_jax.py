"""The door to JAX, which is imported only by those who go through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement


def named_shardings(
    places: Sequence[TensorPlacement], devices: Sequence[object], axis_types: Mapping[str, object]
) -> list[object]:
    """The `NamedSharding` of each value. Raises: SdyError SDY-T205 without JAX."""
    try:
        from sdy.backends.jax.named_shardings import named_sharding
    except ModuleNotFoundError as error:
        raise without_jax(error) from error
    return [named_sharding(place, devices, axis_types) for place in places]


def jax_function(
    local: ModuleOp, boundary: ProgramPlacement, devices: Sequence[object]
) -> Callable[..., Sequence[object]]:
    """The local program as a function of whole JAX arrays. Raises: SdyError SDY-T205 without JAX."""
    try:
        from sdy.backends.jax.run_on_devices import function_on_devices
    except ModuleNotFoundError as error:
        raise without_jax(error) from error
    return function_on_devices(local, boundary, devices)


def without_jax(error: ModuleNotFoundError) -> SdyError:
    """What to raise where JAX is not there. Any other module that is missing is no mistake of the user."""
    if error.name is None or error.name.partition(".")[0] not in ("jax", "jaxlib"):
        raise error
    return SdyError(Diagnostic("SDY-T205", "JAX is not installed", hint="pip install 'sdy[jax]'"))
