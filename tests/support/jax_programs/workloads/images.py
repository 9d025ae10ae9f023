# The edge to JAX, whose array functions have no types:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false
"""Pooling and convolutions of images whose rows and columns are sharded, and their gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from support.jax_programs.workloads.workload import floats, workload

IMAGES = floats((4, 16, 16, 8), None, "data", "model")
ROWS = floats((4, 16, 16, 8), "model", "data")
KERNEL = floats((3, 3, 8, 8))


def _averages(images: Any, stride: int) -> Any:
    return lax.reduce_window(images, 0.0, lax.add, (1, 3, 3, 1), (1, stride, stride, 1), "SAME") / 9


def _convolved(images: Any, kernel: Any, stride: int = 1, padding: str = "SAME") -> Any:
    return lax.conv_general_dilated(
        images, kernel, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


@workload(IMAGES, xla_bytes=1_664)
def max_pooling(images: Any) -> Any:
    """Take the maximum of overlapping windows at every other position, as in a ResNet."""
    return lax.reduce_window(images, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


@workload(IMAGES, xla_bytes=11_776)
def gradient_of_average_pooling(images: Any) -> Any:
    """Differentiate the averages of windows, which JAX writes as windows of a padded value."""
    return jax.grad(lambda images: (_averages(images, 1) ** 2).sum())(images)


@workload(IMAGES, xla_bytes=8_320)
def gradient_of_strided_average_pooling(images: Any) -> Any:
    """Differentiate averages at every other position, which JAX writes with gaps between the elements."""
    return jax.grad(lambda images: (_averages(images, 2) ** 2).sum())(images)


@workload(IMAGES, KERNEL, xla_bytes=8_192)
def convolution_of_padded_images(images: Any, kernel: Any) -> Any:
    """Pad images by `jnp.pad` and convolve them."""
    return _convolved(jnp.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0))), kernel, padding="VALID")


@workload(ROWS, KERNEL, KERNEL, xla_bytes=21_632)
def step_of_residual_block(images: Any, first: Any, second: Any) -> Any:
    """Train the kernels of a residual block; the second convolution takes every other position."""

    def loss(kernels: tuple[Any, Any]) -> Any:
        hidden = jax.nn.relu(_convolved(images, kernels[0])) + images
        return (_convolved(hidden, kernels[1], 2) ** 2).mean()

    gradients = jax.grad(loss)((first, second))
    return first - 0.1 * gradients[0], second - 0.1 * gradients[1]


@workload(floats((8, 64), "data", "model"), xla_bytes=56)
def moving_averages(series: Any) -> Any:
    """Average the last five elements of each, and compare with the largest of the next ones."""
    mean = lax.reduce_window(series, 0.0, lax.add, (1, 5), (1, 1), ((0, 0), (4, 0))) / 5
    return mean, lax.reduce_window(series, -jnp.inf, lax.max, (1, 4), (1, 1), ((0, 0), (0, 3))) - mean


@workload(IMAGES, KERNEL, xla_bytes=23_040)
def convolution_of_periodic_images(images: Any, kernel: Any) -> Any:
    """Convolve images that continue at their other ends."""
    return _convolved(jnp.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="wrap"), kernel, padding="VALID")
