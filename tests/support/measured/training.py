"""The training step of a row as a program of `sdy`: layers in loops, recomputation, gradients, optimizer.

Rows of pipelines become the step of one stage, without the idle share of the pipeline.
"""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, PartitionSpec

import sdy
from support.measured.host_memory import lowered_transfers
from support.measured.layers import Array, Axes, Layout, Scaling, Weight, named, product, rms_norm, rows_at
from support.measured.models import LayerKind, Sizes, kinds_of_layers
from support.measured.published import Row

Pytree = dict[str, dict[str, Array]]
MESH_AXES = ("data", "fsdp", "fsdp_transpose", "context", "expert", "tensor")  # major first


@dataclass(frozen=True)
class Recomputation:
    """The names of what is stored of each layer: on the device and on the host; `everything` if all is."""

    device: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    everything: bool = False

    @staticmethod
    def of(row: Row) -> Recomputation:
        """Return what a row says: `saved: layer input, out projection (both offloaded to host); rest recomputed`.

        A place in parentheses is that of all names since the place before; without one, they stay on the device.
        """
        text = row["remat"]
        if text.startswith(("none", "not stated")):
            return Recomputation(everything=True)
        if "every second matrix product" in text:  # of q, k, v, out, gate, up, down
            return Recomputation(("query_proj", "value_proj", "mlpwi_0", "mlpwo", "context", "out_proj"))
        if "all matrix products" in text:
            names = ("query_proj", "key_proj", "value_proj", "out_proj", "mlpwi_0", "mlpwi_1", "mlpwo")
            return Recomputation(names)
        found, saved, start = Recomputation(), text.split(";")[0], 0
        for place in (*_PLACE.finditer(saved), None):
            part = saved[start : place.start() if place else None]
            names = tuple(name for name, words in _SAVED.items() if re.search(words, part))
            if place and "host" in place[0]:
                found = replace(found, host=found.host + names)
            else:
                found = replace(found, device=found.device + names)
            start = place.end() if place else len(saved)
        return found


_PLACE = re.compile(r"\([^()]*\b(?:host|device)\b[^()]*\)|, (?:both|all) offloaded to host")
_SAVED = {
    "layer_input": "layer input",
    "query_proj": "q, k, v|qkv|q proj",
    "key_proj": "q, k, v|qkv|k and v|k proj",
    "value_proj": "q, k, v|qkv|k and v|v proj",
    "context": "attention output",
    "out_proj": "out proj",
    "mlpwi_0": "gate|mlpwi",
    "mlpwi_1": "up proj|gate and up|mlpwi",
    "mlpwo": "MLP (?:[(]expert[)] )?output|down proj",
}


def layout_of(row: Row) -> Layout:
    """Return along which axes of its mesh a row shards what."""
    sizes = {axis: row.count(axis) for axis in MESH_AXES}
    present = tuple(axis for axis in MESH_AXES if sizes[axis] > 1)
    mesh = AbstractMesh(tuple(sizes[axis] for axis in present) or (1,), present or ("data",))

    def those(*axes: str) -> Axes:
        return tuple(axis for axis in axes if axis in present)

    is_megatron = row["sharding"].startswith("megatron")
    narrow = {"int8": jnp.int8, "nvfp4": jnp.float4_e2m1fn, "fp4": jnp.float4_e2m1fn}
    narrow |= dict.fromkeys(("fp8", "mxfp8", "float8"), jnp.float8_e4m3fn)
    kind = next((kind for name, kind in narrow.items() if row["quantization"].startswith(name)), jnp.bfloat16)
    activation = jnp.float32 if row["activation_dtype"] == "float32" else jnp.bfloat16
    product_type = kind if activation == jnp.bfloat16 else jnp.float32
    travels_narrow = "all-gathers in float8" in row["quantization"] or "tensorwise" in row["quantization"]
    is_replicated = row["sharding"].startswith("parameters, gradients and moments replicated")
    is_accumulated = "once" in row["sharding"] or (is_megatron and not those("fsdp"))
    manual = those("data", "context", "expert") if is_accumulated else ()
    return Layout(
        mesh,
        batch=those("data", "fsdp", "fsdp_transpose", "expert"),
        sequence=those("context"),
        between_blocks=those("tensor"),
        model=() if is_replicated else manual or those("fsdp", "context", "expert"),
        hidden=those("fsdp_transpose"),
        tensor=those("tensor"),
        expert=those("expert"),
        activation=jnp.dtype(activation),
        product=jnp.dtype(product_type),
        gathered=jnp.dtype(jnp.float8_e4m3fn if travels_narrow else activation),
        gradient=jnp.dtype(activation),
        scaling=_scaling(row["quantization"], is_megatron=is_megatron),
        # MaxText constrains the output of a norm like the residual, and Transformer Engine sends converted tokens.
        gathers_wide=row["sharding"].startswith("torchtitan"),
        manual=manual,
    )


