"""Calls into the JAX backend, which import JAX only when they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.model.devices.placement import ProgramPlacement, TensorPlacement


def named_shardings(
    placements: Sequence[TensorPlacement], devices: Sequence[object], axis_types: Mapping[str, object]
) -> list[object]:
    """Return the `NamedSharding` of each value. Raises: SdyError SDY-T205 if JAX is not installed."""
    try:
        from sdy.backends.jax.named_shardings import named_sharding
    except ModuleNotFoundError as error:
        raise missing_jax_error(error) from error
    return [named_sharding(placement, devices, axis_types) for placement in placements]


def jax_function(
    local: ModuleOp, boundary: ProgramPlacement, devices: Sequence[object]
) -> Callable[..., Sequence[object]]:
    """Return the local program as a function of global JAX arrays.

    Raises: SdyError SDY-T205 if JAX is not installed.
    """
    try:
        from sdy.backends.jax.run_on_devices import function_on_devices
    except ModuleNotFoundError as error:
        raise missing_jax_error(error) from error
    return function_on_devices(local, boundary, devices)


def missing_jax_error(error: ModuleNotFoundError) -> SdyError:
    """Return the diagnostic for a missing JAX; re-raise `error` if another module is missing, which is a bug."""
    if error.name is None or error.name.partition(".")[0] not in ("jax", "jaxlib"):
        raise error
    return SdyError(Diagnostic("SDY-T205", "JAX is not installed", hint="pip install 'sdy[jax]'"))
