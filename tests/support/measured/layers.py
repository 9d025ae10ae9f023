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
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

Array = jax.Array
Axes = tuple[str, ...]
Weights = dict[str, "Weight"]
WIDE = jnp.dtype(jnp.float32)


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
    gathers_wide: bool  # tokens are gathered before they are converted to the type of products
    manual: Axes = ()

    @property
    def divides_tokens_of_experts(self) -> bool:
        """True if each device along `tensor` sends its own tokens to experts that are not sharded, as Megatron does."""
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
        return self.place(value, *map(self.dividing, found, value.shape))

    def weight(self, dims: str, *shape: int) -> Weight:
        """Return a weight. `dims` has a letter for each dim: d_model, f (d_ff), h (heads), v (vocabulary), e (experts).

        Any other letter stands for a dim that is not sharded.
        """
        axes = {"f": self.tensor, "h": self.tensor, "v": self.tensor, "e": self.expert}
        used = tuple(self.dividing(axes.get(dim, ()), size) for dim, size in zip(dims, shape, strict=True))
        taken = sum(used, self.hidden if "f" in dims else ())
        more = {"f": self.hidden, "d": self.others(self.model, taken)}
        stored = tuple(
            self.dividing(more.get(dim, ()), size // _size(self.mesh, at)) + at
            for dim, size, at in zip(dims, shape, used, strict=True)
        )
        return Weight(shape, stored, used)

    def dividing(self, axes: Axes, size: int) -> Axes:
        """Return the axes if they divide a dim into equal parts; a dim that they do not is replicated."""
        return axes if size % _size(self.mesh, axes) == 0 else ()

    def residual(self, value: Array) -> Array:
        """Place a tensor (batch, sequence, width) as between blocks."""
        return self.place(value, self.batch, self.sequence + self.between_blocks, ())

    def heads(self, value: Array) -> Array:
        """Place a tensor (batch, sequence, heads, channels)."""
        return self.place(value, self.batch, self.sequence, self.dividing(self.tensor, value.shape[2]), ())

    def hidden_units(self, value: Array) -> Array:
        """Place a tensor (batch, sequence, d_ff)."""
        return self.place(value, self.batch, self.sequence, self.tensor)

    def whole(self, value: Array) -> Array:
        """Place a tensor (batch, sequence, width) as within blocks, and its gradient as between them.

        If products convert tokens first, they gather them.
        """
        if not self.between_blocks or not self.gathers_wide:
            return self.residual(value)

        @jax.custom_vjp
        def gathered(value: Array) -> Array:
            return self.place(value, self.batch, self.sequence, ())

        gathered.defvjp(lambda value: (gathered(value), None), lambda _, gradient: (self.residual(gradient),))
        return gathered(value)

    def operand(self, letters: str, value: Array) -> Array:
        """Return an operand of a product in the type of products, gathered as the product needs it if it has tokens."""
        if "b" not in letters:
            return narrowed(value, self.product, self.scaling)
        if self.gathers_wide:
            return narrowed(self.place_letters(letters, value), self.product, self.scaling)
        return self.place_letters(letters, narrowed(value, self.product, self.scaling))

    def use(self, stored: Array, weight: Weight) -> Array:
        """Gather a weight; its gradient is reduced and scattered."""

        @jax.custom_vjp
        def gathered(value: Array) -> Array:
            return self.gather(value, weight)

        gathered.defvjp(
            lambda value: (gathered(value), None), lambda _, gradient: (self.scatter(gradient, weight, stored.dtype),)
        )
        return gathered(stored)

    def gather(self, stored: Array, weight: Weight) -> Array:
        """Gather a weight, in the type in which it travels."""
        return self.place(stored.astype(self.gathered), *weight.used)

    def scatter(self, gradient: Array, weight: Weight, kind: jnp.dtype) -> Array:
        """Reduce and scatter the gradient of a weight, and convert it to the type of the weight."""
        return self.place(gradient.astype(self.gradient), *weight.stored).astype(kind)


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


def contraction(spec: str, a: Array, b: Array, result: jnp.dtype) -> Array:
    """Return `jnp.einsum` of two tensors, which takes far longer to trace."""
    (left, right), out = spec.split("->")[0].split(","), spec.split("->")[1]
    shared = [letter for letter in left if letter in right]
    batch, summed = ([letter for letter in shared if (letter in out) is is_kept] for is_kept in (True, False))
    letters = [*batch, *(letter for letter in left + right if letter not in shared)]

    def numbers(found: list[str]) -> tuple[list[int], list[int]]:
        return [left.index(letter) for letter in found], [right.index(letter) for letter in found]

    found = lax.dot_general(a, b, (numbers(summed), numbers(batch)), preferred_element_type=result)
    order = [letters.index(letter) for letter in out]
    return found if order == sorted(order) else lax.transpose(found, order)


def product(spec: str, x: Array, w: Array, layout: Layout, weight: Weight | None = None) -> Array:
    """Multiply by a weight, forward and backward, with operands of the type and placement of a layout.

    With `weight`, `w` is stored as it says, and gathered first.
    """
    inputs, out = spec.split("->")
    left, right = inputs.split(",")
    result = layout.activation
    wide = jnp.dtype(jnp.int32) if layout.product == jnp.int8 else result

    def multiply(spec: str, a: Array, b: Array) -> Array:
        first, second = spec.split("->")[0].split(",")
        return contraction(spec, layout.operand(first, a), layout.operand(second, b), wide).astype(result)

    def forward(x: Array, w: Array) -> tuple[Array, tuple[Array, Array]]:
        used = w if weight is None else layout.gather(w, weight)
        return multiply(spec, x, used), (x, used)

    def backward(saved: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
        x, used = saved
        dx = multiply(f"{out},{right}->{left}", gradient, used)
        dw = multiply(f"{left},{out}->{right}", x, gradient)
        dw = dw.astype(used.dtype) if used.dtype.itemsize > 1 else dw
        return dx.astype(x.dtype), dw if weight is None else layout.scatter(dw, weight, w.dtype)

    run = jax.custom_vjp(lambda x, w: forward(x, w)[0])
    run.defvjp(forward, backward)
    return run(x, w)


def _of_rows(value: Array, shape: tuple[int, ...]) -> Array:
    return lax.broadcast_in_dim(value, shape, tuple(range(len(shape) - 1)))


def rms_norm(x: Array, gain: Array) -> Array:
    """Divide by the root of the mean square, in float32."""
    wide = x.astype(jnp.float32)
    return _scaled(wide, gain).astype(x.dtype)


def layer_norm(x: Array, gain: Array) -> Array:
    """Normalize to mean 0 and variance 1, in float32."""
    wide = x.astype(jnp.float32)
    return _scaled(lax.sub(wide, _row_means(wide)), gain).astype(x.dtype)


def _scaled(wide: Array, gain: Array) -> Array:
    """Return rows of root mean square 1, times the gain. Dims of size 1 are expanded by `lax` itself."""
    scale = lax.rsqrt(_row_means(lax.mul(wide, wide)) + 1e-6)
    gain = lax.expand_dims(gain.astype(wide.dtype), range(wide.ndim - 1))
    return lax.mul(lax.mul(wide, scale), gain)


def _row_means(value: Array) -> Array:
    """Return the mean of each row, as a last dim of size 1."""
    last = value.ndim - 1
    return lax.expand_dims(lax.reduce_sum(value, (last,)) * (1 / value.shape[last]), (last,))


@jax.custom_vjp
def rotated(x: Array) -> Array:
    """Rotate pairs of channels by the position; `x` is (batch, sequence, heads, channels)."""
    return _rotated_by(x, 1.0)


def _rotated_by(x: Array, sign: float) -> Array:
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    table = (x.shape[1], half)
    angle = lax.mul(lax.broadcasted_iota(jnp.float32, table, 0), lax.broadcasted_iota(jnp.float32, table, 1))
    cos, sin = (
        lax.broadcast_in_dim(each.astype(x.dtype), first.shape, (1, 3)) for each in (lax.cos(angle), lax.sin(angle))
    )
    if sign < 0:
        sin = lax.neg(sin)
    left = lax.sub(lax.mul(first, cos), lax.mul(second, sin))
    right = lax.add(lax.mul(second, cos), lax.mul(first, sin))
    return lax.concatenate([left, right], x.ndim - 1)


rotated.defvjp(lambda x: (rotated(x), None), lambda _, gradient: (_rotated_by(gradient, -1.0),))


def rows_at(table: Array, index: Array) -> Array:
    """Look up rows of a table."""
    return table.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def softmax(x: Array) -> Array:
    """Return the softmax along the last dim."""
    powers = lax.exp(lax.sub(x, _of_rows(lax.reduce_max(x, (x.ndim - 1,)), x.shape)))
    return lax.div(powers, _of_rows(lax.reduce_sum(powers, (x.ndim - 1,)), x.shape))


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
        scores = contraction("bsgqc,btgc->bgqst", q, k, WIDE) * q.shape[-1] ** -0.5
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
        mask = lax.broadcast_in_dim(mask, scores.shape, (3, 4))
        return lax.select(mask, scores, lax.full(scores.shape, -1e30, scores.dtype))

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
        tensor = layout.dividing(layout.tensor, groups)
        k, v = (layout.place(each, layout.batch, (), tensor) for each in (k, v))
    mask = replace(mask, context=layout.manual_size("context"))
    if mask.context > 1:
        k, v = (jax.lax.all_gather(each, "context", axis=1, tiled=True) for each in (k, v))
    q = q.reshape(batch, length, groups, heads // groups, channels)
    out: Array = _attention(mask, q, k, v)
    return out.reshape(batch, length, heads, v.shape[-1])


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(mask: Mask, q: Array, k: Array, v: Array) -> Array:
    weights = softmax(mask.scores(q, k)).astype(v.dtype)
    return contraction("bgqst,btgc->bsgqc", weights, v, v.dtype)


Saved = tuple[Array, Array, Array]


def _attention_forward(mask: Mask, q: Array, k: Array, v: Array) -> tuple[Array, Saved]:
    return _attention(mask, q, k, v), (q, k, v)


def _attention_backward(mask: Mask, saved: Saved, gradient: Array) -> Saved:
    q, k, v = saved
    weights = softmax(mask.scores(q, k))
    to_weights = contraction("bsgqc,btgc->bgqst", gradient, v, WIDE)
    inside = _of_rows(lax.reduce_sum(lax.mul(weights, to_weights), (4,)), weights.shape)
    to_scores = lax.mul(weights, lax.sub(to_weights, inside)) * q.shape[-1] ** -0.5
    to_scores = to_scores.astype(q.dtype)
    return (
        contraction("bgqst,btgc->bsgqc", to_scores, k, k.dtype),
        contraction("bgqst,bsgqc->btgc", to_scores, q, q.dtype),
        contraction("bgqst,bsgqc->btgc", weights.astype(v.dtype), gradient, v.dtype),
    )


_attention.defvjp(_attention_forward, _attention_backward)


named = checkpoint_name
Activation = Callable[[Array], Array]


def silu(x: Array) -> Array:
    """Multiply by the sigmoid."""
    return lax.mul(x, lax.logistic(x))


gelu: Activation = partial(jax.nn.gelu, approximate=True)
