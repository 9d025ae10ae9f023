"""The dims along which a gather or scatter takes slices, and the positions of the slices in memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.kernel import KernelContext
from sdy.model.shape import StaticShape

LARGEST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class SliceDims:
    """The dims of one tensor in a gather or scatter.

    Slices have `sizes`. Component j of an index vector is the start along dim `index_map[j]`. Along `batch_dims` the
    start is the position of the index vector along the dims `index_batch_dims` of the indices. The dims in neither
    `batch_dims` nor `dropped` are the dims of the resulting slice.
    """

    shape: StaticShape
    sizes: StaticShape
    index_map: StaticShape
    batch_dims: StaticShape
    index_batch_dims: StaticShape
    dropped: StaticShape

    @property
    def window_dims(self) -> StaticShape:
        """The dims that a slice keeps, in order."""
        return tuple(dim for dim in range(len(self.shape)) if dim not in (*self.batch_dims, *self.dropped))

    @property
    def inner_rank(self) -> int:
        """The number of last dims that every slice contains in full, so that they move as one block."""
        rank = 0
        while rank < len(self.shape):
            dim = len(self.shape) - 1 - rank
            if dim in self.index_map or dim not in self.window_dims or self.sizes[dim] != self.shape[dim]:
                break
            rank += 1
        return rank

    @property
    def outer_window_dims(self) -> StaticShape:
        """The dims that a slice keeps, without those that move as one block."""
        return self.window_dims[: len(self.window_dims) - self.inner_rank]

    @property
    def outer_shape(self) -> StaticShape:
        """The sizes of all dims but those of the block."""
        return self.shape[: len(self.shape) - self.inner_rank]

    @property
    def inner_shape(self) -> StaticShape:
        """The sizes of the dims that move as one block."""
        return self.shape[len(self.shape) - self.inner_rank :]


def index_vectors(context: KernelContext, indices: Array, vector_dim: int) -> IntArray:
    """Return the indices as i64, with the components of an index vector along the last dim."""
    array_dim = context.rank + vector_dim
    vectors = indices[..., np.newaxis] if array_dim == indices.ndim else np.moveaxis(indices, array_dim, -1)
    return signed_indices(vectors)


def signed_indices(indices: Array) -> IntArray:
    """Return the indices as i64; an index too large for i64 becomes one that is too large for any dim."""
    if indices.dtype == np.dtype(np.uint64):
        indices = np.minimum(indices, np.array(LARGEST, np.uint64))
    return indices.astype(np.int64)


def block_positions(
    context: KernelContext, dims: SliceDims, vectors: IntArray, *, clamp: bool
) -> tuple[IntArray, Array]:
    """Return the position in the tensor of each block of each slice, and whether it is in bounds.

    The shape is that of the index vectors, then that of the slices along `outer_window_dims`. With `clamp`, starts are
    clamped so that slices are in bounds.
    """
    rank = context.rank
    index_rank = vectors.ndim - 1 - rank
    outer, kept = dims.outer_shape, dims.outer_window_dims
    positions = np.zeros((1,) * (vectors.ndim - 1 + len(kept)), np.int64)
    inside = np.ones(positions.shape, np.bool_)
    for dim, size in enumerate(outer):
        along = np.zeros((1,) * positions.ndim, np.int64)
        if dim in dims.index_map:
            start = vectors[..., dims.index_map.index(dim)]
            start = np.clip(start, 0, size - dims.sizes[dim]) if clamp else start
            along = along + start.reshape(start.shape + (1,) * len(kept))
        if dim in dims.batch_dims:
            index_dim = dims.index_batch_dims[dims.batch_dims.index(dim)]
            along = along + _iota(vectors.shape[rank + index_dim], rank + index_dim, positions.ndim)
        if dim in kept:
            along = along + _iota(dims.sizes[dim], rank + index_rank + kept.index(dim), positions.ndim)
        inside = inside & (along >= 0) & (along < size)
        positions = positions + along * prod(outer[dim + 1 :])
    leading = vectors.shape[:rank]
    shape = (*leading, *vectors.shape[rank:-1], *(dims.sizes[dim] for dim in kept))
    return np.broadcast_to(positions, shape), np.broadcast_to(inside, shape)


def _iota(size: int, dim: int, rank: int) -> IntArray:
    """Return 0, 1, 2, ... along `dim`."""
    return np.arange(size).reshape(tuple(size if index == dim else 1 for index in range(rank)))
