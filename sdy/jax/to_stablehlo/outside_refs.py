"""Reports mutable arrays of JAX that a function gets from its caller: `jax.Ref`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.jax.to_stablehlo.device_mismatch import named_leaves

_HINT = "pass ref[...], create the ref inside of the function with jax.new_ref, and return its new value"


def outside_ref_error(fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> SdyError:
    """Return SDY-T215 for the first argument that is a `jax.Ref`, or for one that `fn` closes over."""
    names = [name for name, leaf in named_leaves(fn, args, kwargs) if isinstance(leaf, jax.Ref)]
    which = f"argument {names[0]} is a jax.Ref" if names else "the function closes over a jax.Ref"
    message = f"{which}, whose changes a program cannot return: it is a function of arrays"
    return SdyError(Diagnostic("SDY-T215", message, hint=_HINT))
