# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false
"""Training, images, graphs, statistics and simulations."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from support.jax_programs.workloads.workload import floats, integers, workload


@workload(floats((64, 16), "data"), floats((16, 10), None, "model"), integers((64,), "data"), xla_bytes=1_352)
def adam_with_clipping(x: Any, weight: Any, labels: Any) -> Any:
    """Take two steps of Adam on a classifier, with gradients of bounded norm."""
    mean_of_squares = mean = jnp.zeros_like(weight)

    def loss(weight: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(x @ weight), (labels % 10)[:, None], 1).mean()

    for step in (1, 2):
        gradient = jax.grad(loss)(weight)
        gradient = gradient * jnp.minimum(1, 1 / (jnp.sqrt((gradient**2).sum()) + 1e-6))
        mean, mean_of_squares = 0.9 * mean + 0.1 * gradient, 0.99 * mean_of_squares + 0.01 * gradient**2
        scale = jnp.sqrt(mean_of_squares / (1 - 0.99**step)) + 1e-8
        weight = weight - 0.01 * (mean / (1 - 0.9**step) / scale + 0.01 * weight)
    return weight, mean, mean_of_squares


@workload(floats((64, 32), "data", "model"), xla_bytes=51_210)
def orthogonalized(gradient: Any) -> Any:
    """Make the singular values of a matrix nearly 1 by products with itself."""
    x = gradient / jnp.linalg.norm(gradient)
    for _ in range(5):
        square = x.T @ x
        x = 3.4445 * x + x @ (2.0315 * square @ square - 4.775 * square)
    return x


@workload(floats((8, 64), "data"), floats((64, 64), None, "model"), floats((64, 64), "model"), xla_bytes=4_620)
def tangents_of_checkpointed_layers(x: Any, up: Any, down: Any) -> Any:
    """Differentiate forwards through a loop of checkpointed layers."""
    layer = jax.checkpoint(lambda x, up, down: x + jax.nn.gelu(x @ up) @ down)

    def loss(up: Any, down: Any) -> Any:
        return (lax.fori_loop(0, 3, lambda _, x: layer(x, up, down), x) ** 2).mean()

    return jax.jvp(loss, (up, down), (up, down))


@workload(floats((16, 8), "data"), floats((16, 8), "data"), xla_bytes=1_350)
def contrastive_loss(one: Any, other: Any) -> Any:
    """Compare all pairs of two sharded batches."""
    one, other = (x / jnp.linalg.norm(x, axis=-1, keepdims=True) for x in (one, other))

    def of_rows(logits: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.arange(16)[:, None], 1).mean()

    def loss(one: Any) -> Any:
        logits = one @ other.T * 10
        return (of_rows(logits) + of_rows(logits.T)) / 2

    return jax.value_and_grad(loss)(one)


@workload(
    floats((4, 16, 16, 8), "data"),
    floats((3, 3, 8, 16), None, None, None, "model"),
    floats((3, 3, 16, 8), None, None, "model"),
    floats((8,)),
    xla_bytes=8_192,
)
def block_of_a_diffusion_model(x: Any, down: Any, up: Any, gain: Any) -> Any:
    """Normalize groups of channels, convolve with a stride, and resize."""

    def normalized(x: Any) -> Any:
        groups = x.reshape(*x.shape[:3], 4, -1)
        mean, variance = (f(groups, (1, 2, 4), keepdims=True) for f in (jnp.mean, jnp.var))
        return jax.nn.silu(((groups - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape))

    def convolved(x: Any, kernel: Any, stride: int) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=numbers)

    hidden = jax.image.resize(convolved(normalized(x), down, 2), (4, 16, 16, 16), "nearest")
    return x + convolved(normalized(hidden), up, 1) * gain


@workload(floats((8, 64, 64), "data", "model"), xla_bytes=114_688)
def resized_images(x: Any) -> Any:
    """Resize sharded images up and down."""
    return jax.image.resize(x, (8, 128, 96), "bilinear"), jax.image.resize(x, (8, 32, 32), "cubic")


@workload(floats((4, 64, 16), "data", "model"), xla_bytes=2_240)
def causal_convolution(x: Any) -> Any:
    """Convolve each channel along sharded positions, and accumulate along them."""
    kernel = jnp.linspace(-1, 1, 4 * 16).reshape(4, 1, 16)
    numbers = ("NWC", "WIO", "NWC")
    found = lax.conv_general_dilated(x, kernel, (1,), [(3, 0)], dimension_numbers=numbers, feature_group_count=16)
    return jax.nn.silu(found), jnp.cumsum(x, 1), lax.cummax(x, axis=1)


@workload(
    floats((32, 16), "data"),
    integers((64, 2)),
    floats((64, 4), "data"),
    floats((16, 16), None, "model"),
    floats((4, 16), None, "model"),
    xla_bytes=5_248,
)
def messages_of_a_graph(nodes: Any, edges: Any, features: Any, of_nodes: Any, of_edges: Any) -> Any:
    """Send messages along edges, and take their mean and maximum."""
    source, target = edges[:, 0] % 32, edges[:, 1] % 32
    messages = jax.nn.relu(nodes[source] @ of_nodes + features @ of_edges)
    total, count = (jax.ops.segment_sum(x, target, 32) for x in (messages, jnp.ones(64)))
    largest = jax.ops.segment_max(messages, target, 32)
    return nodes + total / jnp.maximum(count, 1)[:, None] + jnp.where(jnp.isfinite(largest), largest, 0)


@workload(floats((128, 8), "data"), floats((4, 8)), xla_bytes=1_332)
def k_means(points: Any, centers: Any) -> Any:
    """Move centers to the means of their points."""

    def step(centers: Any, _: Any) -> Any:
        distances = ((points[:, None] - centers[None]) ** 2).sum(-1)
        is_own = jax.nn.one_hot(jnp.argmin(distances, -1), 4)
        return (is_own.T @ points) / (is_own.sum(0)[:, None] + 1e-6), distances.min(-1).sum()

    return lax.scan(step, centers, None, length=6)


@workload(floats((128,), "data"), floats((128,), "data"), xla_bytes=None)
def gaussian_process(x: Any, y: Any) -> Any:
    """Factorize the covariance of all pairs of points."""
    covariance = jnp.exp(-0.5 * (x[:, None] - x[None]) ** 2) + jnp.eye(128)
    lower = jnp.linalg.cholesky(covariance)
    weights = jax.scipy.linalg.cho_solve((lower, True), y)
    return covariance @ weights, -0.5 * y @ weights - jnp.log(jnp.diagonal(lower)).sum()


@workload(floats((64,), "data"), floats((64,), "data"), xla_bytes=384)
def kalman_filter(observed: Any, moved: Any) -> Any:
    """Filter a sharded sequence."""

    def step(carried: Any, row: Any) -> Any:
        mean, variance = carried
        mean, variance = mean + row[1], variance + 0.1
        gain = variance / (variance + 0.5)
        mean, variance = mean + gain * (row[0] - mean), (1 - gain) * variance
        return (mean, variance), (mean, variance)

    return lax.scan(step, (0.0, 1.0), (observed, moved))


@workload(floats((64,), "data"), integers((64,), "data"), xla_bytes=276)
def histograms(x: Any, classes: Any) -> Any:
    """Count, sort and look up."""
    counts = jnp.histogram(x, bins=8, range=(-2, 2))[0]
    return counts, jnp.bincount(classes % 5, length=5), jnp.searchsorted(jnp.sort(x), x)


@workload(floats((8, 32, 32), "data", "model"), xla_bytes=2_560)
def heat_equation(heat: Any) -> Any:
    """Exchange heat with neighbors, five times."""

    def step(_: Any, heat: Any) -> Any:
        around = sum(jnp.roll(heat, step, dim) for step in (1, -1) for dim in (1, 2))
        return heat + 0.1 * (around - 4 * heat)

    return lax.fori_loop(0, 5, step, heat)


@workload(floats((64, 64), "data", "model"), xla_bytes=None)
def poisson_equation(density: Any) -> Any:
    """Solve an equation by Fourier transforms along both dims."""
    waves = jnp.fft.fftfreq(64) * 64
    squares = waves[:, None] ** 2 + waves[None] ** 2
    return jnp.fft.ifft2(jnp.fft.fft2(density) / jnp.where(squares == 0, 1, squares)).real


@workload(floats((32, 32), "data", "model"), floats((32,), "data"), floats((32,), "model"), xla_bytes=1_300)
def optimal_transport(costs: Any, supply: Any, demand: Any) -> Any:
    """Scale rows and columns of a matrix in turns."""
    kernel, supply, demand = jnp.exp(-costs), jax.nn.softmax(supply), jax.nn.softmax(demand)

    def step(_: Any, carried: Any) -> Any:
        rows = supply / (kernel @ carried[1])
        return rows, demand / (kernel.T @ rows)

    rows, columns = lax.fori_loop(0, 10, step, (jnp.ones(32), jnp.ones(32)))
    return rows[:, None] * kernel * columns[None]


@workload(
    floats((64, 32), "data"), integers((32, 64), None, "model", dtype=jnp.int8), floats((64,), "model"), xla_bytes=0
)
def quantized_product(x: Any, weight: Any, scales: Any) -> Any:
    """Multiply integers of eight bits, and scale the result."""
    scale = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
    rounded = jnp.round(x / scale).astype(jnp.int8)
    total = lax.dot_general(rounded, weight, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    return total.astype(jnp.float32) * scale * scales


@workload(floats((32, 10), "data"), floats((32, 10), "data"), xla_bytes=0)
def time_warping(one: Any, other: Any) -> Any:
    """Align pairs of sequences by nested loops."""

    def row(earlier: Any, costs: Any) -> Any:
        def cell(left: Any, around: Any) -> Any:
            above, before, cost = around
            found = cost + jnp.minimum(jnp.minimum(above, left), before)
            return found, found

        before = jnp.concatenate([jnp.full((1, 32), 1e9), earlier.T[:-1]])
        _, found = lax.scan(cell, jnp.full(32, 1e9), (earlier.T, before, costs.T))
        return found.T, None

    costs = jnp.abs(one[:, :, None] - other[:, None, :])
    return lax.scan(row, jnp.zeros((32, 10)), costs.transpose(1, 0, 2))[0][:, -1]


@workload(floats((64, 64), "data", "model"), xla_bytes=5_640)
def gradient_of_periodic_differences(field: Any) -> Any:
    """Differentiate a Laplacian of a field that continues at its other ends."""

    def roughness(field: Any) -> Any:
        x = jnp.pad(field, 1, mode="wrap")
        return ((x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * field) ** 2).sum()

    return jax.grad(roughness)(field)


@workload(floats((64, 16), "data"), integers((256,), "data"), integers((256,), "data"), floats((32,)), xla_bytes=21_248)
def graph_attention(nodes: Any, senders: Any, receivers: Any, weights: Any) -> Any:
    """Weigh the neighbors of each node by a softmax over its edges."""
    senders, receivers = senders % 64, receivers % 64
    scores = jax.nn.leaky_relu(jnp.concatenate([nodes[senders], nodes[receivers]], -1) @ weights)
    scores = jnp.exp(scores - jax.ops.segment_max(scores, receivers, 64)[receivers])
    shares = scores / jax.ops.segment_sum(scores, receivers, 64)[receivers]
    return jax.ops.segment_sum(shares[:, None] * nodes[senders], receivers, 64)
