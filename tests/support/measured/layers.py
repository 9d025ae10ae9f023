"""The parts of a transformer, on shapes only: products with sharded weights, norms, attention, MLPs and experts.

`Layout` says along which mesh axes tensors are sharded. Weights are float32 and sharded (or replicated), converted to
the type in which they travel and gathered before each product; their gradients are scattered in the type of
activations.

Axes in `manual` are those whose devices add up gradients on their own until the end of a step, as Megatron does: the
layers run in a `shard_map` over them, on local shapes.
"""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from math import prod

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

Array = jax.Array
Axes = tuple[str, ...]
Weights = dict[str, "Weight"]


@dataclass(frozen=True)
class Weight:
    """A weight: its shape, and the axes along each dim where it is stored and where it is used."""

    shape: tuple[int, ...]
    stored: tuple[Axes, ...]
    used: tuple[Axes, ...]

    @property
    def gathered_axes(self) -> tuple[Axes, ...]:
        """The axes along each dim over which the weight is gathered before use."""
        return tuple(Layout.others(stored, used) for stored, used in zip(self.stored, self.used, strict=True))


@dataclass(frozen=True)
class Layout:
    """The mesh axes along which the parts of a program are sharded, and the types that products are computed in."""

    mesh: AbstractMesh
    batch: Axes
    sequence: Axes  # context parallelism
    between_blocks: Axes  # further axes of the sequence between blocks: sequence parallelism
    model: Axes  # d_model of stored weights
    hidden: Axes  # further axes of d_ff of stored weights
    tensor: Axes
    expert: Axes
    activation: jnp.dtype
    product: jnp.dtype  # the type of operands of products
    gathered: jnp.dtype  # the type in which weights are gathered
    gradient: jnp.dtype
    scaling: Scaling
    manual: Axes = ()

    @property
    def divides_tokens_of_experts(self) -> bool:
        """Whether each device of `tensor` sends its own tokens to experts, which are whole, as in Megatron."""
        return bool(self.manual and self.tensor)

    def inside(self) -> Layout:
        """Return the layout of the tensors of one device of the manual axes."""
        left = {name: self.others(getattr(self, name), self.manual) for name in ("batch", "sequence", "expert")}
        return replace(self, model=(), **left)

    @staticmethod
    def others(axes: Axes, excluded: Axes) -> Axes:
        """Return the axes that are not excluded."""
        return tuple(axis for axis in axes if axis not in excluded)

    def manual_size(self, axis: str) -> int:
        """Return the number of devices along an axis that is manual; 1 if it is not."""
        return self.mesh.shape[axis] if axis in self.manual else 1

    def sharding(self, *dims: Axes) -> NamedSharding:
        """Return a sharding with the axes of each dim."""
        return NamedSharding(self.mesh, PartitionSpec(*(axes or None for axes in dims)))

    def place(self, value: Array, *dims: Axes) -> Array:
        """Constrain a value."""
        context = jax.sharding.get_abstract_mesh()
        spec = self.sharding(*dims).spec
        return jax.lax.with_sharding_constraint(value, NamedSharding(self.mesh if context.empty else context, spec))

    def place_letters(self, letters: str, value: Array) -> Array:
        """Place an operand or the result of a product. Its dims are b, s, those of `weight`, and n and others."""
        axes = {"b": self.batch, "s": self.sequence, "f": self.tensor, "h": self.tensor, "v": self.tensor}
        if "e" in letters:
            axes |= {"b": self.others(self.batch, self.expert), "e": self.expert}
        found = (axes.get(letter, ()) for letter in letters)
        sizes = zip(value.shape, found, strict=True)
        return self.place(value, *(axes if size % _size(self.mesh, axes) == 0 else () for size, axes in sizes))

    def weight(self, dims: str, *shape: int) -> Weight:
        """Return a weight. `dims` has a letter for each dim: d_model, f (d_ff), h (heads), v (vocabulary), e (experts).

        Any other letter stands for a dim that is not sharded.
        """
        used = {"f": self.tensor, "h": self.tensor, "v": self.tensor, "e": self.expert}
        others = {"f": self.hidden}
        taken = [axis for dim in dims for axis in (*others.get(dim, ()), *used.get(dim, ()))]
        others["d"] = tuple(axis for axis in self.model if axis not in taken)
        stored = tuple(others.get(dim, ()) + used.get(dim, ()) for dim in dims)
        return Weight(shape, stored, tuple(used.get(dim, ()) for dim in dims))

    def residual(self, value: Array) -> Array:
        """Place a tensor (batch, sequence, width) as between blocks."""
        return self.place(value, self.batch, self.sequence + self.between_blocks, ())

    def heads(self, value: Array) -> Array:
        """Place a tensor (batch, sequence, heads, channels)."""
        tensor = self.tensor if value.shape[2] % _size(self.mesh, self.tensor) == 0 else ()
        return self.place(value, self.batch, self.sequence, tensor, ())

    def hidden_units(self, value: Array) -> Array:
        """Place a tensor (batch, sequence, d_ff)."""
        return self.place(value, self.batch, self.sequence, self.tensor)

    def whole(self, value: Array) -> Array:
        """Place a tensor (batch, sequence, width) as within blocks, and its gradient as between them."""

        @jax.custom_vjp
        def gathered(value: Array) -> Array:
            return self.place(value, self.batch, self.sequence, ())

        gathered.defvjp(lambda value: (gathered(value), None), lambda _, gradient: (self.residual(gradient),))
        return gathered(value)

    def use(self, stored: Array, weight: Weight, kind: jnp.dtype | None = None) -> Array:
        """Gather a weight, in the type in which it travels; its gradient is reduced and scattered."""
        kind = self.gathered if kind is None else kind

        @jax.custom_vjp
        def gathered(value: Array) -> Array:
            return self.place(value.astype(kind), *weight.used)

        def forward(value: Array) -> tuple[Array, None]:
            return gathered(value), None

        def backward(_: None, gradient: Array) -> tuple[Array]:
            return (self.place(gradient.astype(self.gradient), *weight.stored).astype(stored.dtype),)

        gathered.defvjp(forward, backward)
        return gathered(stored)


