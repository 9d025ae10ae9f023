"""Values that are put together from segments: operations on them, the windows they are read as, and whole proofs."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from support.execution.moved_rows import MESH, concatenated, padded, rotated, sliced
from support.execution.proved_faults import check_proof_and_faults
from support.execution.stencils import stencil
from support.slow_cases import slow_except

from sdy.evidence.proof.concatenation_regions import in_concatenations
from sdy.evidence.proof.known import whole
from sdy.evidence.proof.offsets import at, is_inside, offset
from sdy.evidence.proof.relations import Digit, Segments, View
from sdy.evidence.proof.segments.operations import as_segments, chosen, joined, overwritten, part_of, sent
from sdy.evidence.proof.segments.parts import taken_apart
from sdy.evidence.proof.segments.windows import as_window
from sdy.evidence.proof.small_values import follower
from sdy.evidence.proof.terms import Arguments, Term, TermTable
from sdy.interpreter.arrays.element_types import Array

DEVICES = 4
ANY = -1  # of elements that may be any


class Values:
    """Terms of random values: arguments, a scalar, and what the global program makes of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.table = TermTable()
        self.arrays: dict[Term, Array] = {}
        self.scalar = self.table.make("constant", np.float32(7).tobytes(), (), (), "f32")
        self.arrays[self.scalar] = np.array(7, np.int64)
        self.other = self.table.make("constant", np.float32(9).tobytes(), (), (), "f32")
        self.arrays[self.other] = np.array(9, np.int64)
        rows = self.random.choice([1, 3])
        for number, size in enumerate([8, 12]):
            array = np.arange(1, 1 + rows * size).reshape(rows, size) + 1000 * (number + 1)
            kept = (size,) if rows == 1 else (rows, size)
            term = self.table.make("argument", number, (), kept, "f32")
            self.arrays[term] = array.reshape(kept)
        self.rows = rows
        # Windows have the rows of a term from `row_base` on, or repeat its only one. They may reach over its ends.
        self.local_rows = self.random.choice([1, 2] if rows == 1 else [2, 3])
        over = self.random.choice([0, 1, 2])
        last = max(0, rows - self.local_rows) + over
        self.row_base = offset(tuple(self.random.randint(-over, last) for _ in range(DEVICES)))
        first, second = [each for each in self.arrays if each.op == "argument"]
        parts = [self.sliced(first), self.sliced(second), second]
        self.joined(self.random.sample(parts, 2))
        self.joined([first, first])
        self.padded(self.random.choice([first, parts[0]]))
        self.table.is_recording = False

    def sliced(self, term: Term) -> Term:
        """Return a part of a term along its last dim."""
        size = term.shape[-1]
        start = self.random.randrange(size - 1)
        count = self.random.randint(2, size - start)
        others = tuple((0, each, 1) for each in term.shape[:-1])
        parts = (*others, (start, count, 1))
        found = self.table.make("slice", parts, (term,), (*term.shape[:-1], count), "f32")
        self.table.derive(term, found, parts=parts)
        self.arrays[found] = self.arrays[term][..., start : start + count]
        return found

    def joined(self, terms: Sequence[Term]) -> None:
        """Concatenate terms along their last dim."""
        rank = len(terms[0].shape)
        sizes = tuple(each.shape[-1] for each in terms)
        factors = tuple(((0, 0, 0), (1, 2 + n, 0)) if rank == 2 else ((0, 2 + n, 0),) for n in range(len(terms)))
        result = (-1, -9) if rank == 2 else (-9,)
        arguments = Arguments((1, sizes), factors, result, 0)
        shape = (*terms[0].shape[:-1], sum(sizes))
        found = self.table.make("stablehlo.concatenate", arguments, tuple(terms), shape, "f32")
        self.arrays[found] = np.concatenate([self.arrays[each] for each in terms], -1)
        for each in terms:
            self.table.put_together(each, found)

    def padded(self, term: Term) -> None:
        """Pad a term with the scalar along its last dim."""
        low, high = self.random.randint(0, 4), self.random.randint(0, 4)
        rank = len(term.shape)
        factors = (((0, 0, 0), (1, 2, 0)) if rank == 2 else ((0, 2, 0),), ())
        arguments = Arguments(((1, low, high, 0),), factors, (-1, -9) if rank == 2 else (-9,), 0)
        shape = (*term.shape[:-1], term.shape[-1] + low + high)
        found = self.table.make("stablehlo.pad", arguments, (term, self.scalar), shape, "f32")
        edges = [(0, 0)] * (rank - 1) + [(low, high)]
        self.arrays[found] = np.pad(self.arrays[term], edges, constant_values=7)
        self.table.put_together(term, found)

    def window(self, size: int) -> View:
        """Return a random window of `size` elements along dim 1, with the scalar or any elements outside of a term."""
        term = self.random.choice([each for each in self.arrays if each.shape])
        starts = tuple(self.random.randint(-3, term.shape[-1] - 1) for _ in range(DEVICES))
        view = self.whole(term)
        last = len(term.shape) - 1
        base = tuple(offset(starts) if dim == last else each for dim, each in enumerate(view.base))
        is_over = self.rows > 1 and not is_inside(base[0], self.local_rows, self.rows)
        outside = self.random.choice([self.other if is_over else None, self.scalar])
        return View(term, base, (view.dims[0], (Digit(size, last, 1),)), outside)

    def whole(self, term: Term) -> View:
        """Return a window of some rows of a term, sometimes of those of another place."""
        view = whole(term, (self.rows, term.shape[-1]))
        if self.rows == 1:
            rows = () if self.local_rows == 1 else (Digit(self.local_rows, -1, 0),)
            return View(term, view.base, (rows, *view.dims[1:]))
        rows = Digit(self.local_rows, 0, 1)
        row_base = self.row_base if self.random.random() < 0.7 or self.local_rows == self.rows else 1
        return View(term, (row_base, *view.base[1:]), ((rows,), *view.dims[1:]))

    def of_view(self, view: View, device: int) -> Array:
        """Return the elements of a window on a device."""
        found = np.full(view.shape, ANY, np.int64)
        array = self.arrays[view.term]
        for index in np.ndindex(*view.shape):
            place = [at(each, device) for each in view.base]
            for position, digits in zip(index, view.dims, strict=True):
                for digit in digits:
                    if digit.dim >= 0:
                        place[digit.dim] += position * digit.stride
            if all(0 <= each < size for each, size in zip(place, array.shape, strict=True)):
                found[index] = array[tuple(place)]
            elif view.outside is not None:
                found[index] = self.arrays[view.outside]
        return found

    def of_segments(self, segments: Segments, device: int) -> Array:
        """Return the elements of segments on a device."""
        found: list[Array] = []
        for segment in segments.rows[device]:
            shape = (*segments.shape[:1], segment.size)
            if segment.source < 0:
                found.append(np.full(shape, ANY, np.int64))
                continue
            source = segments.sources[segment.source]
            digits = source.dims[1]
            if not digits or digits[0].dim < 0:
                dims, base = (source.dims[0], (Digit(segment.size, -1, 0),)), source.base
            else:
                (digit,) = digits
                dims = (source.dims[0], (digit._replace(size=segment.size),))
                base = tuple(
                    at(each, device) + segment.start * digit.stride * (dim == digit.dim)
                    for dim, each in enumerate(source.base)
                )
            found.append(self.of_view(View(source.term, base, dims, source.outside), device))
        return np.concatenate(found, 1)


