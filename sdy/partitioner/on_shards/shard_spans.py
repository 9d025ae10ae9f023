"""Which elements of other shards each shard of a slice or a pad needs, where shards send each other what they lack.

Numbers alone: positions count along the dim, and in a span from the first element of a device's own shard on. Devices
all send the same positions of their shards to those that are equally many shards away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of

Table = tuple[int, ...]  # one entry a shard
SpanAlong = Callable[[int, int], "Span | None"]


@dataclass(frozen=True, slots=True)
class Piece:
    """`length` positions of the shard that is `distance` shards ahead, from `start` on.

    Where `pairs`, of sender and receiver, are empty, nobody needs what is there, unless the distance is 0.
    """

    distance: int
    start: int
    length: int
    pairs: tuple[tuple[int, int], ...]

    @property
    def is_sent(self) -> bool:
        """Whether another device has it."""
        return self.distance != 0 and bool(self.pairs)


@dataclass(frozen=True, slots=True)
class Span:
    """What lies side by side on every device, and where each device's `length` positions of the result begin in it.

    In the whole result, elements are from `first` to before `end`. Positions around them, which are in no shard, hold
    zeros.
    """

    pieces: tuple[Piece, ...]
    starts: Table
    length: int
    first: int
    end: int

    @property
    def is_full(self) -> bool:
        """Whether there is an element everywhere in the result."""
        return self.first <= 0 and self.end >= self.length * len(self.starts)

    @property
    def permutes(self) -> int:
        """How many pieces are sent."""
        return sum(piece.is_sent for piece in self.pieces)

    @property
    def received(self) -> int:
        """Positions that each device is sent."""
        return sum(piece.length for piece in self.pieces if piece.is_sent)


def spans_of(op: SliceOp | PadOp) -> SpanAlong:
    """Of an op with whole tensors, a function of a dim and of the number of its shards: the span, if there is one."""
    sizes, results = shape_of(op.operand), shape_of(op.result)
    moved = [_moved_by(op, dim) for dim in range(len(sizes))]

    def span_along(dim: int, count: int) -> Span | None:
        size, result, by = sizes[dim], results[dim], moved[dim]
        if by is None or not size or not result or size % count or result % count:
            return None
        return span(by, size // count, result // count, count)

    return span_along


def _moved_by(op: SliceOp | PadOp, dim: int) -> int | None:
    """How far the elements of a whole tensor move along `dim`; None where gaps come between them, or some go."""
    steps, still = (op.strides, 1) if isinstance(op, SliceOp) else (op.interior_padding, 0)
    if ints_of(steps)[dim] != still:
        return None
    return -ints_of(op.start_indices)[dim] if isinstance(op, SliceOp) else ints_of(op.edge_padding_low)[dim]


@lru_cache(maxsize=1024)
def span(moved: int, shard: int, result_shard: int, count: int) -> Span:
    """The span of shards of a dim whose elements all move by `moved`, into shards of another size.

    >>> for piece in span(-1, shard=16, result_shard=16, count=4).pieces:
    ...     print(piece.distance, piece.start, piece.length, piece.pairs)
    0 1 15 ()
    1 0 1 ((1, 0), (2, 1), (3, 2))
    """
    begins = tuple(place * (result_shard - shard) - moved for place in range(count))
    first, end = min(begins), max(begins) + result_shard
    pieces = [
        piece
        for distance in range(first // shard, -(-end // shard))
        for piece in _pieces_of(distance, shard, begins, result_shard)
    ]
    starts = tuple(begin - first for begin in begins)
    return Span(tuple(pieces), starts, result_shard, moved, moved + shard * count)


def _pieces_of(distance: int, shard: int, begins: Table, length: int) -> Iterator[Piece]:
    """What of the shard that is `distance` ahead is in the span: what some device needs, and what is around it."""
    own = distance * shard
    low, high = max(own, min(begins)), min(own + shard, max(begins) + length)
    receivers = [
        place
        for place, begin in enumerate(begins)
        if 0 <= place + distance < len(begins) and begin < high and low < begin + length
    ]
    needed_from = max(low, min((begins[place] for place in receivers), default=high))
    needed_to = min(high, max((begins[place] + length for place in receivers), default=high))
    pairs = tuple((place + distance, place) for place in receivers) if distance else ()
    for start, limit, own_pairs in ((low, needed_from, ()), (needed_from, needed_to, pairs), (needed_to, high, ())):
        if start < limit:
            yield Piece(distance, start - own, limit - start, own_pairs)
