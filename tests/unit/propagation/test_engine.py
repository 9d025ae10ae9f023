"""The engine on small graphs: conflicts, order, priorities, dead ops, groups."""

from __future__ import annotations

from support.model.graph_builder import GraphBuilder

from sdy.propagation.directions import NO_PRIORITIES
from sdy.propagation.engine import Schedule
from sdy.propagation.graph import Direction, PassThrough
from sdy.propagation.strategies.aggressive import aggressive
from sdy.propagation.strategies.basic import basic

BASIC = Schedule((basic,), NO_PRIORITIES)
AGGRESSIVE = Schedule((aggressive,), NO_PRIORITIES)
OP_PRIORITY = Schedule()
DOT = "([i, k], [k, j])->([i, j]) {{i={0}, j={1}, k={2}}} reduction={{k}}"


def test_a_product_takes_the_free_dims_of_both_operands() -> None:
    b = GraphBuilder('<["x"=2, "y"=4]>')
    p, q = b.argument((8, 16), '[{"x"}, {"y"}]'), b.argument((16, 32))
    (r,) = b.op(DOT.format(8, 32, 16), [p, q], [(8, 32)])
    b.returns((r, (8, 32), None))
    b.propagate(BASIC)
    assert b.text(q) == '[{"y", ?}, {?}]'
    assert b.text(r) == b.result_text(0) == '[{"x", ?}, {?}]'


def test_diverging_lists_are_truncated_where_they_diverge() -> None:
    b = GraphBuilder('<["x"=2, "y"=2, "z"=2, "w"=8]>')
    p = b.argument((32, 32), '[{"x", "y", ?}, {"w":(1)4, ?}]')
    q = b.argument((32, 32), '[{"x", "z", ?}, {"w":(1)2, ?}]')
    r = b.elementwise(p, q, shape=(32, 32))
    b.returns((r, (32, 32), None))
    b.propagate(BASIC)
    assert b.text(q) == '[{"x", "z", ?}, {"w":(1)4, ?}]'
    assert b.text(r) == '[{"x", ?}, {"w":(1)4, ?}]'


def test_basic_resolves_no_conflict_and_aggressive_prefers_the_larger_source() -> None:
    texts: list[str | None] = []
    for schedule in (BASIC, AGGRESSIVE):
        b = GraphBuilder('<["x"=2, "y"=2]>')
        p, q = b.argument((64, 8), '[{"x", "y", ?}, {?}]'), b.argument((8, 128), '[{?}, {"x", ?}]')
        (r,) = b.op(DOT.format(64, 128, 8), [p, q], [(64, 128)])
        b.returns((r, (64, 128), None))
        b.propagate(schedule)
        texts.append(b.text(r))
    assert texts == [None, '[{?}, {"x", ?}]']


def test_an_axis_splits_over_the_factors_of_a_reshape() -> None:
    b = GraphBuilder('<["x"=8]>')
    p = b.argument((24,), '[{"x"}]')
    (r,) = b.op("([ij])->([i, j]) {i=4, j=6}", [p], [(4, 6)])
    b.returns((r, (4, 6), None))
    b.propagate(BASIC)
    assert b.text(r) == '[{"x":(1)4, ?}, {"x":(4)2, ?}]'


def test_factors_after_an_overflow_are_not_sharded() -> None:
    b = GraphBuilder('<["x"=2, "w"=3, "y"=2]>')
    p = b.argument((12, 4), '[{"x", "w", ?}, {?}]')
    (r,) = b.op("([ij, k])->([i, j, k]) {i=4, j=3, k=4}", [p], [(4, 3, 4)])
    b.returns((r, (4, 3, 4), '[{?}, {"y", ?}, {"w"}]'))
    b.propagate(BASIC)
    assert b.text(p) == '[{"x", "w", ?}, {?}]'
    assert b.text(r) == '[{"x", ?}, {"y", ?}, {"w", ?}]'
    assert b.result_text(0) == '[{"x", ?}, {"y", ?}, {"w"}]'


def test_a_factor_that_is_not_minor_most_takes_a_dividing_sub_axis_unless_conservative() -> None:
    texts: list[str | None] = []
    for conservative in (False, True):
        b = GraphBuilder('<["x"=4, "y"=2]>')
        p = b.argument((6, 4), '[{"x", "y"}, {}]')
        (r,) = b.op("([i, j])->([ij]) {i=6, j=4}", [p], [(24,)])
        b.returns((r, (24,), None))
        b.propagate(Schedule((basic,), NO_PRIORITIES, conservative))
        texts.append(b.text(r))
    assert texts == ['[{"x":(1)2, ?}]', None]


def test_a_strided_layout_is_not_an_update() -> None:
    b = GraphBuilder('<["x"=2, "y"=2]>')
    p = b.argument((4, 4), '[{}, {"y"}]')
    (r,) = b.op("([i, j])->([ij]) {i=4, j=4}", [p], [(16,)])
    b.returns((r, (16,), None))
    b.propagate(BASIC)
    assert b.text(r) is None