def agree(window: Array, values: Array) -> bool:
    """Return whether what a window says of elements is right."""
    return bool(((window == values) | (window == ANY)).all())


@pytest.mark.parametrize("seed", range(120))
def test_operations_on_segments_are_those_on_their_elements(seed: int) -> None:
    values = Values(seed)
    choose = values.random
    one, two = (values.window(choose.randint(2, 9)) for _ in range(2))
    first, second = (as_segments(each, 1, DEVICES, values.table) for each in (one, two))
    a, b = ([values.of_segments(each, device) for device in range(DEVICES)] for each in (first, second))
    assert all(np.array_equal(values.of_view(one, device), a[device]) for device in range(DEVICES))

    together = joined([first, second])
    wide = [np.concatenate(pair, 1) for pair in zip(a, b, strict=True)]
    starts = offset(tuple(choose.randint(0, wide[0].shape[1] - 2) for _ in range(DEVICES)))
    places = offset(tuple(choose.randint(0, wide[0].shape[1] - b[0].shape[1]) for _ in range(DEVICES)))
    pairs = choose.choice([[(0, 1), (1, 0)], [(3, 0), (0, 2), (1, 1)], [(0, 1), (1, 2), (2, 3), (3, 0)]])
    masks = [[choose.random() < 0.5 for _ in range(wide[0].shape[1])] for _ in range(DEVICES)]
    placed = overwritten(together, second, places)
    sender = {target: source for source, target in pairs}
    for device in range(DEVICES):
        start, place = at(starts, device), at(places, device)
        expected = wide[device].copy()
        expected[:, place : place + b[0].shape[1]] = b[device]
        received = wide[sender[device]] if device in sender else np.full_like(wide[0], 7)
        assert np.array_equal(values.of_segments(together, device), wide[device])
        assert np.array_equal(
            values.of_segments(part_of(together, starts, 2), device), wide[device][:, start : start + 2]
        )
        assert np.array_equal(values.of_segments(placed, device), expected)
        assert np.array_equal(values.of_segments(sent(together, pairs, values.scalar), device), received)
        found = values.of_segments(chosen(masks, together, placed), device)
        assert np.array_equal(found, np.where(masks[device], wide[device], expected))


