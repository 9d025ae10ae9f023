"""Shardings said in another order of devices."""

from __future__ import annotations

from sdy.grammar.parse import parse_mesh, parse_sharding
from sdy.grammar.write import write_sharding
from sdy.partitioner.reshard.device_order import restated

MESH = parse_mesh('<["a"=4, "b"=2]>')
TURNED = parse_mesh('<["a"=4, "b"=2], device_ids=[0, 4, 1, 5, 2, 6, 3, 7]>')


def said(text: str) -> str | None:
    found = restated(parse_sharding(text), MESH, "t", TURNED)
    return None if found is None else write_sharding(found)


def test_axes_become_sub_axes_of_others() -> None:
    # In the turned order "b" goes through the major half of "a", and "a" through the rest.
    assert said('<@m, [{"a"}, {"b"}]>') == '<@t, [{"b", "a":(1)2}, {"a":(2)2}]>'


def test_a_tensor_without_cuts_is_the_same_in_any_order() -> None:
    assert said("<@m, [{}, {}]>") == "<@t, [{}, {}]>"


def test_partial_values_do_not_move_to_other_axes() -> None:
    assert said('<@m, [{}], unreduced={"b"}>') is None


def test_no_sharding_puts_the_same_shards_in_an_order_without_order() -> None:
    mixed = parse_mesh('<["a"=4, "b"=2], device_ids=[3, 1, 4, 0, 5, 7, 2, 6]>')
    assert restated(parse_sharding('<@m, [{"a"}]>'), MESH, "x", mixed) is None
