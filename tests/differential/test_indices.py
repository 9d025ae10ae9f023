"""Compare ops with indices at and beyond the bounds of their operand with the StableHLO reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.oracle.jaxlib_mlir import ir, jax_mlir
from support.random_programs.indexed_ops import INDEX_TYPES, OPS, IndexedOp, indexed_ops

from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.run import interpret, parse_inputs

stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")


def reference(op: IndexedOp) -> Array:
    """Return the result of the reference."""
    context = jax_mlir.make_ir_context()
    context.enable_multithreading(False)
    with context:
        inputs = [
            ir.Attribute.parse(f"dense<{array.tolist()}> : {kind}")
            for array, kind in zip(op.inputs(), op.types()[:-1], strict=True)
        ]
        (result,) = stablehlo.eval_module(ir.Module.parse(op.unsharded_text()), inputs)
        return parse_inputs(f"[{result}]")[0]


def is_read_as_negative(op: IndexedOp) -> bool:
    """Return whether the reference reads an index of an unsigned type as negative: its highest bit is set."""
    width, is_unsigned = INDEX_TYPES[op.element]
    return is_unsigned and max(max(start) for start in op.starts) >= 2 ** (width - 1)


@pytest.mark.parametrize("name", OPS)
@given(data=st.data())
@settings(max_examples=60)
def test_indexed_ops_compute_what_the_reference_computes(name: str, data: st.DataObject) -> None:
    op = data.draw(indexed_ops(name))
    assume(not is_read_as_negative(op))
    (result,) = interpret(parse_module(op.unsharded_text()), op.inputs())
    np.testing.assert_array_equal(result, reference(op))
