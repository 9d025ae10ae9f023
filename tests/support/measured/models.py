"""The decoders of the table, by family: the kinds of their layers, and what each computes."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from support.measured.layers import (
    Array,
    Layout,
    Mask,
    Weight,
    attention,
    gelu,
    layer_norm,
    named,
    product,
    rms_norm,
    rotated,
    rows_at,
    silu,
    softmax,
)
from support.measured.published import Row

Tensors = dict[str, Array]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a decoder. `hidden` is d_ff of dense layers, `expert_hidden` that of one expert."""

    model: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    channels: int
    vocabulary: int
    is_tied: bool
    experts: int
    chosen: int
    expert_hidden: int

    @staticmethod
    def of(row: Row) -> Sizes:
        """Return the sizes in a row."""
        columns = ("d_model", "d_ff", "layers", "heads", "kv_heads", "head_dim", "vocab")
        model, hidden, layers, heads, kv_heads, channels, vocabulary = (row.count(each) for each in columns)
        experts, chosen = row.count("experts", 0), row.count("top_k", 0)
        expert_hidden = row.count("d_ff_expert", 0)
        tied = row["tied"] == "1"
        return Sizes(model, hidden, layers, heads, kv_heads, channels, vocabulary, tied, experts, chosen, expert_hidden)


@dataclass
class LayerKind:
    """`count` equal layers of one kind: their weights, which each part declares when it is made, and their function."""

    count: int
    layout: Layout
    weights: dict[str, Weight] = field(default_factory=dict[str, Weight])
    parts: list[Callable[[Tensors, Array, Array], Array]] = field(
        default_factory=list[Callable[[Tensors, Array, Array], Array]]
    )

    def add(self, name: str, dims: str, *shape: int) -> str:
        """Declare a weight; return its name."""
        self.weights[name] = self.layout.weight(dims, *shape)
        return name

    def run(self, x: Array, tensors: Tensors, routes: Array) -> Array:
        """Return the output of one layer. `routes` are the numbers of the tokens of each expert, in order."""
        for part in self.parts:
            x = part(tensors, x, routes)
        return self.layout.residual(x)

    def times(self, spec: str, x: Array, tensors: Tensors, name: str) -> Array:
        """Multiply by a weight."""
        return product(spec, x, tensors[name], self.layout, self.weights[name])


BIASES = ("q_bias", "k_bias", "v_bias")


def biased(x: Array, bias: Array) -> Array:
    """Add a bias, in the type of `x`."""
    return x + bias.astype(x.dtype)


