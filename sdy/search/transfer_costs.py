"""The costs of bringing values from one layout to another, on a machine.

A transfer reduces partial values and reshards, with the collectives that the partitioner would use. Their bytes are
shares of the bytes of the global tensor, so each pair of layouts is planned once, whatever the size of the tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from sdy.cost.collectives import CollectiveKind, DeviceGroup, bytes_sent
from sdy.cost.hardware import Hardware, Switch
from sdy.cost.machine_layout import MachineLayout
from sdy.model.axis import AxisList, overlaps
from sdy.model.axis_list import sharded_size
from sdy.model.collective import AllGather, AllSlice, AllToAll, CollectivePermute
from sdy.model.devices.tiling import shard_coordinates, source_target_pairs
from sdy.model.mesh_digits import DigitsPerDim, DigitTuple, NumberedDigits, mesh_digits
from sdy.model.shape import StaticShape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.layout_search.layout import Layout, TensorSize
from sdy.partitioner.layout_search.reduction import Reduction
from sdy.partitioner.layout_search.transfer import Patterns, Transfers
from sdy.partitioner.network.cost_network import Table
from sdy.partitioner.reshard.plan import plan
from sdy.partitioner.reshard.steps import Reshape


class CollectiveRate(NamedTuple):
    """The cost of a collective per byte of the global tensor: bytes sent and seconds; and the seconds that it adds.

    `ramped` is the share of the global tensor that a message has if it takes time to reach its full bandwidth, else 0.
    """

    bytes_sent: float
    seconds: float
    latency: float
    ramped: float = 0.0


class TransferRates(NamedTuple):
    """The collectives of a transfer, and its kernels: how many, and the bytes that each accesses.

    Bytes are shares of those of the global tensor.
    """

    collectives: tuple[CollectiveRate, ...]
    accessed: float = 0.0
    kernels: int = 0


class Objective(NamedTuple):
    """The weights of seconds and of bytes sent in a cost.

    `latency` is the share of the latency of a collective that counts: the partitioner combines collectives, so that
    several have the latency of one.
    """

    seconds: float = 1.0
    bytes_sent: float = 0.0
    latency: float = 1.0


class _RateTables(NamedTuple):
    """The rates of the transfers between some sources (rows) and targets (columns); by collective along dim 0."""

    seconds: NDArray[np.float64]
    latency: NDArray[np.float64]
    ramped: NDArray[np.float64]
    accessed: Table
    kernels: Table
    bytes_sent: Table
    is_possible: NDArray[np.bool_]


MESH = "mesh"  # the plans do not depend on the name
NOTHING = TransferRates(())


class TransferCosts:
    """The transfers between layouts on the axes of one mesh."""

    def __init__(self, digits: NumberedDigits, hardware: Hardware) -> None:
        self._digits = digits
        self._hardware = hardware
        self._machine = MachineLayout(digits.mesh, hardware.network)
        self._transfers = Transfers(digits, Patterns())
        self._known: dict[object, TransferRates | None] = {}
        self._tables: dict[object, _RateTables] = {}
        self._known_groups: dict[AxisList, Sequence[DeviceGroup]] = {}

    def forget_tables(self) -> None:
        """Free the memory of all tables. The rates in them are kept."""
        self._tables.clear()

    def table(self, sources: Sequence[Layout], targets: Sequence[Layout], size: float, objective: Objective) -> Table:
        """Return the cost of each transfer of a tensor of `size` bytes; infinite if it is impossible."""
        key = tuple(sources), tuple(targets)
        if key not in self._tables:
            self._tables[key] = self._rate_tables(sources, targets)
        rates = self._tables[key]
        seconds = (rates.seconds * size + objective.latency * rates.latency).sum(axis=0)
        network = self._hardware.network
        if isinstance(network, Switch) and network.ramp_seconds:
            ramped = rates.ramped * size
            seconds += (network.ramp_seconds * ramped / (ramped + network.ramp_bytes)).sum(axis=0)
        kernels = self._hardware.kernels
        seconds += rates.accessed * size / (self._hardware.hbm_bandwidth * kernels.hbm_efficiency)
        seconds += rates.kernels * kernels.start_seconds
        costs = objective.seconds * seconds + objective.bytes_sent * size * rates.bytes_sent
        return np.where(rates.is_possible, costs, inf)

    def _rate_tables(self, sources: Sequence[Layout], targets: Sequence[Layout]) -> _RateTables:
        examples, kinds = _kinds_of_transfers(sources, targets)
        rates = [self._rates(sources[source], targets[target]) for source, target in examples]
        count = max((len(each.collectives) for each in rates if each), default=0)
        by_step, plain = np.zeros((3, count, len(rates))), np.zeros((3, len(rates)))
        for kind, each in enumerate(rates):
            if each is None:
                continue
            plain[:, kind] = each.accessed, each.kernels, sum(rate.bytes_sent for rate in each.collectives)
            for step, rate in enumerate(each.collectives):
                by_step[:, step, kind] = rate.seconds, rate.latency, rate.ramped
        seconds, latency, ramped = by_step[:, :, kinds]
        accessed, kernels, bytes_sent = plain[:, kinds]
        is_possible = np.array([each is not None for each in rates])
        return _RateTables(seconds, latency, ramped, accessed, kernels, bytes_sent, is_possible[kinds])

    def _rates(self, source: Layout, target: Layout) -> TransferRates | None:
        """Return the rates of a transfer; None if a value would become partial."""
        if source == target:
            return NOTHING
        pairs = sorted(pair for pair in zip(source.dims, target.dims, strict=True) if any(pair))
        key = tuple(pairs), source.unreduced, target.unreduced
        if key not in self._known:
            dims = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
            self._known[key] = self._planned(Layout(dims[0], source.unreduced), Layout(dims[1], target.unreduced))
        return self._known[key]

    def _planned(self, source: Layout, target: Layout) -> TransferRates | None:
        if source.unreduced == target.unreduced:
            return _joined(self._reshard(source.dims, target.dims))
        if not set(target.unreduced) <= set(source.unreduced):
            return None
        tensor = TensorSize(self._shape(source.dims), 4)
        reduction = self._transfers.cheapest(source, target, tensor).reduction
        if reduction is None:
            return None
        reduced = self._reduced(source.dims, reduction)
        return _joined([*reduced, *self._reshard(reduction.dims, target.dims)])

    def _shape(self, dims: DigitsPerDim) -> StaticShape:
        """Return a shape whose dims all axes divide, as they do most dims of large programs."""
        return (self._digits.device_count,) * len(dims)

    def _reduced(self, dims: DigitsPerDim, reduction: Reduction) -> Iterator[TransferRates]:
        share = 1 / self._digits.shards(reduction.dims)
        if any(reduction.sliced):
            yield TransferRates((), 2 / (self._digits.shards(dims) * self._digits.shards(reduction.sliced)), 1)
        scattered = tuple(digit for digits in reduction.scattered for digit in digits)
        for kind, digits in (
            (CollectiveKind.REDUCE_SCATTER, scattered),
            (CollectiveKind.ALL_REDUCE, reduction.reduced),
        ):
            if digits:
                yield TransferRates((self._rate(kind, self._groups(self._digits.join(digits)), share),))

    def _reshard(self, dims: DigitsPerDim, target: DigitsPerDim) -> Iterator[TransferRates]:
        sharding, mesh = self._sharding(dims), self._digits.mesh
        for step in plan(sharding, self._sharding(target), self._shape(dims), mesh):
            share = 1 / sharded_size([axis for dim in step.sharding.dims for axis in dim.axes], self._digits.mesh)
            match step.action:
                case AllGather(axes=axes):
                    groups = self._groups(tuple(axis for of_dim in axes for axis in of_dim))
                    # What is gathered along several dims at once must be put in order.
                    ordered = 2 * share if sum(map(bool, axes)) > 1 else 0.0
                    yield TransferRates(
                        (self._rate(CollectiveKind.ALL_GATHER, groups, share),), ordered, int(ordered > 0)
                    )
                case AllToAll(params=params):
                    groups = self._groups(tuple(axis for param in params for axis in param.axes))
                    yield TransferRates((self._rate(CollectiveKind.ALL_TO_ALL, groups, share),))
                case CollectivePermute():
                    groups = source_target_pairs(sharding, mesh, step.sharding, mesh)
                    yield TransferRates((self._rate(CollectiveKind.COLLECTIVE_PERMUTE, groups, share),))
                case AllSlice():
                    yield TransferRates((), 2 * share, 1)
                case Reshape():
                    pass
                case _:
                    assert_never(step.action)
            sharding = step.sharding

    def _rate(self, kind: CollectiveKind, groups: Sequence[DeviceGroup], share: float) -> CollectiveRate:
        """Return the rate of a collective whose result on one device is a share of the global tensor."""
        time = self._machine.time_of(kind, share, groups)
        sent = bytes_sent(kind, max(map(len, groups), default=1), share)
        ramped = share if time.ramp_seconds else 0.0
        return CollectiveRate(sent, time.bandwidth_seconds, time.latency_seconds, ramped)

    def _groups(self, axes: AxisList) -> Sequence[DeviceGroup]:
        """Return the groups of devices that differ only in their positions along some axes."""
        if axes not in self._known_groups:
            digits = mesh_digits(self._digits.mesh)
            others = [ref for ref in digits if not any(overlaps(ref, axis) for axis in axes)]
            groups: dict[int, list[int]] = {}
            for device, coordinate in enumerate(shard_coordinates(tuple(others), self._digits.mesh)):
                groups.setdefault(coordinate, []).append(device)
            self._known_groups[axes] = [tuple(group) for group in groups.values()]
        return self._known_groups[axes]

    def _sharding(self, dims: DigitsPerDim) -> TensorSharding:
        return TensorSharding(MESH, tuple(DimSharding(self._digits.join(digits)) for digits in dims))


def _kinds_of_transfers(
    sources: Sequence[Layout], targets: Sequence[Layout]
) -> tuple[list[tuple[int, int]], NDArray[np.intp]]:
    """Sort the transfers from each source (rows) to each target (columns) into kinds with equal rates.

    Return the numbers of a source and a target per kind, and the table of kinds. Rates do not depend on the order of
    dims, nor on dims that are sharded in neither layout.
    """
    numbers: dict[DigitTuple, int] = {(): 0}

    def numbered(layouts: Sequence[Layout]) -> NDArray[np.int64]:
        rows = [(*layout.dims, layout.unreduced) for layout in layouts]
        return np.array([[numbers.setdefault(digits, len(numbers)) for digits in row] for row in rows])

    before, after = numbered(sources)[:, np.newaxis], numbered(targets)[np.newaxis]
    pairs = before * len(numbers) + after
    pairs[..., :-1].sort(axis=-1)
    _, first, kinds = np.unique(pairs.reshape(-1, pairs.shape[-1]), axis=0, return_index=True, return_inverse=True)
    examples = [divmod(int(index), len(targets)) for index in first]
    return examples, kinds.reshape(len(sources), len(targets))


def _joined(parts: Iterable[TransferRates]) -> TransferRates:
    found = list(parts)
    return TransferRates(
        tuple(rate for part in found for rate in part.collectives),
        sum(part.accessed for part in found),
        sum(part.kernels for part in found),
    )