def test_segments_are_read_as_windows_that_have_their_elements() -> None:
    read = 0
    for seed in range(600):
        values = Values(seed)
        term = values.random.choice([each for each in values.arrays if each.shape])
        view = values.window(values.random.randint(1, 6))
        parts = [as_segments(view, 1, DEVICES, values.table)]
        if values.random.random() < 0.6:  # the next elements of one of the terms
            size = values.random.randint(1, 5)
            start = tuple(values.random.randint(0, term.shape[-1] - 1) for _ in range(DEVICES))
            last = len(term.shape) - 1
            full = values.whole(term)
            for length in (size, values.random.randint(1, 4)):
                base = tuple(offset(start) if dim == last else each for dim, each in enumerate(full.base))
                dims = (full.dims[0], (Digit(length, last, 1),))
                outside = values.random.choice([values.scalar, values.other])
                parts.append(as_segments(View(term, base, dims, outside), 1, DEVICES, values.table))
                start = tuple(each + length for each in start)
            parts = parts[1:] if values.random.random() < 0.7 else parts
        segments = joined(parts)
        window = as_window(segments, values.table)
        if window is not None:
            read += 1
            assert window.shape == segments.shape
            for device in range(DEVICES):
                assert agree(values.of_view(window, device), values.of_segments(segments, device)), seed
    assert read > 200


def test_terms_are_taken_apart_into_segments_with_their_elements() -> None:
    changed = 0
    for seed in range(300):
        values = Values(seed)
        views = [values.window(values.random.randint(1, 9)) for _ in range(2)]
        segments = joined([as_segments(each, 1, DEVICES, values.table) for each in views])
        parts = taken_apart(segments)
        changed += parts != segments
        for device in range(DEVICES):
            assert np.array_equal(values.of_segments(parts, device), values.of_segments(segments, device)), seed
    assert changed > 100


def test_windows_of_concatenations_have_the_elements_of_those_of_their_operands() -> None:
    found = 0
    for seed in range(400):
        values = Values(seed)
        term = values.random.choice([each for each in values.arrays if each.op in ("argument", "slice")])
        size = values.random.randint(1, term.shape[-1])
        starts = tuple(values.random.randint(0, term.shape[-1] - size) for _ in range(DEVICES))
        full, last = values.whole(term), len(term.shape) - 1
        base = tuple(offset(starts) if dim == last else each for dim, each in enumerate(full.base))
        view = View(term, base, (full.dims[0], (Digit(size, last, 1),)))
        for window in in_concatenations(view, values.table):
            found += 1
            assert window.shape == view.shape
            assert window.term.op == "stablehlo.concatenate"
            for device in range(DEVICES):
                assert np.array_equal(values.of_view(window, device), values.of_view(view, device)), seed
    assert found > 200