@dataclass(frozen=True)
class Attention:
    """Attention with residual: `window` and `chunk` limit what a token sees; 0: everything before it."""

    heads: int
    kv_heads: int
    channels: int
    window: int = 0
    chunk: int = 0
    has_norms: bool = False  # of queries and keys
    has_norm_after: bool = False
    is_rotated: bool = True
    has_biases: bool = False
    norm: Callable[[Array, Array], Array] = rms_norm

    def add_to(self, kind: LayerKind, model: int) -> None:
        """Add this part to a kind of layers."""
        self._declare(kind, model)
        is_joined = self._is_joined(kind.layout)
        each = self.heads // self.kv_heads

        def run(w: Tensors, x: Array, _: Array) -> Array:
            layout = kind.layout
            y = layout.whole(self.norm(x, w["attention_norm"]))
            if is_joined:
                qkv = kind.times("bsd,dhnc->bshnc", y, w, "qkv")
                q, k, v = (
                    qkv[:, :, :, :each].reshape(*y.shape[:2], -1, self.channels),
                    qkv[..., each, :],
                    qkv[..., -1, :],
                )
            else:
                q, k, v = (kind.times("bsd,dhc->bshc", y, w, name) for name in "qkv")
            if self.has_biases:
                q, k, v = (biased(each, w[name]) for each, name in zip((q, k, v), BIASES, strict=True))
            q, k, v = layout.heads(q), layout.heads(k), named(layout.heads(v), "value_proj")
            if self.has_norms:
                q, k = rms_norm(q, w["q_norm"]), rms_norm(k, w["k_norm"])
            if self.is_rotated:
                q, k = rotated(q), rotated(k)
            q, k = named(q, "query_proj"), named(k, "key_proj")
            o = named(layout.heads(attention(layout, q, k, v, Mask(self.window, self.chunk))), "context")
            out = named(layout.residual(kind.times("bshc,hcd->bsd", o, w, "out")), "out_proj")
            if self.has_biases:
                out = biased(out, w["out_bias"])
            if self.has_norm_after:
                out = rms_norm(out, w["attention_norm_after"])
            return x + out

        kind.parts.append(run)

    def _is_joined(self, layout: Layout) -> bool:
        """Return whether queries, keys and values are one product, whose gradient is reduced once."""
        return bool(layout.dividing(layout.tensor, self.kv_heads))

    def _declare(self, kind: LayerKind, model: int) -> None:
        """Declare the weights."""
        kind.add("attention_norm", "-", model)
        if self._is_joined(kind.layout):
            kind.add("qkv", "dhnc", model, self.kv_heads, self.heads // self.kv_heads + 2, self.channels)
        else:
            kind.add("q", "dhc", model, self.heads, self.channels)
            kind.add("k", "dhc", model, self.kv_heads, self.channels)
            kind.add("v", "dhc", model, self.kv_heads, self.channels)
        kind.add("out", "hcd", self.heads, self.channels, model)
        if self.has_biases:
            kind.add("q_bias", "hc", self.heads, self.channels)
            kind.add("k_bias", "hc", self.kv_heads, self.channels)
            kind.add("v_bias", "hc", self.kv_heads, self.channels)
            kind.add("out_bias", "-", model)
        if self.has_norms:
            kind.add("q_norm", "-", self.channels)
            kind.add("k_norm", "-", self.channels)
        if self.has_norm_after:
            kind.add("attention_norm_after", "-", model)


@dataclass(frozen=True)
class LatentAttention:
    """The attention of DeepSeek: queries, keys and values are products of narrow vectors."""

    heads: int

    def add_to(self, kind: LayerKind, model: int) -> None:
        """Add this part to a kind of layers."""
        kind.add("attention_norm", "-", model)
        kind.add("q_down", "dc", model, 1536)
        kind.add("q_up", "dhr", 1536, self.heads, 192)
        kind.add("kv_down", "dc", model, 576)
        kind.add("kv_up", "dhr", 512, self.heads, 256)
        kind.add("out", "hcd", self.heads, 128, model)
        kind.add("q_norm", "-", 1536)
        kind.add("kv_norm", "-", 512)

        def run(w: Tensors, x: Array, _: Array) -> Array:
            y = kind.layout.whole(rms_norm(x, w["attention_norm"]))
            q = kind.times("bsc,chr->bshr", rms_norm(kind.times("bsd,dc->bsc", y, w, "q_down"), w["q_norm"]), w, "q_up")
            narrow = kind.times("bsd,dc->bsc", y, w, "kv_down")
            wide = kind.times("bsc,chr->bshr", rms_norm(narrow[..., :512], w["kv_norm"]), w, "kv_up")
            q, wide = kind.layout.heads(q), kind.layout.heads(wide)
            shared = jnp.broadcast_to(rotated(narrow[..., None, 512:]), (*wide.shape[:3], 64))
            q = jnp.concatenate([q[..., :128], rotated(q[..., 128:])], axis=-1)
            k = jnp.concatenate([wide[..., :128], shared], axis=-1)
            o = named(kind.layout.heads(attention(kind.layout, q, k, wide[..., 128:], Mask())), "context")
            return x + named(kind.layout.residual(kind.times("bshc,hcd->bsd", o, w, "out")), "out_proj")

        kind.parts.append(run)


@dataclass(frozen=True)
class Mlp:
    """A dense MLP with residual, and experts beside it: of `experts`, each token takes `chosen`."""

    hidden: int  # 0: none
    experts: int = 0
    chosen: int = 0
    expert_hidden: int = 0
    activation: Callable[[Array], Array] = silu
    is_gated: bool = True
    has_biases: bool = False  # of experts
    has_norm_after: bool = False
    norm: Callable[[Array, Array], Array] = rms_norm

    def add_to(self, kind: LayerKind, model: int) -> None:
        """Add this part to a kind of layers."""
        self._declare(kind, model)

        def run(w: Tensors, x: Array, routes: Array) -> Array:
            normed = self.norm(x, w["mlp_norm"])
            y = kind.layout.whole(normed)
            out = self._dense(kind, w, y) if self.hidden else jnp.zeros_like(x)
            if self.experts and kind.layout.divides_tokens_of_experts:
                out += self._sparse_by_device(kind, w, kind.layout.residual(normed), routes)
            elif self.experts:
                out += self._sparse(kind, w, y, routes)
            out = named(kind.layout.residual(out), "mlpwo")
            if self.has_norm_after:
                out = rms_norm(out, w["mlp_norm_after"])
            return x + out

        kind.parts.append(run)

    def _declare(self, kind: LayerKind, model: int) -> None:
        """Declare the weights."""
        kind.add("mlp_norm", "-", model)
        if self.has_norm_after:
            kind.add("mlp_norm_after", "-", model)
        if self.hidden:
            if self.is_gated and kind.layout.tensor:
                kind.add("gate_up", "ndf", 2, model, self.hidden)
            else:
                kind.add("gate", "df", model, self.hidden)
                if self.is_gated:
                    kind.add("up", "df", model, self.hidden)
            kind.add("down", "fd", self.hidden, model)
        if self.experts:
            kind.add("router", "d-", model, self.experts)
            hidden = "-" if kind.layout.divides_tokens_of_experts else "f"
            kind.add("expert_gate", f"ed{hidden}", self.experts, model, self.expert_hidden)
            kind.add("expert_up", f"ed{hidden}", self.experts, model, self.expert_hidden)
            kind.add("expert_down", f"e{hidden}d", self.experts, self.expert_hidden, model)
            if self.has_biases:
                kind.add("expert_gate_bias", f"e{hidden}", self.experts, self.expert_hidden)
                kind.add("expert_up_bias", f"e{hidden}", self.experts, self.expert_hidden)
                kind.add("expert_down_bias", "e-", self.experts, model)

    def _dense(self, kind: LayerKind, w: Tensors, y: Array) -> Array:
        units = kind.layout.hidden_units
        if "gate_up" in w:
            both = kind.times("bsd,ndf->bsnf", y, w, "gate_up")
            hidden = self.activation(named(units(both[:, :, 0]), "mlpwi_0")) * named(units(both[:, :, 1]), "mlpwi_1")
            return kind.times("bsf,fd->bsd", hidden, w, "down")
        hidden = self.activation(named(units(kind.times("bsd,df->bsf", y, w, "gate")), "mlpwi_0"))
        if self.is_gated:
            hidden *= named(units(kind.times("bsd,df->bsf", y, w, "up")), "mlpwi_1")
        return kind.times("bsf,fd->bsd", hidden, w, "down")

    def _sparse(self, kind: LayerKind, w: Tensors, y: Array, routes: Array) -> Array:
        """Send each token to its experts, which take equally many, and add up what they return."""
        layout = kind.layout
        batch, length, model = y.shape
        shares = softmax(kind.times("bsd,de->bse", y, w, "router").astype(jnp.float32))
        rows = length * self.chosen // self.experts
        tokens = routes[:, : self.experts * rows]

        def placed(value: Array) -> Array:
            others = tuple(axis for axis in layout.batch if axis not in layout.expert)
            return layout.place(value, others, layout.expert, *[()] * (value.ndim - 2))

        sent = jax.vmap(rows_at)(y, tokens).reshape(batch, self.experts, rows, model)
        sent = self._exchanged(layout, placed(sent), 1, 0)

        def times(spec: str, x: Array, name: str) -> Array:
            found = kind.times(spec, x, w, name)
            return biased(found, w[f"{name}_bias"][:, None]) if self.has_biases else found

        gate, up = (times("bend,edf->benf", sent, name) for name in ("expert_gate", "expert_up"))
        back = times("benf,efd->bend", self._product_of(gate, up), "expert_down")
        back = self._exchanged(layout, back, 0, 1)
        back = layout.whole(back.reshape(batch, self.experts * rows, model))
        weight = jax.vmap(rows_at)(lax.reduce_max(shares, (2,)), tokens)
        weighted = back * weight[..., None].astype(back.dtype)
        return jax.vmap(_added_at)(jnp.zeros_like(y), tokens, weighted)

    def _product_of(self, gate: Array, up: Array) -> Array:
        """Return the hidden units of experts; with biases, those of gpt-oss, which are clamped."""
        if not self.has_biases:
            return self.activation(gate) * up
        gate, up = jnp.minimum(gate, 7), jnp.clip(up, -7, 7)
        return gate * jax.nn.sigmoid(1.702 * gate) * (up + 1)

    def _sparse_by_device(self, kind: LayerKind, w: Tensors, y: Array, routes: Array) -> Array:
        """Send the tokens of each device of `tensor`, which are a part of the sequence, to experts that are whole."""
        (axis,), (batch, length, model) = kind.layout.tensor, y.shape
        parts = kind.layout.mesh.shape[axis]
        alone = replace(kind, layout=replace(kind.layout, tensor=(), between_blocks=()))
        split = y.reshape(batch, parts, length // parts, model).swapaxes(0, 1)
        out = jax.vmap(lambda part: self._sparse(alone, w, part, routes), spmd_axis_name=axis)(split)
        return out.swapaxes(0, 1).reshape(y.shape)

    def _exchanged(self, layout: Layout, rows: Array, split: int, joined: int) -> Array:
        """Send the rows of experts to the devices of a manual axis that have the experts, or back."""
        if layout.manual_size("expert") == 1:
            return rows
        return jax.lax.all_to_all(rows, "expert", split, joined, tiled=True)


def _added_at(table: Array, index: Array, rows: Array) -> Array:
    return table.at[index].add(rows, mode="promise_in_bounds", wrap_negative_indices=False)


Part = Attention | LatentAttention | Mlp


def kind_of_layers(count: int, layout: Layout, model: int, *parts: Part) -> LayerKind:
    """Return `count` layers of these parts."""
    kind = LayerKind(count, layout)
    for part in parts:
        part.add_to(kind, model)
    return kind


def kinds_of_layers(row: Row, layout: Layout) -> list[LayerKind]:
    """Return the kinds of layers of the model in a row; of a family without an entry, the usual ones."""
    sizes = Sizes.of(row)
    groups = _FAMILIES.get(row["family"], _sparse if sizes.experts else _llama)(sizes, row)
    return [kind_of_layers(count, layout, sizes.model, *parts) for count, parts in groups if count]


Groups = Sequence[tuple[int, Sequence[Part]]]


def _llama(sizes: Sizes, row: Row) -> Groups:
    is_gated = not row["model_details"].startswith("two-matrix")
    heads = Attention(sizes.heads, sizes.kv_heads, sizes.channels, has_norms="qk norm" in row["model_details"])
    return [(sizes.layers, (heads, Mlp(sizes.hidden, is_gated=is_gated)))]


def _gpt3(sizes: Sizes, _: Row) -> Groups:
    heads = Attention(sizes.heads, sizes.kv_heads, sizes.channels, is_rotated=False, norm=layer_norm)
    return [(sizes.layers, (heads, Mlp(sizes.hidden, activation=gelu, is_gated=False, norm=layer_norm)))]


def _gemma(sizes: Sizes, row: Row) -> Groups:
    details = row["model_details"]
    window = int((re.search(r"window (\d+)", details) or ["", "1024"])[1])
    wide = re.search(r"global \(\d+/(\d+) heads of (\d+)", details)
    kv_heads, channels = (int(wide[1]), int(wide[2])) if wide else (sizes.kv_heads, sizes.channels)
    experts = (sizes.experts, sizes.chosen, sizes.expert_hidden)
    mlp = Mlp(sizes.hidden, *experts, activation=gelu, has_norm_after=True)
    normed = partial(Attention, sizes.heads, has_norms=True, has_norm_after=True)
    everywhere = sizes.layers // 6
    return [
        (sizes.layers - everywhere, (normed(sizes.kv_heads, sizes.channels, window), mlp)),
        (everywhere, (normed(kv_heads, channels), mlp)),
    ]


def _sparse(sizes: Sizes, row: Row) -> Groups:
    heads = Attention(sizes.heads, sizes.kv_heads, sizes.channels, has_norms="qk norm" in row["model_details"])
    mlp = Mlp(0, sizes.experts, sizes.chosen, sizes.expert_hidden)
    return [(sizes.layers, (heads, mlp))]


def _gpt_oss(sizes: Sizes, _: Row) -> Groups:
    """Return the layers; the sinks, one logit a head, are left out, because they take no time."""
    mlp = Mlp(0, sizes.experts, sizes.chosen, sizes.expert_hidden, has_biases=True)
    near = Attention(sizes.heads, sizes.kv_heads, sizes.channels, window=128, has_biases=True)
    far = replace(near, window=0)
    return [(sizes.layers // 2, (near, mlp)), (sizes.layers - sizes.layers // 2, (far, mlp))]


def _deepseek(sizes: Sizes, _: Row) -> Groups:
    heads = LatentAttention(sizes.heads)
    sparse = Mlp(sizes.expert_hidden, sizes.experts, sizes.chosen, sizes.expert_hidden)
    return [(3, (heads, Mlp(sizes.hidden))), (sizes.layers - 3, (heads, sparse))]


def _llama4(sizes: Sizes, row: Row) -> Groups:
    near = Attention(sizes.heads, sizes.kv_heads, sizes.channels, chunk=8192)
    far = Attention(sizes.heads, sizes.kv_heads, sizes.channels)
    sparse = Mlp(sizes.expert_hidden, sizes.experts, sizes.chosen, sizes.expert_hidden)
    if "odd layers dense" not in row["model_details"]:
        return [(sizes.layers * 3 // 4, (near, sparse)), (sizes.layers // 4, (far, sparse))]
    dense = Mlp(sizes.hidden)
    return [
        (sizes.layers // 2, (near, dense)),
        (sizes.layers // 4, (near, sparse)),
        (sizes.layers // 4, (far, sparse)),
    ]


_FAMILIES: dict[str, Callable[[Sizes, Row], Groups]] = {
    "gpt3": _gpt3,
    "gemma3": _gemma,
    "gemma4": _gemma,
    "gpt-oss": _gpt_oss,
    "deepseek": _deepseek,
    "llama4": _llama4,
}
