"""The collectives of the fixed schedule, for many reshards."""

from __future__ import annotations

import pytest

from sdy.grammar.parse import parse_mesh, parse_sharding
from sdy.grammar.write import write_all_to_all_params, write_axes_per_dim, write_axis_list
from sdy.model.collective import AllGather, AllSlice, AllToAll, CollectivePermute
from sdy.model.sharding import TensorSharding
from sdy.partitioner.reshard.collective_schedule import schedule
from sdy.partitioner.reshard.steps import PlanStep

G = '<["p"=2, "q"=4, "r"=2, "s"=2]>'
H = '<["u"=8, "v"=2]>'
K = '<["t"=3, "w"=2, "z"=4]>'
MIXED = '<["y"=5, "c"=6, "a"=2]>'

# mesh, global dims (0: 64 each), from, to, steps
CASES: list[tuple[str, int, str, str, list[str]]] = [
    (G, 0, '{"p","q","r"} {"s"}', '{"p","q":(1)2} {"s"}', ['gather {"q":(2)2, "r"} {}']),
    (G, 0, '{"p","r"} {"q"}', "{} {}", ['gather {"p", "r"} {"q"}']),
    (G, 0, '{"q"} {}', '{"q","p"} {"r"}', ['slice {"p"} {"r"}']),
    (G, 0, '{"q"} {"p","r"} {}', '{"q","r"} {} {"p"}', ['move {"r"}: 1->0', 'move {"p"}: 1->2']),
    (G, 0, '{"r"} {"q"} {}', '{} {} {"q","r"}', ['move {"q"}: 1->2', 'move {"r"}: 0->2']),
    (G, 0, '{"p"} {}', '{} {"p","q"}', ['slice {"q"} {}', 'move {"p", "q"}: 0->1']),
    (
        G,
        6,
        '{"p"} {}',
        '{} {"p","q"}',
        ['slice {} {"q"}', 'permute {"q":(2)2} {"p", "q":(1)2}', 'move {"q":(2)2}: 0->1'],
    ),
    (G, 0, '{"q"} {"r"}', '{"r"} {"q"}', ['permute {"r", "q":(2)2} {"q":(1)2}', 'move {"q":(2)2}: 0->1']),
    (G, 0, '{"q","p"} {}', '{"r"} {}', ['permute {"r", "q":(2)2, "p"} {}', 'gather {"q":(2)2, "p"} {}']),
    (G, 0, '{"p"} {}', '{"q"} {}', ['slice {"q":(1)2} {}', 'permute {"q"} {}']),
    (H, 0, '{"u"} {} {}', '{"u":(1)2} {"u":(4)2} {"u":(2)2}', ['move {"u":(4)2}: 0->1', 'move {"u":(2)2}: 0->2']),
    (
        H,
        0,
        '{"u":(2)2,"v"} {}',
        '{} {"u"}',
        [
            'slice {} {"u":(1)2, "u":(4)2}',
            'permute {"v", "u":(4)2} {"u":(1)4}',
            'move {"u":(4)2}: 0->1',
            'gather {"v"} {}',
        ],
    ),
    (K, 24, '{"t"} {"z"}', '{"z"} {"t"}', ['move {"t"}: 0->1', 'permute {} {"t", "z"}', 'move {"z"}: 1->0']),
    (K, 24, '{"t"} {}', '{"z"} {}', ['slice {"z"} {}', 'permute {"z", "t"} {}', 'gather {"t"} {}']),
    (
        G,
        0,
        '{"s","q"} {}',
        '{} {"s","p"}',
        ['slice {} {"p"}', 'permute {"q", "p"} {"s"}', 'move {"p"}: 0->1', 'gather {"q"} {}'],
    ),
    (
        G,
        0,
        '{"p"} {"q"} {"r"}',
        '{"r"} {"p"} {"q"}',
        ['permute {"r"} {"p", "q":(2)2} {"q":(1)2}', 'move {"q":(2)2}: 1->2'],
    ),
    (
        G,
        0,
        '{} {"q"}',
        '{"q"} {"p"}',
        ['slice {"p"} {}', 'permute {"q":(1)2} {"p", "q":(2)2}', 'move {"q":(2)2}: 1->0'],
    ),
    (G, 0, '{"p","q"} {"r"}', '{"r","s"} {"p"}', ['permute {"r", "s", "q":(1)2} {"p"}', 'gather {"q":(1)2} {}']),
    (G, 0, '{"p"} {}', '{} {"q"}', ['slice {} {"q"}', 'gather {"p"} {}']),
    # Axis sizes that do not divide each other: the schedule would not reach the target.
    (MIXED, 0, '{} {"c"}', '{"c","y"} {"a"}', ['gather {} {"c"}', 'slice {"c", "y"} {"a"}']),
    (G, 0, '{"p"} {"q"}', '{"p"} {"q"}', []),
    # The two sub-axes have no common split of their axis.
    (MIXED, 6, '{"c":(1)3} {}', '{"c":(1)2} {}', ['gather {"c":(1)3} {}', 'slice {"c":(1)2} {}']),
    (MIXED, 6, '{"c":(2)3} {}', '{"a"} {"c":(3)2}', ['gather {"c":(2)3} {}', 'slice {"a"} {"c":(3)2}']),
]


@pytest.mark.parametrize(("mesh", "first_dim", "source", "target", "steps"), CASES)
def test_schedule(mesh: str, first_dim: int, source: str, target: str, steps: list[str]) -> None:
    rank = len(source.split())
    shape = (first_dim or 64, *([first_dim if first_dim == 24 else 64] * (rank - 1)))
    found = schedule(_sharding(source), _sharding(target), shape, parse_mesh(mesh))
    assert [_text(step) for step in found] == steps
    if found:
        assert found[-1].sharding == _sharding(target)


def test_a_change_of_device_order_is_a_permute() -> None:
    source, target = parse_sharding('<@g, [{"p", "q"}, {}]>'), parse_sharding('<@r, [{"p"}, {"q"}]>')
    steps = schedule(source, target, (64, 64), parse_mesh(G))
    assert [_text(step) for step in steps] == ['permute {"p", "q"} {}', 'move {"q"}: 0->1']
    assert [step.sharding.mesh for step in steps] == ["r", "r"]


def test_unreduced_axes_stay() -> None:
    source = parse_sharding('<@g, [{"p", "s"}, {}], unreduced=max{"r"}>')
    target = parse_sharding('<@g, [{"s", "p"}, {}], unreduced=max{"r"}>')
    (step,) = schedule(source, target, (64, 64), parse_mesh(G))
    assert step.action == CollectivePermute()
    assert step.sharding == target


def _sharding(dims: str) -> TensorSharding:
    return parse_sharding(f"<@m, [{', '.join(dims.split())}]>")


def _text(step: PlanStep) -> str:
    match step.action:
        case AllGather(axes):
            return "gather " + _per_dim(write_axes_per_dim(axes))
        case AllSlice(axes):
            return "slice " + _per_dim(write_axes_per_dim(axes))
        case AllToAll(params):
            return "move " + write_all_to_all_params(params)[1:-1]
        case _:
            return "permute " + " ".join(write_axis_list(dim.axes) for dim in step.sharding.dims)


def _per_dim(text: str) -> str:
    return text[1:-1].replace("}, {", "} {")
