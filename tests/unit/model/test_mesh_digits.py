"""The prime digits of a mesh, and the positions of devices in terms of them."""

from __future__ import annotations

from math import prod

import pytest

from sdy.grammar.parse import parse_axis_ref, parse_mesh
from sdy.grammar.write import write_axis_list
from sdy.model.mesh_digits import Digit, device_stride, digit_of, mesh_digits, prime_digits, prime_factors

MESH = parse_mesh('<["a"=2, "one"=1, "u"=12, "p"=7]>')


@pytest.mark.parametrize(
    ("number", "factors"), [(1, ()), (2, (2,)), (12, (2, 2, 3)), (49, (7, 7)), (97, (97,)), (210, (2, 3, 5, 7))]
)
def test_prime_factors_are_ascending(number: int, factors: tuple[int, ...]) -> None:
    assert prime_factors(number) == factors


@pytest.mark.parametrize(
    ("ref", "digits"),
    [
        ('"a"', '{"a"}'),
        ('"one"', "{}"),
        ('"u"', '{"u":(1)2, "u":(2)2, "u":(4)3}'),
        ('"u":(1)6', '{"u":(1)2, "u":(2)3}'),
        ('"u":(3)4', '{"u":(3)2, "u":(6)2}'),
        ('"p"', '{"p"}'),
    ],
)
def test_a_ref_splits_into_digits_of_prime_size(ref: str, digits: str) -> None:
    assert write_axis_list(prime_digits(parse_axis_ref(ref), MESH)) == digits


def test_the_digits_of_a_mesh_cover_all_devices() -> None:
    digits = mesh_digits(MESH)
    assert write_axis_list(digits) == '{"a", "u":(1)2, "u":(2)2, "u":(4)3, "p"}'
    assert prod(map(MESH.size_of, digits)) == MESH.device_count


def test_refs_begin_and_end_between_digits() -> None:
    digits = mesh_digits(MESH, [parse_axis_ref('"u":(3)2')])
    assert write_axis_list(digits) == '{"a", "u":(1)3, "u":(3)2, "u":(6)2, "p"}'


@pytest.mark.parametrize(("ref", "stride"), [('"a"', 84), ('"u"', 7), ('"u":(1)2', 42), ('"u":(2)3', 14), ('"p"', 1)])
def test_the_stride_of_a_ref(ref: str, stride: int) -> None:
    assert device_stride(parse_axis_ref(ref), MESH) == stride


def test_digits_number_the_positions_of_devices() -> None:
    digits = [digit_of(ref, MESH) for ref in mesh_digits(MESH)]
    for position in range(MESH.device_count):
        assert sum(digit.of(position) * digit.stride for digit in digits) == position


def test_the_value_of_a_digit() -> None:
    assert [Digit(size=3, stride=2).of(position) for position in range(8)] == [0, 0, 1, 1, 2, 2, 0, 0]


def test_large_factors_are_not_separated() -> None:
    large = 1_000_003 * 1_000_033
    assert prime_factors(2 * 3 * large) == (2, 3, large)
