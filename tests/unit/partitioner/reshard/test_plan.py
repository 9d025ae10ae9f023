"""The steps of plans, for many reshards."""

from __future__ import annotations

import pytest

from sdy.grammar.parse import parse_mesh, parse_sharding
from sdy.grammar.write import write_all_to_all_params, write_axes_per_dim, write_axis_list
from sdy.model.axis import AxisRef
from sdy.model.collective import AllGather, AllSlice, AllToAll
from sdy.model.sharding import TensorSharding
from sdy.partitioner.reshard.plan import plan
from sdy.partitioner.reshard.steps import Plan, PlanStep, Reshape, elements_received

G = '<["p"=2, "q"=4, "r"=2, "s"=2]>'
TWO = '<["a"=2, "b"=2]>'

# mesh, global dims, from, to, steps
CASES: list[tuple[str, tuple[int, ...], str, str, list[str]]] = [
    (G, (64, 64), '{"p"} {"q"}', '{"p"} {"q"}', []),
    (G, (64, 64), '{"p"} {}', '{"p", "q"} {"r"}', ['slice {"q"} {"r"}']),
    (G, (64, 64), '{"p", "r"} {"q"}', "{} {}", ['gather {"p", "r"} {"q"}']),
    # One all-to-all moves axes between several pairs of dims.
    (G, (64, 64, 64, 64), '{"p"} {} {"q"} {}', '{} {"p"} {} {"q"}', ['move {"p"}: 0->1, {"q"}: 2->3']),
    # An axis arrives major to another axis: the dim is split there.
    (
        G,
        (64, 64),
        '{"p"} {}',
        '{} {"p", "q"}',
        ["reshape 64x2x32", 'slice {} {} {"q"}', 'move {"p"}: 0->1', "reshape 64x64"],
    ),
    # Axes of two dims move to one.
    (
        G,
        (16, 16, 16),
        '{"r"} {} {"q"}',
        '{} {"q", "r"} {}',
        ["reshape 16x4x4x16", 'move {"r"}: 0->2, {"q"}: 3->1', "reshape 16x16x16"],
    ),
    # Axes that arrive in the opposite order need no permute.
    (
        TWO,
        (8, 8),
        '{} {"a", "b"}',
        '{"b", "a"} {}',
        ["reshape 2x4x2x4", 'move {"a"}: 2->1, {"b"}: 3->0', "reshape 8x8"],
    ),
    # Each axis moves up by one dim or position.
    (
        TWO,
        (8, 8),
        '{} {"a", "b"}',
        '{"a"} {"b"}',
        ["reshape 8x2x4", 'move {"a"}: 1->0', 'move {"b"}: 2->1', "reshape 8x8"],
    ),
    # Devices swap shards.
    (TWO, (8, 8), '{"a"} {"b"}', '{"b"} {"a"}', ['permute {"b"} {"a"}']),
    # A gather and an all-to-all would send as much, and hold more.
    (TWO, (8, 8), '{"a"} {"b"}', '{} {"a"}', ['permute {"b"} {"a"}', 'gather {"b"} {}']),
    # An axis is replaced by the target axis.
    (TWO, (8, 8), '{"a"} {}', '{"b"} {}', ['permute {"b"} {}']),
    # An idle axis makes the shards of a permute smaller, and is gathered afterwards.
    (
        '<["x"=4, "y"=4, "z"=4]>',
        (64, 64),
        '{} {"x", "y"}',
        '{"x"} {"y"}',
        ['slice {"z"} {}', 'permute {"x"} {"y", "z"}', 'gather {} {"z"}'],
    ),
]


def _sharding(dims: str) -> TensorSharding:
    return parse_sharding(f"<@m, [{', '.join(part + '}' for part in dims.replace('} ', '}').split('}')[:-1])}]>")


def _texts(steps: Plan) -> list[str]:
    return [_text(step) for step in steps]


def _text(step: PlanStep) -> str:
    match step.action:
        case AllGather(axes):
            return "gather " + write_axes_per_dim(axes)[1:-1].replace("}, {", "} {")
        case AllSlice(axes):
            return "slice " + write_axes_per_dim(axes)[1:-1].replace("}, {", "} {")
        case AllToAll(params):
            return "move " + write_all_to_all_params(params)[1:-1]
        case Reshape():
            return "reshape " + "x".join(map(str, step.shape))
        case _:
            return "permute " + " ".join(write_axis_list(dim.axes) for dim in step.sharding.dims)


