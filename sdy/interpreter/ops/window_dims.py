"""Which dims of a tensor a gather or scatter takes slices along, and where in memory the slices begin."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.kernel import KernelContext, Shape

LARGEST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class SliceDims:
    """The dims of one tensor in a gather or scatter.

    Slices have `sizes`. They begin where the index vector says: its component j is the start along dim `index_map[j]`.
    Along `batch_dims` the start is the place of the index vector along the dims `index_batch_dims` of the indices.
    Dims neither in `batch_dims` nor in `dropped` are dims of the slice as it is handed out.
    """

    shape: Shape
    sizes: Shape
    index_map: Shape
    batch_dims: Shape
    index_batch_dims: Shape
    dropped: Shape

    @property
    def window_dims(self) -> Shape:
        """The dims that a slice keeps, in order."""
        return tuple(dim for dim in range(len(self.shape)) if dim not in (*self.batch_dims, *self.dropped))

    @property
    def inner_rank(self) -> int:
        """How many of the last dims every slice takes whole, so that they move as one block."""
        rank = 0
        while rank < len(self.shape):
            dim = len(self.shape) - 1 - rank
            if dim in self.index_map or dim not in self.window_dims or self.sizes[dim] != self.shape[dim]:
                break
            rank += 1
        return rank

    @property
    def outer_window_dims(self) -> Shape:
        """The dims that a slice keeps, without those that move as one block."""
        return self.window_dims[: len(self.window_dims) - self.inner_rank]

    @property
    def outer_shape(self) -> Shape:
        """The sizes of all dims but those of the block."""
        return self.shape[: len(self.shape) - self.inner_rank]

    @property
    def inner_shape(self) -> Shape:
        """The sizes of the dims that move as one block."""
        return self.shape[len(self.shape) - self.inner_rank :]


def index_vectors(context: KernelContext, indices: Array, vector_dim: int) -> IntArray:
    """The indices with the components of an index vector along the last dim, as i64."""
    place = context.rank + vector_dim
    vectors = indices[..., np.newaxis] if place == indices.ndim else np.moveaxis(indices, place, -1)
    return signed_indices(vectors)


def signed_indices(indices: Array) -> IntArray:
    """The indices as i64; one that is too large for i64 is too large for any dim, and stays so."""
    if indices.dtype == np.dtype(np.uint64):
        indices = np.minimum(indices, np.array(LARGEST, np.uint64))
    return indices.astype(np.int64)


def block_places(context: KernelContext, dims: SliceDims, vectors: IntArray, *, clamp: bool) -> tuple[IntArray, Array]:
    """Which block of the tensor each block of each slice is, and whether it lies within the tensor.

    The shape is that of the index vectors, then that of the slices along `outer_window_dims`. Where `clamp`, slices are
    moved so that they fit.
    """
    rank = context.rank
    index_rank = vectors.ndim - 1 - rank
    outer, kept = dims.outer_shape, dims.outer_window_dims
    places = np.zeros((1,) * (vectors.ndim - 1 + len(kept)), np.int64)
    inside = np.ones(places.shape, np.bool_)
    for dim, size in enumerate(outer):
        along = np.zeros((1,) * places.ndim, np.int64)
        if dim in dims.index_map:
            start = vectors[..., dims.index_map.index(dim)]
            start = np.clip(start, 0, size - dims.sizes[dim]) if clamp else start
            along = along + start.reshape(start.shape + (1,) * len(kept))
        if dim in dims.batch_dims:
            index_dim = dims.index_batch_dims[dims.batch_dims.index(dim)]
            along = along + _iota(vectors.shape[rank + index_dim], rank + index_dim, places.ndim)
        if dim in kept:
            along = along + _iota(dims.sizes[dim], rank + index_rank + kept.index(dim), places.ndim)
        inside = inside & (along >= 0) & (along < size)
        places = places + along * prod(outer[dim + 1 :])
    leading = vectors.shape[:rank]
    whole = (*leading, *vectors.shape[rank:-1], *(dims.sizes[dim] for dim in kept))
    return np.broadcast_to(places, whole), np.broadcast_to(inside, whole)


def _iota(size: int, dim: int, rank: int) -> IntArray:
    """0, 1, 2 and so on along `dim`."""
    return np.arange(size).reshape(tuple(size if place == dim else 1 for place in range(rank)))