def _size(mesh: AbstractMesh, axes: Axes) -> int:
    return prod(mesh.shape[axis] for axis in axes)


class Scaling(Enum):
    """How operands of narrow products are scaled: by constants, or by the largest element of a tensor or a row."""

    FIXED = "fixed"
    TENSOR = "tensor"
    ROW = "row"


def narrowed(x: Array, kind: jnp.dtype, scaling: Scaling) -> Array:
    """Convert an operand of a product to a narrow type, with the scale that the conversion needs."""
    if x.dtype == kind or kind.itemsize > 1 or scaling is Scaling.FIXED:
        return x.astype(kind)
    axis = None if scaling is Scaling.TENSOR else -1
    largest = jnp.abs(x).max(axis=axis, keepdims=True).astype(jnp.float32)
    return (x.astype(jnp.float32) * (127.0 / largest)).astype(kind)


def product(spec: str, x: Array, w: Array, layout: Layout) -> Array:
    """Multiply by a weight, forward and backward, with operands of the type and placement of a layout."""
    inputs, out = spec.split("->")
    left, right = inputs.split(",")
    kind, result = layout.product, layout.activation
    wide = jnp.int32 if kind == jnp.int8 else None

    def multiply(spec: str, a: Array, b: Array) -> Array:
        a, b = narrowed(a, kind, layout.scaling), narrowed(b, kind, layout.scaling)
        return jnp.einsum(spec, a, b, preferred_element_type=wide or result).astype(result)

    @jax.custom_vjp
    def forward(x: Array, w: Array) -> Array:
        return multiply(spec, x, w)

    def backward(saved: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
        x, w = layout.place_letters(left, saved[0]), saved[1]
        gradient = layout.place_letters(out, gradient)
        dx = multiply(f"{out},{right}->{left}", gradient, w)
        dw = multiply(f"{left},{out}->{right}", x, gradient)
        return dx.astype(x.dtype), dw.astype(w.dtype) if w.dtype.itemsize > 1 else dw

    forward.defvjp(lambda x, w: (forward(x, w), (x, w)), backward)
    return forward(x, w)


def rms_norm(x: Array, gain: Array) -> Array:
    """Divide by the root of the mean square, in float32."""
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)
    return (wide * scale * gain).astype(x.dtype)


def layer_norm(x: Array, gain: Array) -> Array:
    """Normalize to mean 0 and variance 1, in float32."""
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    scale = jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-6)
    return (centred * scale * gain + gain).astype(x.dtype)


