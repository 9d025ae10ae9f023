"""Identity elements of combiners."""

from __future__ import annotations

import math

import pytest
from support.random_ops.draft import ELEMENTS

from sdy.dialects.stablehlo.elementwise import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp
from sdy.partitioner.on_shards.combiners import CombinerClass, identity_element


@pytest.mark.parametrize(
    ("combiner", "element", "expected"),
    [
        (AddOp, "f32", 0),
        (AddOp, "complex<f32>", 0),
        (OrOp, "i8", 0),
        (XorOp, "ui8", 0),
        (MultiplyOp, "bf16", 1),
        (AndOp, "i1", 1),
        (AndOp, "i32", -1),
        (AndOp, "ui16", 65535),
        (MaximumOp, "f32", -math.inf),
        (MinimumOp, "f16", math.inf),
        (MaximumOp, "f8E4M3FN", -448.0),
        (MinimumOp, "f8E4M3FN", 448.0),
        (MaximumOp, "i8", -128),
        (MinimumOp, "i8", 127),
        (MaximumOp, "ui32", 0),
        (MinimumOp, "ui32", 2**32 - 1),
        (MaximumOp, "i1", 0),
        (MinimumOp, "i1", 1),
    ],
)
def test_identity(combiner: CombinerClass, element: str, expected: float) -> None:
    assert identity_element(combiner, ELEMENTS[element]) == expected
