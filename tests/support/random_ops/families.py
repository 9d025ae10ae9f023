"""The families of ops that random programs are drawn from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support.random_ops import chlo, data_movement, dynamic_shapes, elementwise, structure, sums
from support.random_ops.draft import Draft

FAMILIES: dict[str, Callable[[Draft], None]] = {
    "unary": elementwise.unary,
    "binary": elementwise.binary,
    "compare": elementwise.compare,
    "convert": elementwise.convert,
    "bitcast": elementwise.bitcast,
    "select_and_clamp": elementwise.select_and_clamp,
    "reduce_precision": elementwise.reduce_precision,
    "shape": data_movement.shape_ops,
    "slicing": data_movement.slicing,
    "dot_general": sums.dot_general,
    "reduce": sums.reduce,
    "argmax": sums.argmax,
    "gather": data_movement.gather,
    "scatter": data_movement.scatter,
    "reduce_window": sums.reduce_window,
    "convolution": sums.convolution,
    "sort": data_movement.sort,
    "select_and_scatter": sums.select_and_scatter,
    "fft": sums.fft,
    "triangular_solve": sums.triangular_solve,
    "control": structure.control,
    "branch": structure.branch,
    "indirect": structure.indirect,
    "tuple": structure.tupled,
    "complex_numbers": elementwise.complex_numbers,
    "map": elementwise.mapped,
    "dynamic_shape": dynamic_shapes.dynamic_shape,
    "chlo_broadcast": chlo.broadcast,
    "chlo_exact": chlo.exact,
}


def random_program(family: str, seed: int) -> Draft:
    """Return a program of one op of the family, determined by the seed."""
    draft = Draft(np.random.default_rng([seed, *family.encode()]))
    FAMILIES[family](draft)
    return draft
