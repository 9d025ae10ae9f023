"""Indices at and beyond the bounds: an op on shards reads and writes what it does on one device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_programs.indexed_ops import OPS, dim_shardings, indexed_ops

from sdy.program.program import Program


def check_indexed_op(name: str, data: st.DataObject) -> None:
    """Check that an indexed op computes the same on shards."""
    op = data.draw(indexed_ops(name))
    shardings = [data.draw(dim_shardings(len(shape))) for shape in op.shapes()]
    program = Program.from_text(op.text(shardings))
    (expected,) = program.run_flat(op.inputs())
    (result,) = program.partition().run_flat(op.inputs())
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", OPS)
@given(data=st.data())
@settings(max_examples=40)
def test_indexed_ops_on_shards(name: str, data: st.DataObject) -> None:
    check_indexed_op(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
@given(data=st.data())
@settings(max_examples=500)
def test_many_indexed_ops_on_shards(name: str, data: st.DataObject) -> None:
    check_indexed_op(name, data)