@pytest.mark.parametrize(("mesh", "shape", "source", "target", "steps"), CASES)
def test_plan(mesh: str, shape: tuple[int, ...], source: str, target: str, steps: list[str]) -> None:
    found = plan(_sharding(source), _sharding(target), shape, parse_mesh(mesh))
    assert _texts(found) == steps


def test_steps_end_at_the_target() -> None:
    source = parse_sharding('<@m, [{"p"}, {?}], unreduced=max{"s"}>')
    target = parse_sharding('<@m, [{}, {"p", "q"}], unreduced=max{"s"}>')
    steps = plan(source, target, (64, 64), parse_mesh(G))
    assert steps[-1].sharding == target
    assert steps[-1].shape == (64, 64)
    assert all(step.sharding.unreduced == target.unreduced for step in steps)


def test_manual_axes_are_not_used() -> None:
    mesh = parse_mesh('<["x"=4, "y"=4, "z"=4]>')
    source, target = _sharding('{} {"x", "y"}'), _sharding('{"x"} {"y"}')
    helped = plan(source, target, (64, 64), mesh)
    alone = plan(source, target, (64, 64), mesh, manual_axes=frozenset({AxisRef("z")}))
    assert any("z" in text for text in _texts(helped))
    assert not any("z" in text for text in _texts(alone))
    assert elements_received(helped, mesh) < elements_received(alone, mesh)


def test_dims_that_do_not_divide_are_gathered_and_sliced() -> None:
    steps = plan(_sharding('{"p"} {}'), _sharding('{} {"q"}'), (7, 64), parse_mesh(G))
    assert _texts(steps) == ['gather {"p"} {}', 'slice {} {"q"}']


def test_an_unchanged_dim_need_not_divide() -> None:
    steps = plan(_sharding('{"p"} {"q"} {}'), _sharding('{"p"} {} {"q"}'), (7, 64, 64), parse_mesh(G))
    assert _texts(steps) == ['move {"q"}: 1->2']


def test_sub_axes_without_a_common_split_are_gathered_and_sliced() -> None:
    mesh = parse_mesh('<["u"=6]>')
    steps = plan(_sharding('{"u":(1)2} {}'), _sharding('{} {"u":(1)3}'), (12, 12), mesh)
    assert _texts(steps) == ['gather {"u":(1)2} {}', 'slice {} {"u":(1)3}']


def test_dims_of_unknown_size_are_not_split() -> None:
    source, target = _sharding('{"p"} {}'), _sharding('{} {"p", "q"}')
    assert any(isinstance(step.action, Reshape) for step in plan(source, target, (64, 64), parse_mesh(G)))
    assert not any(isinstance(step.action, Reshape) for step in plan(source, target, (64, None), parse_mesh(G)))


# Another device order


def test_an_order_that_swaps_axes_has_an_equivalent_sharding() -> None:
    mesh, reordered = parse_mesh(TWO), parse_mesh('<["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>')
    source, target = _sharding('{"a"} {}'), parse_sharding('<@t, [{"b"}, {"a"}]>')
    steps = plan(source, target, (8, 8), mesh, reordered)
    assert _texts(steps) == ['permute {"b"} {}', 'slice {} {"a"}']
    assert [step.sharding.mesh for step in steps] == ["t", "t"]


def test_the_target_may_have_an_equivalent_sharding_in_the_order_of_the_source() -> None:
    mesh, reordered = parse_mesh(TWO), parse_mesh('<["a"=2, "b"=2], device_ids=[0, 1, 3, 2]>')
    source, target = _sharding('{"a"} {"b"}'), parse_sharding('<@t, [{}, {"a"}]>')
    steps = plan(source, target, (8, 8), mesh, reordered)
    assert [step.sharding.mesh for step in steps][-2:] == ["m", "t"]
    assert elements_received(steps[:-1], mesh) <= 32


def test_other_orders_need_a_permute_of_the_smallest_shards() -> None:
    mesh, reordered = parse_mesh(TWO), parse_mesh('<["a"=2, "b"=2], device_ids=[3, 0, 2, 1]>')
    steps = plan(_sharding('{"a"} {}'), parse_sharding('<@t, [{"a"}, {"b"}]>'), (8, 8), mesh, reordered)
    assert _texts(steps) == ['slice {} {"b"}', 'permute {"a"} {"b"}']
    steps = plan(_sharding('{"a"} {"b"}'), parse_sharding('<@t, [{}, {"b"}]>'), (8, 8), mesh, reordered)
    assert _texts(steps) == ['permute {"a"} {"b"}', 'gather {"a"} {}']