def rotated(x: Array) -> Array:
    """Rotate pairs of channels by the position; `x` is (batch, sequence, heads, channels)."""
    half = x.shape[-1] // 2
    position = jax.lax.broadcasted_iota(jnp.float32, (x.shape[1], half), 0)
    angle = position * jax.lax.broadcasted_iota(jnp.float32, (x.shape[1], half), 1)
    cos, sin = jnp.cos(angle)[None, :, None, :].astype(x.dtype), jnp.sin(angle)[None, :, None, :].astype(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


@dataclass(frozen=True)
class Mask:
    """A mask of attention: a token sees the last `window` tokens, or those of its chunk. A size of 0 sets no limit.

    `context` devices of a manual axis have two parts of the sequence each, one from its start and one from its end, so
    that all have equally much to do.
    """

    window: int = 0
    chunk: int = 0
    context: int = 1

    def scores(self, q: Array, k: Array) -> Array:
        """Return the scores in float32, with a large negative number where a token sees nothing."""
        length, other = q.shape[1], k.shape[1]
        scores = jnp.einsum("bsgqc,btgc->bgqst", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
        row = jax.lax.broadcasted_iota(jnp.int32, (length, other), 0)
        column = jax.lax.broadcasted_iota(jnp.int32, (length, other), 1)
        if self.context > 1:
            row = self._position(jax.lax.axis_index("context"), row, length)
            column = self._position(
                jax.lax.div(column, jnp.int32(length)), jax.lax.rem(column, jnp.int32(length)), length
            )
        mask = row >= column
        if self.window and self.window < length:
            mask &= row - column < self.window
        if self.chunk and self.chunk < length:
            mask &= row // self.chunk == column // self.chunk
        return jnp.where(mask, scores, -1e30)

    def _position(self, device: Array, index: Array, length: int) -> Array:
        """Return the positions in the sequence of the tokens of devices."""
        half = length // 2
        return jnp.where(index < half, device * half + index, (2 * self.context - 2 - device) * half + index)


def attention(layout: Layout, q: Array, k: Array, v: Array, mask: Mask) -> Array:
    """Return causal attention. `q` is (batch, sequence, heads, channels); `k` and `v` may have fewer heads.

    The backward pass computes the scores anew from queries and keys, as every flash kernel does.
    """
    batch, length, heads, channels = q.shape
    groups = k.shape[2]
    if layout.sequence:
        k, v = (layout.place(each, layout.batch, (), layout.tensor) for each in (k, v))
    mask = replace(mask, context=layout.manual_size("context"))
    if mask.context > 1:
        k, v = (jax.lax.all_gather(each, "context", axis=1, tiled=True) for each in (k, v))
    q = q.reshape(batch, length, groups, heads // groups, channels)
    out: Array = _attention(mask, q, k, v)
    return out.reshape(batch, length, heads, v.shape[-1])


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(mask: Mask, q: Array, k: Array, v: Array) -> Array:
    weights = jax.nn.softmax(mask.scores(q, k), axis=-1).astype(v.dtype)
    return jnp.einsum("bgqst,btgc->bsgqc", weights, v)


Saved = tuple[Array, Array, Array]


def _attention_forward(mask: Mask, q: Array, k: Array, v: Array) -> tuple[Array, Saved]:
    return _attention(mask, q, k, v), (q, k, v)


def _attention_backward(mask: Mask, saved: Saved, gradient: Array) -> Saved:
    q, k, v = saved
    weights = jax.nn.softmax(mask.scores(q, k), axis=-1)
    to_weights = jnp.einsum("bsgqc,btgc->bgqst", gradient, v, preferred_element_type=jnp.float32)
    to_scores = weights * (to_weights - (weights * to_weights).sum(-1, keepdims=True)) * q.shape[-1] ** -0.5
    to_scores = to_scores.astype(q.dtype)
    return (
        jnp.einsum("bgqst,btgc->bsgqc", to_scores, k),
        jnp.einsum("bgqst,bsgqc->btgc", to_scores, q),
        jnp.einsum("bgqst,bsgqc->btgc", weights.astype(v.dtype), gradient),
    )


_attention.defvjp(_attention_forward, _attention_backward)


named = checkpoint_name
Activation = Callable[[Array], Array]
silu: Activation = jax.nn.silu
gelu: Activation = partial(jax.nn.gelu, approximate=True)
