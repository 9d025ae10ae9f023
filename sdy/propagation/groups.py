"""Sharding groups before propagation: the members start from one sharding, where they do not contradict each other.

Source: docs/spec/02, 7.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from sdy.model.sharding import TensorSharding


def constrains_a_dim(sharding: TensorSharding | None) -> bool:
    """Whether a member's sharding counts: it has a dim that is cut or closed."""
    return sharding is not None and any(dim.axes or dim.is_closed for dim in sharding.dims)


def first_conflict(members: Sequence[TensorSharding | None]) -> tuple[TensorSharding, TensorSharding] | None:
    """The first sharding that counts, and the first that differs from it; None where all that count are equal."""
    counting = [sharding for sharding in members if sharding is not None and constrains_a_dim(sharding)]
    other = next((sharding for sharding in counting if sharding != counting[0]), None)
    return None if other is None else (counting[0], other)


def common_sharding(members: Sequence[TensorSharding | None]) -> TensorSharding | None:
    """The sharding that all members start from; None where none of them counts."""
    return next((sharding for sharding in members if sharding is not None and constrains_a_dim(sharding)), None)
