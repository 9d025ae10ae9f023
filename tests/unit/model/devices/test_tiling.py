"""Transfers of shards between devices."""

from __future__ import annotations

from sdy.grammar.parse import parse_mesh, parse_sharding
from sdy.model.devices.tiling import shard_coordinates, source_target_pairs
from sdy.model.sharding import TensorSharding

MESH = parse_mesh('<["a"=2, "m"=2, "b"=2]>')


def sharding(text: str) -> TensorSharding:
    return parse_sharding(f"<@mesh, {text}>")


def test_a_device_that_has_its_shard_keeps_it() -> None:
    pairs = source_target_pairs(sharding('[{"a"}]'), MESH, sharding('[{"b"}]'), MESH)
    at = {
        coordinate: shard_coordinates(sharding(coordinate).dims[0].axes, MESH) for coordinate in ('[{"a"}]', '[{"b"}]')
    }
    kept = {device for device in range(8) if at['[{"a"}]'][device] == at['[{"b"}]'][device]}
    assert len(kept) == 4
    assert {sender for sender, receiver in pairs if sender == receiver} == kept


def test_devices_keep_their_coordinates_along_unused_axes() -> None:
    pairs = source_target_pairs(sharding('[{"a"}]'), MESH, sharding('[{"b"}]'), MESH)
    along_m = shard_coordinates(sharding('[{"m"}]').dims[0].axes, MESH)
    assert sorted(receiver for _, receiver in pairs) == list(range(8))
    assert all(along_m[sender] == along_m[receiver] for sender, receiver in pairs)


def test_another_device_order_may_need_no_transfer() -> None:
    turned = parse_mesh('<["a"=2, "m"=2, "b"=2], device_ids=[0, 4, 2, 6, 1, 5, 3, 7]>')
    pairs = source_target_pairs(sharding('[{"a"}]'), MESH, sharding('[{"b"}]'), turned)
    assert all(sender == receiver for sender, receiver in pairs)


def test_sub_axes_of_different_splits_are_exchanged() -> None:
    mesh = parse_mesh('<["a"=2, "u"=6]>')
    source, target = sharding('[{"u":(1)3}]'), sharding('[{"u":(2)3}]')
    held, wanted = (shard_coordinates(each.dims[0].axes, mesh) for each in (source, target))
    pairs = source_target_pairs(source, mesh, target, mesh)
    assert [receiver for _, receiver in sorted(pairs, key=lambda pair: pair[1])] == list(range(12))
    assert sorted(sender for sender, _ in pairs) == list(range(12))
    assert all(held[sender] == wanted[receiver] for sender, receiver in pairs)
    assert all(sender // 6 == receiver // 6 for sender, receiver in pairs)
