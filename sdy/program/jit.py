"""`sdy.jit`: `jax.jit` with the partitioner of `sdy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from sdy.jax.optional_jax import require_jax
from sdy.program.program import Program
from sdy.program.sources import from_jax

if TYPE_CHECKING:
    from sdy.jax.jitted import JittedFunction

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jit(fun: Callable[P, R], /, **options: Any) -> JittedFunction[P, R, Program[R]]: ...


@overload
def jit(**options: Any) -> Callable[[Callable[P, R]], JittedFunction[P, R, Program[R]]]: ...


def jit(fun: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Return `fun` as `jax.jit` would, with its programs partitioned by `sdy`; a decorator without `fun`.

    `options` are those of `jax.jit`: `in_shardings`, `out_shardings`, `donate_argnums`, `static_argnames` and so on.
    The function takes and returns arrays, and has `lower`, `trace` and `eval_shape`, as a function of `jax.jit`. Also,
    `program(*args)` is the `Program` of a call. What `sdy` refuses, and what runs inside of a transformation of JAX,
    is left to `jax.jit`, with one `sdy.JitFallbackWarning` for each reason.
    Raises: SdyError SDY-T205 if JAX is not installed, SDY-T214 if it is too old; any error of `jax.jit`.
    """
    if fun is None:

        def decorator(function: Callable[..., Any]) -> JittedFunction[..., Any, Program[Any]]:
            return jit(function, **options)

        return decorator
    require_jax()
    import jax

    from sdy.jax.jitted import JittedFunction

    return JittedFunction(cast("Callable[..., Any]", jax.jit(fun, **options)), from_jax)