def test_segments_are_read_as_windows_of_values_that_are_joined_along_another_dim() -> None:
    """Rows of one argument stand between other rows; columns of the result are put together on devices."""
    values = Values(0)
    one, two = (values.table.make("argument", number, (), (4, 8), "f32") for number in (8, 9))
    for number, term in enumerate((one, two)):
        values.arrays[term] = 100 * number + np.arange(32).reshape(4, 8)
    values.table.is_recording = True
    rows = Arguments((0, (4, 4)), (((0, 9, 0), (1, 1, 0)), ((0, 10, 0), (1, 1, 0))), (-9, -2), 0)
    stacked = values.table.make("stablehlo.concatenate", rows, (one, two), (8, 8), "f32")
    columns = Arguments((1, (8, 8)), (((0, 0, 0), (1, 9, 0)), ((0, 0, 0), (1, 10, 0))), (-1, -9), 0)
    wide = values.table.make("stablehlo.concatenate", columns, (stacked, stacked), (8, 16), "f32")
    for parts, joined_term, axis in (((one, two), stacked, 0), ((stacked, stacked), wide, 1)):
        values.arrays[joined_term] = np.concatenate([values.arrays[each] for each in parts], axis)
        for part in parts:
            values.table.put_together(part, joined_term)
    values.table.is_recording = False
    dims = ((Digit(2, 0, 1),), (Digit(3, 1, 1),))
    end, begin = View(two, (1, 5), dims), View(two, (1, 0), dims)
    segments = joined([as_segments(each, 1, DEVICES, values.table) for each in (end, begin)])
    window = as_window(segments, values.table)
    assert window is not None
    assert window.term is wide
    assert np.array_equal(values.of_view(window, 0), values.of_segments(segments, 0))
    other = View(one, (1, 0), dims)  # of other rows
    mixed = joined([as_segments(each, 1, DEVICES, values.table) for each in (end, other)])
    assert as_window(mixed, values.table) is None


def test_a_window_over_the_end_of_a_slice_has_no_elements_of_what_is_sliced() -> None:
    values = Values(0)
    term = values.table.make("argument", 9, (), (4, 8), "f32")
    part = values.table.make("slice", ((1, 2, 1), (0, 8, 1)), (term,), (2, 8), "f32")
    values.arrays[term] = np.arange(32).reshape(4, 8)
    values.arrays[part] = values.arrays[term][1:3]
    dims = ((Digit(3, 0, 1),), (Digit(4, 1, 1),))
    of_part, of_whole = View(part, (-2, 0), dims, values.scalar), View(term, (-1, 4), dims, values.scalar)
    segments = joined([as_segments(each, 1, DEVICES, values.table) for each in (of_part, of_whole)])
    assert as_window(segments, values.table) is None
    window = as_window(as_segments(of_part, 1, DEVICES, values.table), values.table)
    assert window is not None
    assert np.array_equal(values.of_view(window, 0), values.of_view(of_part, 0))


def test_a_window_over_the_end_of_a_dim_tells_nothing_of_arbitrary_elements_along_another_one() -> None:
    values = Values(0)
    term = values.table.make("argument", 9, (), (4, 8), "f32")
    values.arrays[term] = np.arange(32).reshape(4, 8)
    dims = ((Digit(3, 0, 1),), (Digit(4, 1, 1),))
    over, beyond = View(term, (-1, 4), dims, values.scalar), View(term, (0, 8), dims, None)
    segments = joined([as_segments(each, 1, DEVICES, values.table) for each in (over, beyond)])
    window = as_window(segments, values.table)
    assert window is not None
    assert agree(values.of_view(window, 0), values.of_segments(segments, 0))
    assert values.of_segments(segments, 0)[0, -1] == ANY


