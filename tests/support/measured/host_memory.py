"""Lowering of transfers to the memory of the host, which JAX drops for its default platform, the CPU."""
# pyright: reportPrivateImportUsage=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from jax._src import core, dispatch
from jax._src.interpreters import mlir


def _lower(ctx, *values, devices, srcs, copy_semantics):
    """Lower as for a TPU: each transfer is a custom call that names the memory."""
    moved = zip(values, devices, ctx.avals_out, strict=True)
    return [
        mlir.wrap_with_memory_kind(ctx.module_context, value, core.mem_space_to_kind(device), aval)
        if isinstance(device, core.MemorySpace)
        else value
        for value, device, aval in moved
    ]


@contextmanager
def lowered_transfers() -> Generator[None]:
    """Keep the transfers between the memories of device and host in the programs that JAX lowers meanwhile."""
    lowerings = mlir._platform_specific_lowerings["cpu"]  # pyright: ignore[reportPrivateUsage]
    before = lowerings.get(dispatch.device_put_p)
    mlir.register_lowering(dispatch.device_put_p, _lower, platform="cpu")
    try:
        yield
    finally:
        del lowerings[dispatch.device_put_p]
        if before is not None:
            lowerings[dispatch.device_put_p] = before