def _scaling(quantization: str, *, is_megatron: bool) -> Scaling:
    if "Qwix" in quantization or is_megatron:  # Transformer Engine scales in the kernels that write the operands
        return Scaling.FIXED
    return Scaling.ROW if quantization.startswith(("int8", "float8 rowwise", "mxfp8", "nvfp4")) else Scaling.TENSOR


@dataclass(frozen=True)
class Model:
    """The weights of a model, by kind of layer, and its loss."""

    row: Row
    layout: Layout
    sizes: Sizes
    kinds: Sequence[LayerKind]

    @staticmethod
    def of(row: Row, layout: Layout, stages: int = 1) -> Model:
        """Return the model of a row; of a pipeline, the layers of one stage."""
        kinds = [replace(kind, count=max(1, kind.count // stages)) for kind in kinds_of_layers(row, layout)]
        return Model(row, layout, Sizes.of(row), kinds)

    def weights(self) -> dict[str, dict[str, Weight]]:
        """Return all weights; those of layers have one more dim for the layers of a kind."""
        layout, sizes = self.layout, self.sizes
        found = {
            f"layers_{number}": {
                name: Weight((kind.count, *each.shape), ((), *each.stored), ((), *each.used))
                for name, each in kind.weights.items()
            }
            for number, kind in enumerate(self.kinds)
        }
        ends = {
            "embedding": layout.weight("vd", sizes.vocabulary, sizes.model),
            "norm": layout.weight("-", sizes.model),
        }
        if not sizes.is_tied:
            ends["head"] = layout.weight("dv", sizes.model, sizes.vocabulary)
        return found | {"ends": ends}

    def loss(self, tensors: Pytree, tokens: Array, targets: Array, routes: Array) -> Array:
        """Return the mean cross-entropy of the next tokens."""
        layout, ends, weights = self.layout, tensors["ends"], self.weights()["ends"]
        wide = replace(layout, product=layout.activation, gathered=layout.activation)
        table = wide.use(ends["embedding"], weights["embedding"])
        x = layout.residual(rows_at(table, tokens))
        for number, kind in enumerate(self.kinds):
            x = self._run_layers(kind, x, tensors[f"layers_{number}"], routes)
        x = layout.whole(rms_norm(x, ends["norm"]))
        if self.sizes.is_tied:
            logits = product("bsd,vd->bsv", x, table, wide)
        else:
            logits = product("bsd,dv->bsv", x, ends["head"], wide, weights["head"])
        logits = layout.place(logits, layout.batch, layout.sequence, layout.tensor).astype(jnp.float32)
        is_target = jax.lax.broadcasted_iota(jnp.int32, logits.shape, 2) == targets[..., None]
        found = jnp.where(is_target, logits, 0).sum(-1)
        return (jax.nn.logsumexp(logits, axis=-1) - found).mean()

    def _run_layers(self, kind: LayerKind, x: Array, tensors: dict[str, Array], routes: Array) -> Array:
        saved = Recomputation.of(self.row)
        body: Callable[[Array, dict[str, Array]], Array] = partial(kind.run, routes=routes)
        if not saved.everything:
            policy = jax.checkpoint_policies.save_and_offload_only_these_names(
                names_which_can_be_saved=saved.device,
                names_which_can_be_offloaded=saved.host,
                offload_src="device",
                offload_dst="pinned_host",
            )
            inner = body
            if "layer_input" in saved.host:
                body = partial(_with_named_input, inner)
            body = jax.checkpoint(body, policy=policy, prevent_cse=False)
        return jax.lax.scan(lambda x, w: (body(x, w), None), x, tensors)[0]


def _with_named_input(layer: Callable[[Array, dict[str, Array]], Array], x: Array, w: dict[str, Array]) -> Array:
    return layer(named(x, "layer_input"), w)


def updated(row: Row, weight: Array, first: Array, second: Array, gradient: Array) -> tuple[Array, Array, Array]:
    """Return a weight and its moments after a step of the optimizer of a row.

    Factors that are constants are left out: the kernel of the optimizer takes as long as its bytes take.
    """
    gradient = gradient.astype(jnp.float32)
    if row["optimizer"] == "sgd":
        return weight - gradient, first, second
    new = lax.add(first, gradient.astype(first.dtype))
    square = lax.add(second, lax.mul(gradient, gradient))
    return lax.sub(weight, lax.mul(new.astype(jnp.float32), lax.rsqrt(square))), new, square


@dataclass(frozen=True, eq=False)
class Step:
    """A training step of a row; of a pipeline, that of one stage."""

    row: Row
    model: Model

    @staticmethod
    def of(row: Row) -> Step:
        """Return the step of a row."""
        return Step(row, Model.of(row, layout_of(row), row.count("stage")))

    def __call__(
        self, tensors: Pytree, first: Pytree, second: Pytree, tokens: Array, targets: Array, routes: Array
    ) -> list[Pytree]:
        """Return the new weights and moments."""
        gradients = self._gradients_of_devices if self.model.layout.manual else partial(_gradients, self.model)
        found = gradients(tensors, tokens, targets, routes)
        if not self.row["model"].startswith("qwen3-0.6b"):
            squares = (lax.reduce_sum(lax.mul(each, each), tuple(range(each.ndim))) for each in jax.tree.leaves(found))
            scale = jnp.minimum(1.0, lax.rsqrt(reduce(lax.add, squares)))
            found = jax.tree.map(lambda each: lax.mul(each, lax.broadcast(scale, each.shape)), found)
        leaves, tree = jax.tree.flatten(tensors)
        moments = (jax.tree.leaves(each) for each in (first, second, found))
        new = [updated(self.row, *each) for each in zip(leaves, *moments, strict=True)]
        return [jax.tree.unflatten(tree, part) for part in zip(*new, strict=True)]

    def _gradients_of_devices(self, tensors: Pytree, tokens: Array, targets: Array, routes: Array) -> Pytree:
        """Return the gradients; each device of the manual axes adds up its own, and they are summed once."""
        layout = self.model.layout
        model = Model.of(self.row, layout.inside(), self.row.count("stage"))
        weights = self.model.weights()

        def specs(*dims: Axes) -> PartitionSpec:
            return PartitionSpec(*(tuple(axis for axis in axes if axis in layout.manual) or None for axes in dims))

        def manual_axes(weight: Weight) -> list[Axes]:
            return [tuple(axis for axis in axes if axis in layout.manual) for axes in weight.gathered_axes]

        def gathered(value: Array, weight: Weight) -> Array:
            value = value.astype(layout.gathered)
            for dim, axes in enumerate(manual_axes(weight)):
                value = jax.lax.all_gather(value, axes, axis=dim, tiled=True) if axes else value
            return value

        def reduced(value: Array, weight: Weight) -> Array:
            value, left = value.astype(layout.gradient), layout.others(layout.manual, sum(weight.stored, ()))
            for dim, axes in enumerate(manual_axes(weight)):
                value = jax.lax.psum_scatter(value, axes, scatter_dimension=dim, tiled=True) if axes else value
            return jax.lax.psum(value, left) if left else value

        def run(tensors: Pytree, tokens: Array, targets: Array, routes: Array) -> Pytree:
            found = _gradients(model, jax.tree.map(gathered, tensors, weights), tokens, targets, routes)
            return jax.tree.map(reduced, found, weights)

        stored = {name: {key: specs(*each.stored) for key, each in of.items()} for name, of in weights.items()}
        batch, sequence = specs((), layout.batch, layout.sequence), specs(layout.batch, layout.sequence)
        return jax.shard_map(
            run,
            mesh=layout.mesh,
            in_specs=(stored, batch, batch, sequence),
            out_specs=stored,
            axis_names=frozenset(layout.manual),
            check_vma=False,
        )(tensors, tokens, targets, routes)

    def arguments(self) -> tuple[object, ...]:
        """Return the shapes and shardings of the arguments."""
        row, layout, weights = self.row, self.model.layout, self.model.weights()
        rounds, length = row.count("micro_batches"), row.count("sequence")
        batch = row.count("global_batch") // rounds

        def shapes(kind: jnp.dtype) -> Mapping[str, Mapping[str, jax.ShapeDtypeStruct]]:
            return {
                group: {
                    name: jax.ShapeDtypeStruct(each.shape, kind, sharding=layout.sharding(*each.stored))
                    for name, each in named.items()
                }
                for group, named in weights.items()
            }

        wide = jnp.dtype(jnp.float32)
        first = jnp.dtype(jnp.bfloat16) if row["optimizer_state_dtype"].startswith("mu bfloat16") else wide
        place = layout.sharding((), layout.batch, layout.sequence)
        tokens = jax.ShapeDtypeStruct((rounds, batch, length), jnp.int32, sharding=place)
        places = layout.sharding(layout.batch, layout.sequence if layout.manual else ())
        chosen = max(self.model.sizes.chosen, 1)
        routes = jax.ShapeDtypeStruct((batch, length * chosen), jnp.int32, sharding=places)
        return shapes(wide), shapes(first), shapes(wide), tokens, tokens, routes


def _gradients(model: Model, tensors: Pytree, tokens: Array, targets: Array, routes: Array) -> Pytree:
    """Return the sum of the gradients of all micro-batches in float32, in a loop if there are several."""

    def of_round(tokens: Array, targets: Array) -> Pytree:
        return jax.grad(model.loss)(tensors, tokens, targets, routes)

    def added(sums: Pytree, each: tuple[Array, Array]) -> tuple[Pytree, None]:
        return jax.tree.map(lambda total, new: total + new.astype(total.dtype), sums, of_round(*each)), None

    if len(tokens) == 1:
        return of_round(tokens[0], targets[0])
    zero = jax.tree.map(lambda each: jnp.zeros(each.shape, jnp.float32), tensors)
    return jax.lax.scan(added, zero, (tokens, targets))[0]


# The columns that no program depends on, or only through its layout and what it recomputes.
_NOT_IN_PROGRAM = frozenset(
    (
        *("id", "machine", "topology", "attention", "step_seconds", "seconds_from", "tokens_per_second_per_device"),
        *("tflops_per_device", "rate_counts", "count_check", "source", "confidence", "remark", "chips"),
        *("virtual_stages", "devices", "micro_batch_per_device", "scan_layers", "weight_dtype"),
        *("sharding", "quantization", "remat", "activation_dtype", *MESH_AXES),
    )
)
_programs: dict[object, sdy.Program[object]] = {}


def program_of(row: Row) -> sdy.Program[object]:
    """Return the program of the step of a row; rows of equal programs share it."""
    cells = tuple(cell for column, cell in row.cells.items() if column not in _NOT_IN_PROGRAM)
    key = layout_of(row), Recomputation.of(row), cells
    if key not in _programs:
        _programs[key] = _lowered(Step.of(row))
    return _programs[key]


def _lowered(step: Step) -> sdy.Program[object]:
    with lowered_transfers():
        return sdy.from_jax(jax.jit(step, donate_argnums=(0, 1, 2)), *step.arguments()).without_optimizer()
