"""Shardings expressed in another device order."""

from __future__ import annotations

from sdy.grammar.parse import parse_mesh, parse_sharding
from sdy.grammar.write import write_sharding
from sdy.partitioner.reshard.plan import equivalent_sharding

MESH = parse_mesh('<["a"=4, "b"=2]>')
REORDERED = parse_mesh('<["a"=4, "b"=2], device_ids=[0, 4, 1, 5, 2, 6, 3, 7]>')


def on_other_order(text: str) -> str | None:
    found = equivalent_sharding(parse_sharding(text), MESH, "t", REORDERED)
    return None if found is None else write_sharding(found)


def test_axes_become_sub_axes_of_others() -> None:
    # In the other order, "b" is the major half of "a", and "a" is the rest.
    assert on_other_order('<@m, [{"a"}, {"b"}]>') == '<@t, [{"b", "a":(1)2}, {"a":(2)2}]>'


def test_a_replicated_tensor_is_the_same_in_any_order() -> None:
    assert on_other_order("<@m, [{}, {}]>") == "<@t, [{}, {}]>"


def test_partial_values_do_not_move_to_other_axes() -> None:
    assert on_other_order('<@m, [{}], unreduced={"b"}>') is None


def test_a_shuffled_device_order_has_no_equivalent_sharding() -> None:
    mixed = parse_mesh('<["a"=4, "b"=2], device_ids=[3, 1, 4, 0, 5, 7, 2, 6]>')
    assert equivalent_sharding(parse_sharding('<@m, [{"a"}]>'), MESH, "x", mixed) is None