CROSS = [(1, 0), (-1, 0), (0, 1), (0, -1)]
SQUARE = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1)]
STAR = [(1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0)]
X, YX = '[{"x"}, {}]', '[{"y", "x"}, {}]'
SHIFTED = f"""
sdy.mesh @m = {MESH}
func.func @main(%a: tensor<64x3xf32> {{sdy.sharding = #sdy.sharding<@m, {X}>}})
    -> (tensor<63x3xf32>, tensor<63x3xf32>) {{
  %0 = stablehlo.slice %a [0:63, 0:3] : (tensor<64x3xf32>) -> tensor<63x3xf32>
  %1 = stablehlo.slice %a [1:64, 0:3] : (tensor<64x3xf32>) -> tensor<63x3xf32>
  return %0, %1 : tensor<63x3xf32>, tensor<63x3xf32>
}}"""
PUT_BEFORE_AND_AFTER = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<3xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %first = FIRST : (OPERAND) -> tensor<1x3xf32>
  %last = stablehlo.slice %a [63:64, 0:3] : (tensor<64x3xf32>) -> tensor<1x3xf32>
  %2 = stablehlo.concatenate %first, %a, %last, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
    : (tensor<1x3xf32>, tensor<64x3xf32>, tensor<1x3xf32>) -> tensor<66x3xf32>
  %3 = stablehlo.tanh %2 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<66x3xf32>
  %r = stablehlo.reduce(%3 init: %one) applies stablehlo.add across dimensions = [0]
    : (tensor<66x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}"""
ONES = PUT_BEFORE_AND_AFTER.replace("FIRST", "stablehlo.broadcast_in_dim %one, dims = []").replace(
    "OPERAND", "tensor<f32>"
)
EDGES = PUT_BEFORE_AND_AFTER.replace("FIRST", "stablehlo.slice %a [0:1, 0:3]").replace("OPERAND", "tensor<64x3xf32>")
ROTATED_PART = f"""
sdy.mesh @m = {MESH}
func.func @main(%a: tensor<2x64x3xf32> {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{"x"}}, {{}}]>}})
    -> (tensor<64x3xf32> {{sdy.sharding = #sdy.sharding<@m, {X}>}}) {{
  %0 = stablehlo.slice %a [1:2, 0:64, 0:3] : (tensor<2x64x3xf32>) -> tensor<1x64x3xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x64x3xf32>) -> tensor<64x3xf32>
  %2 = stablehlo.slice %1 [63:64, 0:3] : (tensor<64x3xf32>) -> tensor<1x3xf32>
  %3 = stablehlo.slice %1 [0:63, 0:3] : (tensor<64x3xf32>) -> tensor<63x3xf32>
  %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1x3xf32>, tensor<63x3xf32>) -> tensor<64x3xf32>
  return %4 : tensor<64x3xf32>
}}"""
ROWS = '{sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}'
REFLECTED = f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x3xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) -> tensor<3xf32> {{
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.slice %a [1:2, 0:3] : (tensor<64x3xf32>) -> tensor<1x3xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<1x3xf32>
  %2 = stablehlo.concatenate %1, %a, dim = 0 {ROWS} : (tensor<1x3xf32>, tensor<64x3xf32>) -> tensor<65x3xf32>
  %3 = stablehlo.slice %2 [63:64, 0:3] : (tensor<65x3xf32>) -> tensor<1x3xf32>
  %4 = stablehlo.reverse %3, dims = [0] : tensor<1x3xf32>
  %5 = stablehlo.concatenate %2, %4, dim = 0 {ROWS} : (tensor<65x3xf32>, tensor<1x3xf32>) -> tensor<66x3xf32>
  %6 = stablehlo.tanh %5 {ROWS} : tensor<66x3xf32>
  %r = stablehlo.reduce(%6 init: %one) applies stablehlo.add across dimensions = [0]
    : (tensor<66x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}}"""
EXCHANGES = {
    "a row of ones before, the last one after": ONES,
    "the first row before, the last one after": EDGES,
    "all elements but the first or the last one": SHIFTED,
    "the first half": sliced(64, 0, 32, X),
    "the second half": sliced(64, 32, 64, YX),
    "elements across shards": sliced(64, 9, 33, X),
    "sub-axes": sliced(64, 8, 40, '[{"x":(2)2, "y"}, {}]'),
    "padding after": padded(32, 0, 32, X),
    "padding before": padded(32, 32, 0, YX),
    "padding on both sides": padded(32, 4, 28, X),
    "two operands": concatenated([32, 32], X),
    "three operands": concatenated([16, 8, 8], YX),
    "a rotation within a shard": rotated(64, 4, X),
    "a rotation by more than a shard": rotated(64, 20, X),
    "a rotation of one of two arrays": ROTATED_PART,
    "rows next to the edges, reflected": REFLECTED,
    "a periodic stencil": stencil("wrap", (32, 24), (0, 1), CROSS, '[{"x"}, {"y"}]', MESH),
    "a periodic stencil with corners": stencil("wrap", (32, 24), (0, 1), SQUARE, '[{"x"}, {"y"}]', MESH),
    "a stencil with edges": stencil("edge", (32, 24), (0, 1), CROSS, '[{"x"}, {"y"}]', MESH),
    "a stencil with reflected rows": stencil("reflect", (32, 6), (0, 1), CROSS, X, MESH),
    "a periodic stencil in space": stencil("wrap", (16, 8, 4), (0, 1, 2), STAR, '[{"x"}, {"y"}, {}]', MESH),
}


@pytest.mark.parametrize("faults", slow_except([8], [8, 40]))
@pytest.mark.parametrize("name", EXCHANGES)
def test_exchanges_are_proved_without_following_elements(
    name: str, faults: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "MOST_ELEMENTS", 0)
    check_proof_and_faults(EXCHANGES[name], faults=faults, seeds=2)
