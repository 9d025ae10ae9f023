"""Atoms, and what it costs to bring a value from one layout to another."""

from __future__ import annotations

from itertools import permutations, product
from math import inf

import pytest

from sdy.model.axis import AxisRef, SubAxis
from sdy.model.mesh import Mesh, MeshAxis
from sdy.partitioner.layout_search.layout import Atoms, Dims, Layout, Tensor
from sdy.partitioner.layout_search.patterns import Patterns
from sdy.partitioner.layout_search.reshard_price import reshard_price
from sdy.partitioner.layout_search.transfer import Transfers

MESH = Mesh((MeshAxis("x", 4), MeshAxis("y", 2)))
X, Y = AxisRef("x"), AxisRef("y")
ATOMS = Atoms.of(MESH)  # 0 and 1 make x, 2 is y
SQUARE = Tensor((16, 16), 4)  # 1024 bytes


def test_an_axis_is_split_into_its_prime_factors_and_joined_again() -> None:
    assert Atoms.of(Mesh((MeshAxis("z", 12),))).sizes == (2, 2, 3)
    assert ATOMS.split((X, Y)) == (0, 1, 2)
    assert ATOMS.split((AxisRef("x", SubAxis(2, 2)),)) == (1,)
    assert ATOMS.join((0, 1)) == (X,)
    assert ATOMS.join((1, 2)) == (AxisRef("x", SubAxis(2, 2)), Y)


def test_a_ref_that_cuts_through_an_atom_is_not_split() -> None:
    assert Atoms.of(Mesh((MeshAxis("z", 6),))).split((AxisRef("z", SubAxis(1, 3)),)) is None


@pytest.mark.parametrize(
    ("source", "target", "price"),
    [
        (((), ()), ((0, 1), (2,)), 0),  # cut
        (((0, 1), ()), ((), ()), 768),  # gathered: three quarters of it
        (((0, 1), ()), ((), (0, 1)), 192),  # an all-to-all: three quarters of a quarter
        (((0,), ()), ((1,), ()), 512),  # a permute of half of it
        (((0, 1), ()), ((0,), ()), 256),
        (((0, 1), (2,)), ((0, 1), (2,)), 0),
    ],
)
def test_reshards_cost_what_their_collectives_do(source: Dims, target: Dims, price: float) -> None:
    assert Transfers(ATOMS, Patterns()).price(Layout(source), Layout(target), SQUARE) == price


def test_a_shared_reduction_is_cheaper_than_an_all_reduce() -> None:
    partial, whole = Layout(((), ()), (0, 1)), Layout(((), ()))
    assert Transfers(ATOMS, Patterns(share=False)).price(partial, whole, SQUARE) == 1.5 * 1024
    found = Transfers(ATOMS, Patterns()).way(partial, whole, SQUARE)
    assert found.price == 1.25 * 1024
    assert found.reduction is not None
    assert 2 in {atom for cut in found.reduction.sliced for atom in cut}


def test_a_reduction_that_is_cut_anyway_is_a_reduce_scatter() -> None:
    partial, cut = Layout(((), ()), (0, 1)), Layout(((0, 1), ()))
    assert Transfers(ATOMS, Patterns()).price(partial, cut, SQUARE) == 768
    assert Transfers(ATOMS, Patterns(scatter=False, share=False)).price(partial, cut, SQUARE) == 1536


def test_dims_that_do_not_divide_are_not_scattered() -> None:
    partial, whole = Layout(((),), (0, 1)), Layout(((),))
    found = Transfers(ATOMS, Patterns()).way(partial, whole, Tensor((3,), 4))
    assert found.price == 1.5 * 12
    assert found.reduction is not None
    assert found.reduction.reduced == (0, 1)


def test_what_is_whole_does_not_become_partial() -> None:
    assert Transfers(ATOMS, Patterns()).price(Layout(((),)), Layout(((),), (0,)), Tensor((8,), 4)) == inf


def test_a_step_costs_what_it_is_told_to() -> None:
    source, target = Layout(((0, 1), ())), Layout(((), ()))
    assert Transfers(ATOMS, Patterns(step_bytes=100)).price(source, target, SQUARE) == 768 + 100
    assert Transfers(ATOMS, Patterns(step_bytes=100)).price(target, source, SQUARE) == 0


def test_names_of_atoms_and_order_of_dims_change_no_price() -> None:
    transfers = Transfers(Atoms.of(Mesh((MeshAxis("a", 2), MeshAxis("b", 2), MeshAxis("c", 2)))), Patterns())
    source, target = ((0, 1), (), (2,)), ((2,), (0,), (1,))
    tensor = Tensor((8, 8, 8), 4)
    prices = {
        transfers.price(_renamed(source, names, order), _renamed(target, names, order), tensor)
        for names, order in product(permutations(range(3)), permutations(range(3)))
    }
    assert len(prices) == 1


def _renamed(dims: Dims, names: tuple[int, ...], order: tuple[int, ...]) -> Layout:
    return Layout(tuple(tuple(names[atom] for atom in dims[dim]) for dim in order))


def test_a_price_is_never_below_what_a_device_lacks() -> None:
    layouts = [Layout(dims) for dims in _all_dims()]
    transfers = Transfers(ATOMS, Patterns())
    for source, target in product(layouts, layouts):
        assert transfers.price(source, target, SQUARE) >= transfers.bound(source, target, SQUARE)


def test_gathering_all_and_cutting_is_never_cheaper() -> None:
    for source, target in product(_all_dims(), _all_dims()):
        price, _ = reshard_price(source, target, ATOMS.sizes)
        count = ATOMS.shards(source)
        assert price <= count - 1  # times a shard: all others of it


def _all_dims() -> list[Dims]:
    """Every way to cut two dims by some of the three atoms."""
    found: set[Dims] = set()
    for order in permutations(range(3)):
        for first, second in product(range(4), repeat=2):
            if first + second <= 3:
                found.add((order[:first], order[first : first + second]))
    return sorted(found)
