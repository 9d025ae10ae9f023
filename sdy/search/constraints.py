"""The sharding constraints of a plan by source line, as a user writes them: equal layers share a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sdy.grammar.partition_spec import write_partition_spec
from sdy.model.sharding import TensorSharding


class PlannedValue(NamedTuple):
    """A value with its sharding: an argument, a result, or a value inside. `source` is its line, or empty."""

    name: str
    type: str
    sharding: TensorSharding
    source: str = ""

    @property
    def is_sharded(self) -> bool:
        """Return whether a dim is sharded."""
        return any(dim.axes for dim in self.sharding.dims)

    @property
    def spec(self) -> str:
        """The sharding as a PartitionSpec of JAX."""
        return write_partition_spec(self.sharding)


class Constraint(NamedTuple):
    """One `with_sharding_constraint` of a program: its line, the type and PartitionSpec, and the values it stands for.

    `source` is `train.py:12`, `line 7` of a text, or empty if the line is unknown. Several values of a line with other
    types or PartitionSpecs are constraints of their own.
    """

    source: str
    type: str
    spec: str
    values: tuple[str, ...]


def by_line(values: Iterable[PlannedValue]) -> list[Constraint]:
    """Return the constraints for values inside a program, in the order of the first value of each."""
    found: dict[tuple[str, ...], list[str]] = {}
    for value in values:
        own = () if value.source else (value.name,)
        found.setdefault((value.source, value.type, value.spec, *own), []).append(value.name)
    return [Constraint(key[0], key[1], key[2], tuple(names)) for key, names in found.items()]
