"""Shapes of tensors and of their shards."""

from __future__ import annotations

import pytest
from support.model.notation import mesh, sharding

from sdy.model.shape import Shape, global_shape, local_shape

MESH = mesh('<["a"=2, "b"=4]>')


@pytest.mark.parametrize(
    ("shape", "text", "local"),
    [
        ((8, 6), '[{"a", "b"}, {"a"}]', (1, 3)),
        ((7, 6), '[{"b"}, {}]', (2, 6)),  # the last shard is padded
        ((None, 6), '[{"b"}, {"a"}]', (None, 3)),
        ((0,), '[{"a"}]', (0,)),
        ((5, 5), "[]", (5, 5)),
    ],
)
def test_local_shape(shape: Shape, text: str, local: Shape) -> None:
    assert local_shape(shape, sharding(text), MESH) == local


def test_an_uneven_local_shape_can_be_rejected() -> None:
    assert local_shape((7, 6), sharding('[{"b"}, {}]'), MESH, allow_uneven=False) is None
    assert local_shape((8, None), sharding('[{"b"}, {"a"}]'), MESH, allow_uneven=False) == (2, None)


def test_global_shape() -> None:
    assert global_shape((2, None, 5), sharding('[{"b"}, {"a"}, {}]'), MESH) == (8, None, 5)
    assert global_shape((5, 5), sharding("[]"), MESH) == (5, 5)
