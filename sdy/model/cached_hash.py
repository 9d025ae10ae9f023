"""A base class for frozen values that compute their hash once, so that dictionaries keyed by them stay cheap."""

from __future__ import annotations

from typing import ClassVar


class CachedHash:
    """Base of a frozen, slotted dataclass that caches its hash.

    A subclass must set `__hash__ = CachedHash.__hash__`; otherwise `dataclass` generates one that hashes every field at
    each call. The cached hash is not a field: equality ignores it, and pickling drops it, since string hashes differ
    between processes.
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
