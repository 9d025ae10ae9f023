"""Constants with padding."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i32

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.partitioner.padding.shape import padded_constant


def test_rows_get_zeros_at_their_ends() -> None:
    elements = DenseElementsAttr.from_values(TensorType(i32, [2, 2]), [1, 2, 3, 4])
    assert padded_constant(elements, (3, 3)).get_values() == (1, 2, 0, 3, 4, 0, 0, 0, 0)


def test_a_splat_stays_one() -> None:
    elements = DenseElementsAttr.from_values(TensorType(i32, [2, 2]), [5])
    larger = padded_constant(elements, (4, 2))
    assert larger.is_splat
    assert larger.get_values() == (5,) * 8
