"""Digits, and the price of transfers between layouts."""

from __future__ import annotations

from itertools import permutations, product
from math import inf

import pytest

from sdy.model.axis import AxisRef, SubAxis
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.mesh_digits import DigitsPerDim, NumberedDigits
from sdy.partitioner.layout_search.deliveries import shared_deliveries
from sdy.partitioner.layout_search.layout import Layout, TensorSize
from sdy.partitioner.layout_search.reshard_price import reshard_price
from sdy.partitioner.layout_search.transfer import Patterns, Transfers

MESH = Mesh((MeshAxis("x", 4), MeshAxis("y", 2)))
X, Y = AxisRef("x"), AxisRef("y")
DIGITS = NumberedDigits.of(MESH)  # x is split into digits 0 and 1, y is digit 2
SQUARE = TensorSize((16, 16), 4)  # 1024 bytes


def test_an_axis_is_split_into_its_prime_factors_and_joined_again() -> None:
    assert NumberedDigits.of(Mesh((MeshAxis("z", 12),))).sizes == (2, 2, 3)
    assert DIGITS.split((X, Y)) == (0, 1, 2)
    assert DIGITS.split((AxisRef("x", SubAxis(2, 2)),)) == (1,)
    assert DIGITS.join((0, 1)) == (X,)
    assert DIGITS.join((1, 2)) == (AxisRef("x", SubAxis(2, 2)), Y)


def test_a_ref_that_ends_within_an_digit_is_not_split() -> None:
    assert NumberedDigits.of(Mesh((MeshAxis("z", 6),))).split((AxisRef("z", SubAxis(1, 3)),)) is None


@pytest.mark.parametrize(
    ("source", "target", "price"),
    [
        (((), ()), ((0, 1), (2,)), 0),  # sliced
        (((0, 1), ()), ((), ()), 768),  # all-gather: three quarters of the tensor
        (((0, 1), ()), ((), (0, 1)), 192),  # all-to-all: three quarters of a quarter
        (((0,), ()), ((1,), ()), 512),  # permute of half of the tensor
        (((0, 1), ()), ((0,), ()), 256),
        (((0, 1), (2,)), ((0, 1), (2,)), 0),
    ],
)
def test_the_price_of_a_reshard_is_that_of_its_collectives(
    source: DigitsPerDim, target: DigitsPerDim, price: float
) -> None:
    assert Transfers(DIGITS, Patterns()).price(Layout(source), Layout(target), SQUARE) == price


def test_a_shared_reduction_is_cheaper_than_an_all_reduce() -> None:
    partial, replicated = Layout(((), ()), (0, 1)), Layout(((), ()))
    assert Transfers(DIGITS, Patterns(share=False)).price(partial, replicated, SQUARE) == 1.5 * 1024
    found = Transfers(DIGITS, Patterns()).cheapest(partial, replicated, SQUARE)
    assert found.price == 1.25 * 1024
    assert found.reduction is not None
    assert 2 in {digit for digits in found.reduction.sliced for digit in digits}


def test_a_reduction_to_a_sharded_layout_is_a_reduce_scatter() -> None:
    partial, sharded = Layout(((), ()), (0, 1)), Layout(((0, 1), ()))
    assert Transfers(DIGITS, Patterns()).price(partial, sharded, SQUARE) == 768
    # Without the rewrite too: the slice after an all-reduce is fused with it.
    assert Transfers(DIGITS, Patterns(scatter=False, share=False)).price(partial, sharded, SQUARE) == 768


def test_dims_that_do_not_divide_are_not_scattered() -> None:
    partial, replicated = Layout(((),), (0, 1)), Layout(((),))
    found = Transfers(DIGITS, Patterns()).cheapest(partial, replicated, TensorSize((3,), 4))
    assert found.price == 1.5 * 12
    assert found.reduction is not None
    assert found.reduction.reduced == (0, 1)


def test_a_value_becomes_partial_at_no_cost_once_it_is_unsharded_along_the_axes() -> None:
    transfers, partial = Transfers(DIGITS, Patterns()), Layout(((), ()), (0,))
    assert transfers.price(Layout(((), ())), partial, SQUARE) == 0
    assert transfers.price(Layout(((0,), ())), partial, SQUARE) == 512  # gathered
    assert transfers.price(Layout(((), ()), (2,)), partial, SQUARE) == 1024  # reduced along the other digit


def test_partial_values_are_not_permuted() -> None:
    source, target = Layout(((0,), (1,)), (2,)), Layout(((1,), (0,)), (2,))
    assert Transfers(DIGITS, Patterns()).price(source, target, SQUARE) == inf


def test_each_collective_has_a_fixed_cost() -> None:
    source, target = Layout(((0, 1), ())), Layout(((), ()))
    assert Transfers(DIGITS, Patterns(step_bytes=100)).price(source, target, SQUARE) == 768 + 100
    assert Transfers(DIGITS, Patterns(step_bytes=100)).price(target, source, SQUARE) == 0


def test_prices_do_not_depend_on_numbers_of_digits_and_order_of_dims() -> None:
    transfers = Transfers(NumberedDigits.of(Mesh((MeshAxis("a", 2), MeshAxis("b", 2), MeshAxis("c", 2)))), Patterns())
    source, target = ((0, 1), (), (2,)), ((2,), (0,), (1,))
    tensor = TensorSize((8, 8, 8), 4)
    prices = {
        transfers.price(_renamed(source, names, order), _renamed(target, names, order), tensor)
        for names, order in product(permutations(range(3)), permutations(range(3)))
    }
    assert len(prices) == 1


def test_a_delivery_goes_through_the_cheapest_home() -> None:
    transfers, searched = Transfers(DIGITS, Patterns()), Patterns(recut=False)
    layouts = [Layout(dims) for dims in _all_dims()]
    for layout, first, second in product(layouts, layouts[::3], layouts[::5]):
        needs = frozenset((first, second))
        prices = [
            transfers.price(layout, home, SQUARE)
            + sum(transfers.price(home, need, SQUARE) for need in needs - {layout})
            for home in (layout, first, second)
        ]
        assert shared_deliveries(DIGITS, searched).cheapest(layout, needs, SQUARE).price == min(prices)
    assert shared_deliveries(DIGITS, searched) is shared_deliveries(DIGITS, Patterns(delay=False))


def _renamed(dims: DigitsPerDim, names: tuple[int, ...], order: tuple[int, ...]) -> Layout:
    return Layout(tuple(tuple(names[digit] for digit in dims[dim]) for dim in order))


def test_no_price_is_below_the_bound() -> None:
    layouts = [Layout(dims) for dims in _all_dims()]
    transfers = Transfers(DIGITS, Patterns())
    for source, target in product(layouts, layouts):
        assert transfers.price(source, target, SQUARE) >= transfers.bound(source, target, SQUARE)


def test_no_price_is_above_that_of_a_full_gather() -> None:
    for source, target in product(_all_dims(), _all_dims()):
        price, _ = reshard_price(source, target, DIGITS.sizes)
        count = DIGITS.shards(source)
        assert price <= count - 1  # in shards: a device receives all other shards


def _all_dims() -> list[DigitsPerDim]:
    """Return all shardings of two dims along some of the three digits."""
    found: set[DigitsPerDim] = set()
    for order in permutations(range(3)):
        for first, second in product(range(4), repeat=2):
            if first + second <= 3:
                found.add((order[:first], order[first : first + second]))
    return sorted(found)
