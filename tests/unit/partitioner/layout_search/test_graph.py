"""Values in which a search finds no difference."""

from __future__ import annotations

from dataclasses import replace

from sdy.partitioner.layout_search.graph import End, Value, without_twins
from sdy.partitioner.layout_search.layout import Layout, Tensor, replicated

ROW = Tensor((8,), 4)


def _value(tensor: Tensor = ROW, times: int = 1, *readers: End, maker: End | None = None) -> Value:
    return Value(tensor, times, replicated(1), is_free=False, maker=maker, readers=[*readers])


def test_values_at_the_same_places_are_one() -> None:
    edge, other = End(0, 0), End(1, 0)
    values = [
        _value(ROW, 2, edge, other),
        _value(ROW, 2, edge),
        _value(ROW, 3, other, edge),
        _value(ROW, 5, edge),
    ]
    kept, numbers = without_twins(values)
    assert numbers == [0, 1, 0, 1]
    assert [value.times for value in kept] == [5, 7]


def test_values_of_which_one_costs_otherwise_stay_two() -> None:
    plain = _value(ROW, 1, End(0, 0))
    others = (
        _value(Tensor((4,), 4), 1, End(0, 0)),
        _value(ROW, 1, End(0, 1)),
        _value(ROW, 1, End(0, 0), maker=End(2, 0)),
        replace(plain, is_free=True),
        replace(plain, layout=Layout(((0,),))),
        replace(plain, fixed_needs={replicated(1)}),
    )
    for other in others:
        kept, numbers = without_twins([plain, other])
        assert numbers == [0, 1]
        assert kept == [plain, other]
