"""Frozen values that compute their hash once, so that tables keyed by them stay cheap."""

from __future__ import annotations

from typing import ClassVar


class CachedHash:
    """Base of a frozen, slotted dataclass that keeps its hash.

    A subclass says `__hash__ = CachedHash.__hash__`, or `dataclass` would generate one that hashes every field
    at every call. The kept hash is no field: it takes no part in equality, and pickling leaves it behind (string
    hashes differ between processes).
    """

    __slots__ = ("_hash",)
    __match_args__: ClassVar[tuple[str, ...]]
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            value = hash(tuple([getattr(self, name) for name in self.__match_args__]))
            object.__setattr__(self, "_hash", value)
            return value
