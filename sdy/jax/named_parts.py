"""Names in JAX programs: parts that run on a mesh of their own, as in Shardy's front end for several meshes.

A named part is a jitted function whose arguments and results pass a marker, an identity that knows the name. JAX splits
the function when it differentiates it, and transposes the markers of the part that goes backward, which counts.
Outside of `sdy.mpmd.jit`, markers compute nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast, overload

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
PREFIX = "sdy.mpmd."  # of the names of the composite ops that markers become
# The gradient of a broadcast is a reduction, and the other way round.
_TRANSPOSED = {"broadcast": "reduce", "reduce": "broadcast"}

_marker: Any = Primitive("sdy_mpmd_marker")


def _same(x: T, **_: object) -> T:
    return x


def _transposed(cotangent: Any, _: object, *, kind: str, name: str, count: int) -> list[Any]:
    if isinstance(cotangent, ad.Zero):
        return [cotangent]
    return [_marker.bind(cotangent, kind=_TRANSPOSED.get(kind, kind), name=name, count=count + 1)]


def _lowered(x: Any, *, kind: str, name: str, count: int) -> Any:
    return jax.lax.composite(_same, PREFIX + kind)(x, label=name, count=count)


_marker.def_impl(_same)
_marker.def_abstract_eval(_same)
ad.deflinear2(_marker, _transposed)
batching.defvectorized(_marker)
mlir.register_lowering(_marker, mlir.lower_fun(_lowered, multiple_results=False))


def _marked(tree: T, kind: str, name: str = "") -> T:
    """Return arrays that passed a marker."""

    def marked(x: Any) -> Any:
        return _marker.bind(jnp.asarray(x), kind=kind, name=name, count=0)

    return jax.tree.map(marked, tree)


def _part(fn: Callable[..., Any], kind: str, name: str, static: Sequence[str] = ()) -> Callable[..., Any]:
    """Return a function that stays one function in the program, with markers inside."""

    @wraps(fn)
    def marked(*args: Any, **kwargs: Any) -> Any:
        if not static:
            return _jitted(fn, kind, name, ())(args, kwargs)
        bound = inspect.signature(fn).bind(*args, **kwargs).arguments
        fixed = tuple((key, bound.pop(key)) for key in static if key in bound)
        return _jitted(fn, kind, name, fixed)((), dict(bound))

    return marked


@lru_cache(maxsize=1024)  # so that equal calls share one function
def _jitted(fn: Callable[..., Any], kind: str, name: str, fixed: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    def part(args: Any, kwargs: Any) -> Any:
        args, kwargs = _marked((args, kwargs), kind, name)
        return _marked(fn(*args, **kwargs, **dict(fixed)), kind, name)

    part.__name__ = f"shardy_mpmd{getattr(fn, '__name__', 'fn')}"
    return jax.jit(part)


@overload
def named_computation(fn: F, *, name: str, static_argnames: str | Sequence[str] | None = None) -> F: ...
@overload
def named_computation(*, name: str, static_argnames: str | Sequence[str] | None = None) -> Callable[[F], F]: ...
def named_computation(
    fn: Callable[..., Any] | None = None, *, name: str, static_argnames: str | Sequence[str] | None = None
) -> Any:
    """Return a function whose computation has a name, which `make_config` assigns to a mesh; also a decorator.

    What differentiation makes of it has the same name. `static_argnames` are arguments other than arrays.
    Raises: ValueError if the name is reserved.
    """
    if name == "main":
        raise ValueError('named_computations are not allowed to have "main" as their name')
    if name.startswith("partir."):
        raise ValueError("computation names that start with `partir.` are reserved for the compiler")
    static = [static_argnames] if isinstance(static_argnames, str) else list(static_argnames or ())

    def named(function: Callable[..., Any]) -> Callable[..., Any]:
        return _part(function, "computation", name, static)

    return named if fn is None else named(fn)


def named_tensor(tensor: T, name: str) -> T:
    """Return an array with a name, which `make_config` assigns to a mesh: a place where the program may be divided."""
    return _marked(tensor, "tensor", name)


def broadcast(arr: T) -> T:
    """Return an array that several meshes may need."""
    return _marked(arr, "broadcast")


def reduce(arr: T) -> T:
    """Return an array that may be the result of a reduction over several meshes."""
    return _marked(arr, "reduce")


def call(fn: F, *, call_counter: int | None = None) -> F:
    """Return a function that is called for one microbatch, whose number is `call_counter`.

    Raises: ValueError if the number is negative.
    """
    if call_counter is not None and call_counter < 0:
        raise ValueError(f"call_counter must be non-negative, got {call_counter=} instead.")
    part = _part(fn, "call", "")

    @wraps(fn)
    def counted(*args: Any, **kwargs: Any) -> Any:
        if call_counter is None:
            return part(*args, **kwargs)
        args, kwargs = _marked((args, kwargs), "counter", str(call_counter))
        return _marked(part(*args, **kwargs), "counter", str(call_counter))

    return cast("F", counted)


def fori_loop(num_iterations: int, body_fun: Callable[[Any, T], T], init_val: T) -> T:
    """Return the value after a number of iterations, each of which is a call: `body_fun(i, value)`.

    Raises: ValueError if an iteration changes the structure, the shapes or the types of the value.
    """
    value = init_val
    for number in range(num_iterations):
        following = call(body_fun, call_counter=number)(jnp.uint32(number), value)
        trees: list[Any] = [jax.tree.structure(each) for each in (init_val, following)]
        if trees[0] != trees[1]:
            raise ValueError(
                f"Tree structs of init_val and the result of the fori_loop must match. Got {trees[0]} and {trees[1]}."
            )
        types = [jax.tree.map(jax.typeof, each) for each in (init_val, following)]
        if types[0] != types[1]:
            raise ValueError(f"Input and output avals must match. Got {types[0]} and {types[1]} respectively.")
        value = following
    return value


def enumerated_for(body_fun: Callable[[T, Any, Any], T], initial_carry: T, inputs: Any, *, unroll: bool = False) -> T:
    """Return the last carry of `body_fun(carry, i, input)`, a call for each element of the sequences in `inputs`.

    The loop is always unrolled, whatever `unroll` says. Raises: ValueError if the leaves of `inputs` are not sequences
    of arrays, or have different lengths.
    """
    del unroll
    tree = cast("Any", jax.tree.structure(inputs, is_leaf=_is_sequence_of_arrays))
    sequences = cast("list[Any]", tree.flatten_up_to(inputs))
    for each in sequences:
        if not isinstance(each, list | tuple):
            message = f"Expected all leaves of the `inputs` tree to be Sequences. Got a leaf of type {type(each)}"
            raise ValueError(message)
    lengths = {len(each) for each in sequences}
    if len(lengths) > 1:
        message = "Expected all leaves of the `inputs` tree to be lists of the same length."
        raise ValueError(f"{message} Got list lengths: {lengths}")
    carry = initial_carry
    for number in range(lengths.pop() if lengths else 0):
        element = jax.tree.unflatten(tree, [each[number] for each in sequences])
        carry = call(body_fun, call_counter=number)(carry, jnp.uint32(number), element)
    return carry


def _is_sequence_of_arrays(each: Any) -> bool:
    if not isinstance(each, list | tuple):
        return False
    elements = cast("Sequence[Any]", each)
    return bool(elements) and all(hasattr(element, "shape") for element in elements)