def test_replicated_and_unreduced_axes_limit_their_own_tensor_or_all() -> None:
    texts: list[tuple[str | None, str | None]] = []
    for schedule in (BASIC, AGGRESSIVE):
        b = GraphBuilder('<["x"=8, "y"=2, "z"=2]>')
        p = b.argument((64, 64), '[{"x", "y", ?}, {?}]')
        q = b.argument((64, 64), '[{?}, {?}], replicated={"x":(4)2}')
        r = b.elementwise(p, q, shape=(64, 64), sharding='[{?}, {?}], unreduced={"z"}')
        b.returns((r, (64, 64), None))
        b.propagate(schedule)
        texts.append((b.text(q), b.text(r)))
    limited = '[{"x":(1)4, ?}, {?}], '
    assert texts[0] == (limited + 'replicated={"x":(4)2}', limited + 'unreduced={"z"}')
    assert texts[1] == (limited + 'replicated={"x":(4)2}', '[{"x", "y", ?}, {?}], unreduced={"z"}')


def test_elementwise_operands_stay_within_a_closed_result() -> None:
    b = GraphBuilder('<["x"=2, "y"=2]>')
    p, q, r = b.argument((8,), '[{"x", "y"}]'), b.argument((8,)), b.argument((8,))
    a = b.elementwise(p, q, shape=(8,), sharding='[{"x"}]')
    (c,) = b.op("([i], [i])->([i]) {i=16}", [p, r], [(16,)], ['[{"x"}]'])
    b.returns((a, (8,), None), (c, (16,), None))
    b.propagate(AGGRESSIVE)
    assert b.text(q) == '[{"x", ?}]'
    assert b.text(r) == '[{"x", "y", ?}]'


def test_the_last_update_of_a_value_used_twice_wins() -> None:
    b = GraphBuilder('<["x"=2, "y"=2]>')
    p = b.argument((8, 8))
    (r,) = b.op(DOT.format(8, 8, 8), [p, p], [(8, 8)])
    b.returns((r, (8, 8), '[{"x"}, {"y"}]'))
    b.propagate(BASIC)
    assert b.text(p) == '[{?}, {"y", ?}]'


def test_op_priority_propagates_through_elementwise_ops_first() -> None:
    texts: list[tuple[str | None, str | None]] = []
    for schedule in (AGGRESSIVE, OP_PRIORITY):
        b = GraphBuilder('<["x"=2]>')
        p, q = b.argument((16, 16), '[{"x", ?}, {?}]'), b.argument((16, 16))
        (r,) = b.op(DOT.format(16, 16, 16), [p, q], [(16, 16)])
        t = b.elementwise(r, shape=(16, 16))
        b.returns((t, (16, 16), '[{?}, {"x", ?}]'))
        b.propagate(schedule)
        texts.append((b.text(r), b.text(q)))
    assert texts == [('[{"x", ?}, {?}]', None), ('[{?}, {"x", ?}]', '[{?}, {"x", ?}]')]


def test_a_broadcast_propagates_backward_long_before_forward() -> None:
    b = GraphBuilder('<["x"=2]>')
    p = b.argument((8,), '[{"x", ?}]')
    (wide,) = b.op("([i])->([i, j]) {i=8, j=8}", [p], [(8, 8)], pass_through=PassThrough.BROADCAST)
    n, s = b.elementwise(wide, shape=(8, 8)), b.elementwise(wide, shape=(8, 8))
    b.returns((n, (8, 8), None), (s, (8, 8), '[{?}, {"x", ?}]'))
    b.propagate(OP_PRIORITY)
    assert b.text(wide) == b.text(n) == '[{?}, {"x", ?}]'


def test_forward_restricts_sources_but_not_destinations() -> None:
    b = GraphBuilder('<["x"=2, "y"=2]>')
    p, u, i = b.argument((16, 8), '[{?}, {"x", ?}]'), b.argument((4, 8)), b.argument(())
    n = b.elementwise(p, shape=(16, 8))
    rule = "([i, k], [j, k], [], [])->([i, k]) {i=16, j=4, k=8}"
    (r,) = b.op(rule, [n, u, i, i], [(16, 8)], pass_through=PassThrough.FORWARD)
    b.returns((r, (16, 8), None))
    b.propagate(Schedule(levels=OP_PRIORITY.levels[:1]))
    assert b.text(u) == b.text(r) == '[{?}, {"x", ?}]'


def test_user_priorities_reveal_dims_one_after_the_other() -> None:
    b = GraphBuilder('<["x"=2, "y"=2]>')
    p = b.argument((8, 8), '[{"x"}p1, {?}p2]')
    q, r = b.argument((8, 8), '[{?}, {"x"}]'), b.argument((8, 8), '[{"y", ?}p1, {?}]')
    s = b.elementwise(p, q, shape=(8, 8))
    t = b.elementwise(s, r, shape=(8, 8))
    b.returns((s, (8, 8), None), (t, (8, 8), None))
    b.propagate(OP_PRIORITY, by_user_priority=True)
    assert [b.text(v) for v in (p, q)] == ['[{"x"}, {?}]', '[{?}, {"x"}]']
    assert [b.text(v) for v in (r, s, t)] == ['[{"y", ?}, {"x", ?}]'] * 3


