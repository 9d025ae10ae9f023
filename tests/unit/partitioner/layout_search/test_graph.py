"""Values that the search cannot distinguish are merged."""

from __future__ import annotations

from dataclasses import replace

from sdy.partitioner.layout_search.graph import GraphValue, NodeTensor, merge_equivalent
from sdy.partitioner.layout_search.layout import Layout, TensorSize, replicated

ROW = TensorSize((8,), 4)


def _value(
    tensor: TensorSize = ROW, times: int = 1, *users: NodeTensor, producer: NodeTensor | None = None
) -> GraphValue:
    return GraphValue(tensor, times, replicated(1), is_free=False, producer=producer, users=[*users])


def test_values_with_the_same_users_are_merged() -> None:
    edge, other = NodeTensor(0, 0), NodeTensor(1, 0)
    values = [
        _value(ROW, 2, edge, other),
        _value(ROW, 2, edge),
        _value(ROW, 3, other, edge),
        _value(ROW, 5, edge),
    ]
    kept, numbers = merge_equivalent(values)
    assert numbers == [0, 1, 0, 1]
    assert [value.times for value in kept] == [5, 7]


def test_values_with_different_costs_are_not_merged() -> None:
    plain = _value(ROW, 1, NodeTensor(0, 0))
    others = (
        _value(TensorSize((4,), 4), 1, NodeTensor(0, 0)),
        _value(ROW, 1, NodeTensor(0, 1)),
        _value(ROW, 1, NodeTensor(0, 0), producer=NodeTensor(2, 0)),
        replace(plain, is_free=True),
        replace(plain, layout=Layout(((0,),))),
        replace(plain, fixed_needs={replicated(1)}),
    )
    for other in others:
        kept, numbers = merge_equivalent([plain, other])
        assert numbers == [0, 1]
        assert kept == [plain, other]
