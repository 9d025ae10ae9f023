# The edge to JAX, whose functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
"""Functions of `jax.numpy`, `jax.nn` and `jax.lax`, and layers made of them, with the shapes of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Function = Callable[..., Any]
Shape = tuple[int, ...]

MATRIX = (8, 16)


@dataclass(frozen=True, slots=True)
class LibraryCase:
    """A function and the shapes and dtypes of its arguments."""

    function: Function
    arguments: tuple[jax.ShapeDtypeStruct, ...]


def floats(*shapes: Shape) -> tuple[jax.ShapeDtypeStruct, ...]:
    return tuple(jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes)


def integers(*shapes: Shape) -> tuple[jax.ShapeDtypeStruct, ...]:
    return tuple(jax.ShapeDtypeStruct(shape, np.int32) for shape in shapes)


def named(module: ModuleType, names: str, shape: Shape = MATRIX) -> dict[str, LibraryCase]:
    """Return functions of one float array by name: `jax.numpy.sin`."""
    return {f"{module.__name__}.{name}": LibraryCase(getattr(module, name), floats(shape)) for name in names.split()}


def on_matrix(**functions: Function) -> dict[str, LibraryCase]:
    """Return functions of one matrix of floats."""
    return {name: LibraryCase(function, floats(MATRIX)) for name, function in functions.items()}


def elementwise() -> dict[str, LibraryCase]:
    names = (
        "abs square sqrt exp exp2 expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh"
    )
    more = "arccosh arctanh ceil floor round sign reciprocal isnan nan_to_num cbrt signbit angle sinc i0 frexp modf"
    activations = "relu relu6 silu sigmoid softplus elu leaky_relu selu celu hard_tanh hard_silu mish squareplus"
    pairs = floats(MATRIX, MATRIX)
    two = {"power": jnp.power, "logaddexp": jnp.logaddexp, "hypot": jnp.hypot, "arctan2": jnp.arctan2, "mod": jnp.mod}
    more_two = {"floor_divide": jnp.floor_divide, "heaviside": jnp.heaviside, "zeta": lax.zeta, "igamma": lax.igamma}
    rest = {"polygamma": lax.polygamma, "nextafter": lax.nextafter}
    return {
        **named(jnp, f"{names} {more} deg2rad"),
        **named(jax.nn, f"{activations} log_sigmoid soft_sign gelu"),
        **named(lax, "erf erfc erf_inv lgamma digamma bessel_i1e rsqrt"),
        **{name: LibraryCase(function, pairs) for name, function in (two | more_two | rest).items()},
        "betainc": LibraryCase(lax.betainc, floats(MATRIX, MATRIX, MATRIX)),
        "maximum with a row": LibraryCase(jnp.maximum, floats(MATRIX, (16,))),
        "where": LibraryCase(lambda a, b: jnp.where(a > 0, a, b), pairs),
        "select": LibraryCase(lambda a, b: jnp.select([a > 0, b > 0], [a, b], 0.0), pairs),
        "population_count": LibraryCase(lax.population_count, integers(MATRIX)),
        **on_matrix(
            exact_gelu=partial(jax.nn.gelu, approximate=False),
            clip=lambda a: jnp.clip(a, -1, 1),
            reduce_precision=lambda a: lax.reduce_precision(a, 5, 10),
            bits=lambda a: lax.bitcast_convert_type(a, jnp.uint8),
        ),
    }


def reductions() -> dict[str, LibraryCase]:
    along = ("sum", "mean", "var", "std", "max", "argmax", "cumsum", "cumprod", "sort", "argsort", "median")
    by_axis = {f"{name}_of_dim_{axis}": partial(getattr(jnp, name), axis=axis) for name in along for axis in (0, 1)}
    return {
        **named(jnp, "sum mean var std prod any argmax median nansum nanmean ptp count_nonzero cumsum trace"),
        **named(jax.nn, "softmax log_softmax logsumexp standardize"),
        **on_matrix(
            **by_axis,
            percentile=lambda a: jnp.percentile(a, 30, axis=0),
            norm=jnp.linalg.norm,
            cumlogsumexp=lambda a: lax.cumlogsumexp(a, axis=1),
            cummax=lambda a: lax.cummax(a, axis=0),
            top_k=lambda a: lax.top_k(a, 4),
            approx_max_k=lambda a: lax.approx_max_k(a, 4),
            windows=lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 4), (1, 4), "VALID"),
        ),
        "average": LibraryCase(lambda a, w: jnp.average(a, axis=1, weights=w), floats(MATRIX, MATRIX)),
        "histogram": LibraryCase(lambda a: jnp.histogram(a, bins=8), floats((64,))),
        "bincount": LibraryCase(lambda i: jnp.bincount(i, length=8), integers((16,))),
    }


def shapes() -> dict[str, LibraryCase]:
    pairs, cube = floats(MATRIX, MATRIX), floats((4, 8, 16))
    return {
        **named(jnp, "ravel transpose tril triu diag diagonal rot90 atleast_3d flip"),
        **on_matrix(
            split_dims=lambda a: a.reshape(4, 2, 4, 4),
            broadcast_to=lambda a: jnp.broadcast_to(a, (4, 8, 16)),
            tile=lambda a: jnp.tile(a, (2, 3)),
            repeat=lambda a: jnp.repeat(a, 2, axis=1),
            roll=lambda a: jnp.roll(a, 3, axis=1),
            pad=lambda a: jnp.pad(a, ((4, 4), (0, 0))),
            split=lambda a: jnp.split(a, 2, axis=1),
            expand_dims=lambda a: a[:, None],
            strided=lambda a: a[::2],
            half=lambda a: a[:4],
            glu=jax.nn.glu,
        ),
        "merged dims": LibraryCase(lambda a: a.reshape(32, 4), floats((4, 8, 4))),
        "swapaxes": LibraryCase(lambda a: jnp.swapaxes(a, 0, 2), cube),
        "moveaxis": LibraryCase(lambda a: jnp.moveaxis(a, 0, 1), cube),
        "squeeze": LibraryCase(lambda a: a.squeeze(1), floats((8, 1, 16))),
        "concatenate": LibraryCase(lambda a, b: jnp.concatenate([a, b]), pairs),
        "stack": LibraryCase(lambda a, b: jnp.stack([a, b]), pairs),
        "meshgrid": LibraryCase(jnp.meshgrid, floats((8,), (16,))),
        "one_hot": LibraryCase(lambda i: jax.nn.one_hot(i, 16), integers((8,))),
    }


def indexing() -> dict[str, LibraryCase]:
    row_start = integers(())
    return {
        "take": LibraryCase(lambda a, i: jnp.take(a, i, axis=0), floats(MATRIX) + integers((8,))),
        "take_along_axis": LibraryCase(
            lambda a, i: jnp.take_along_axis(a, i, axis=1), floats(MATRIX) + integers(MATRIX)
        ),
        "set a column": LibraryCase(lambda a, b: a.at[:, 0].set(b), floats(MATRIX, (8,))),
        "add to rows": LibraryCase(lambda a, i: a.at[i].add(1.0), floats(MATRIX) + integers((4,))),
        "dynamic_slice": LibraryCase(lambda a, i: lax.dynamic_slice(a, (i, 0), (4, 16)), floats(MATRIX) + row_start),
        "dynamic_update_slice": LibraryCase(
            lambda a, b, i: lax.dynamic_update_slice(a, b, (i, 0)), floats(MATRIX, (4, 16)) + row_start
        ),
        "segment_sum": LibraryCase(lambda a, i: jax.ops.segment_sum(a, i, 8), floats((16, 8)) + integers((16,))),
        "searchsorted": LibraryCase(jnp.searchsorted, floats((16,), (8,))),
        "digitize": LibraryCase(jnp.digitize, floats((16,), (8,))),
        "interp": LibraryCase(jnp.interp, floats((16,), (8,), (8,))),
        "unique": LibraryCase(lambda i: jnp.unique(i, size=8), integers((16,))),
        "nonzero": LibraryCase(lambda a: jnp.nonzero(a, size=8), floats((16,))),
    }


def products() -> dict[str, LibraryCase]:
    batches = floats((4, 8, 8), (4, 8, 8))
    matrices = {
        name: LibraryCase(getattr(jnp.linalg, name), batches[:1]) for name in ("cholesky", "inv", "qr", "svd", "det")
    }
    return {
        **{f"linalg.{name}": case for name, case in matrices.items()},
        "linalg.solve": LibraryCase(jnp.linalg.solve, batches),
        "linalg.eigh": LibraryCase(jnp.linalg.eigh, batches[:1]),
        "matrix_power": LibraryCase(lambda a: jnp.linalg.matrix_power(a, 3), floats((8, 8))),
        "kron": LibraryCase(jnp.kron, floats((4, 4), (8, 8))),
        "outer": LibraryCase(jnp.outer, floats((8,), (16,))),
        "inner": LibraryCase(jnp.inner, floats(MATRIX, MATRIX)),
        "vdot": LibraryCase(jnp.vdot, floats((16,), (16,))),
        "cross": LibraryCase(jnp.cross, floats((8, 3), (8, 3))),
        "matmul": LibraryCase(jnp.matmul, floats(MATRIX, (16, 32))),
        "batched matmul": LibraryCase(jnp.matmul, floats((4, 8, 16), (4, 16, 8))),
        "matmul of vmap": LibraryCase(jax.vmap(lambda a, b: a @ b, in_axes=(0, None)), floats(MATRIX, (16, 8))),
        "tensordot": LibraryCase(lambda a, b: jnp.tensordot(a, b, ([1, 2], [0, 1])), floats((4, 8, 16), (8, 16, 32))),
        "einsum": LibraryCase(lambda a, b: jnp.einsum("bij,bkj->bik", a, b), floats((4, 8, 16), (4, 8, 16))),
        "convolve": LibraryCase(lambda a, b: jnp.convolve(a, b, mode="same"), floats((64,), (3,))),
        "convolution": LibraryCase(
            lambda a, k: lax.conv_general_dilated(a, k, (1, 1), "SAME"), floats((8, 4, 8, 8), (8, 4, 3, 3))
        ),
        "rfft": LibraryCase(jnp.fft.rfft, floats(MATRIX)),
    }


def control_and_random() -> dict[str, LibraryCase]:
    key = jax.random.key(0)
    return on_matrix(
        scan=lambda x: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(16), x),
        fori_loop=lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.sin(x) + i, x),
        while_loop=lambda x: lax.while_loop(lambda x: x.sum() < 10, lambda x: x * 2, x),
        cond=lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
        map=lambda x: lax.map(jnp.sin, x),
        associative_scan=lambda x: lax.associative_scan(jnp.add, x),
        remat=jax.grad(lambda x: jax.checkpoint(lambda y: jnp.square(jnp.sin(y)))(x).sum()),
        normal=lambda x: x + jax.random.normal(key, x.shape),
        dropout=lambda x: jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x, 0),
        categorical=lambda x: jax.random.categorical(key, x),
        permutation=lambda x: jax.random.permutation(key, x),
    )


def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    variance = jnp.var(x, -1, keepdims=True)
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(variance + 1e-6) * scale + bias


def rms_norm(x: Any, scale: Any) -> Any:
    return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6) * scale


def attention(q: Any, k: Any, v: Any) -> Any:
    weights = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k) / 4.0)
    return jnp.einsum("bhts,bshd->bthd", weights, v)


def mlp(x: Any, up: Any, down: Any) -> Any:
    return jax.nn.gelu(x @ up) @ down


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1).mean()


def embedding(table: Any, tokens: Any) -> Any:
    return jnp.sin(table[tokens])


def layers() -> dict[str, LibraryCase]:
    """Return layers and their gradients with respect to all arguments that are floats."""
    heads = floats((4, 8, 4, 16), (4, 8, 4, 16), (4, 8, 4, 16))
    forward = {
        "layer_norm": LibraryCase(layer_norm, floats((4, 8, 16), (16,), (16,))),
        "rms_norm": LibraryCase(rms_norm, floats((4, 8, 16), (16,))),
        "attention": LibraryCase(attention, heads),
        "dot_product_attention": LibraryCase(jax.nn.dot_product_attention, heads),
        "mlp": LibraryCase(mlp, floats(MATRIX, (16, 32), (32, 16))),
        "cross_entropy": LibraryCase(cross_entropy, floats(MATRIX) + integers((8,))),
        "embedding": LibraryCase(embedding, floats((64, 16)) + integers((8, 4))),
    }
    backward = {f"gradient of {name}": LibraryCase(gradient(case), case.arguments) for name, case in forward.items()}
    return forward | backward


def gradient(case: LibraryCase) -> Function:
    differentiable = tuple(n for n, argument in enumerate(case.arguments) if argument.dtype == np.float32)
    return jax.grad(lambda *arguments: case.function(*arguments).sum(), argnums=differentiable)


def library_cases() -> dict[str, LibraryCase]:
    """Return all functions by name."""
    groups = (elementwise, reductions, shapes, indexing, products, control_and_random, layers)
    return {name: case for group in groups for name, case in group().items()}