def test_meshes_must_agree_unless_empty() -> None:
    b = GraphBuilder('<["x"=2]>', e="<[]>", n='<["x"=2]>', d="<[], device_ids=[0]>")
    p, q, r = b.argument((4,), "@e, [{?}]"), b.argument((4,), '[{"x"}]'), b.argument((4,), "@n, [{?}]")
    one = b.argument((4,), "@d, []")
    results = [b.elementwise(left, q, shape=(4,)) for left in (p, r, one)]
    b.returns(*((result, (4,), None) for result in results))
    b.propagate(AGGRESSIVE)
    assert b.text(p) == '[{"x", ?}]'
    assert b.text(r) == b.text(results[1]) == '<@n, [{"x", ?}]'
    assert b.text(q) == '[{"x"}]'
    assert b.text(results[2]) is None


def test_dead_ops_are_erased_when_visited() -> None:
    b = GraphBuilder('<["x"=2]>')
    p, q = b.argument((4,)), b.argument((4,))
    t = b.elementwise(p, shape=(4,), sharding='[{"x"}]')
    n = b.elementwise(t, shape=(4,))
    s = b.elementwise(q, shape=(4,), sharding='[{"x"}]')
    b.returns((q, (4,), None))
    b.propagate(AGGRESSIVE)
    assert b.text(p) == '[{"x", ?}]'  # tanh was still used by the dead negate when it was visited
    assert b.text(q) is None
    assert [value.owner is not None and value.owner.is_erased for value in (t, n, s)] == [True] * 3


def test_blocked_and_unmatched_factors_do_not_propagate() -> None:
    b = GraphBuilder('<["x"=2, "y"=2]>')
    p = b.argument((4, 6, 8), '[{"x"}, {"y"}, {}]')
    (r,) = b.op("([i, j, k])->([i, j, l]) {i=4, j=6, k=8, l=8} blocked_propagation={i}", [p], [(4, 6, 8)])
    b.returns((r, (4, 6, 8), None))
    b.propagate(AGGRESSIVE)
    assert b.text(r) == '[{?}, {"y", ?}, {?}]'


def test_a_closed_tensor_with_a_shorter_sub_axis_shrinks_the_candidate() -> None:
    b = GraphBuilder('<["x"=8]>')
    p, q = b.argument((16,), '[{"x", ?}]'), b.argument((16,), '[{"x":(1)2}]')
    r = b.elementwise(p, q, shape=(16,))
    b.returns((r, (16,), None))
    b.propagate(BASIC)
    assert b.text(r) == '[{"x":(1)2, ?}]'


def test_a_second_factor_after_an_overflow_has_no_entry() -> None:
    b = GraphBuilder('<["w"=3, "x"=2, "y"=2]>')
    p = b.argument((24,), '[{"w", ?}]')
    shape = (4, 3, 2)
    _, second = b.op(
        "([ijk])->([i, j, k], [i, j, k]) {i=4, j=3, k=2}",
        [p],
        [shape, shape],
        ['[{?}, {"x", ?}, {"y", ?}]', "[{?}, {?}, {?}]"],
    )
    b.returns((second, shape, None))
    b.propagate(BASIC)
    assert b.text(second) == '[{?}, {?}, {"y", ?}]'


def test_the_first_update_of_a_result_makes_the_others_fully_open() -> None:
    b = GraphBuilder('<["x"=2]>')
    p = b.argument((4,), '[{"x"}]')
    first, second = b.op("([i])->([i], [j, k]) {i=4, j=4, k=4}", [p], [(4,), (4, 4)])
    b.returns((first, (4,), None), (second, (4, 4), None))
    b.propagate(AGGRESSIVE)
    assert [b.text(first), b.text(second), b.result_text(1)] == ['[{"x", ?}]', "[{?}, {?}]", None]


def test_members_of_a_group_have_the_same_sharding() -> None:
    b = GraphBuilder('<["x"=2]>')
    p, q, r = b.argument((4, 4), '[{"x", ?}, {?}]'), b.argument((4, 4)), b.argument((4, 4))
    s, t = b.elementwise(p, shape=(4, 4)), b.elementwise(q, shape=(4, 4), sharding="[{?}, {?}]")
    u = b.elementwise(t, r, shape=(4, 4))
    b.group(s, t)
    b.returns((s, (4, 4), None), (u, (4, 4), None))
    b.propagate(AGGRESSIVE)
    assert [b.text(v) for v in (s, t, q, r, u)] == ['[{"x", ?}, {?}]'] * 5


def test_a_barrier_propagates_in_one_direction() -> None:
    b = GraphBuilder('<["x"=2, "y"=2]>')
    p = b.argument((4, 4), '[{"x", ?}, {?}]')
    behind = b.barrier(p, (4, 4), Direction.FORWARD)
    n = b.elementwise(behind, shape=(4, 4))
    b.returns((n, (4, 4), '[{?}, {"y"}]'))
    b.propagate(OP_PRIORITY)
    assert b.text(p) == '[{"x", ?}, {?}]'
    assert b.text(n) == b.text(behind) == '[{"x", ?}, {"y", ?}]'
