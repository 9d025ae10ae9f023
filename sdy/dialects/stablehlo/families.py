"""The ops of StableHLO by family: the module that declares them, imported when a program has one of its ops.

Most programs use few families, and declaring the others would take a tenth of the time of a short call of `sdy-opt`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from xdsl.ir import Operation

DIALECT = "stablehlo"
_FAMILIES = {
    "elementwise": """
        abs add and atan2 cbrt ceil clamp compare complex convert cosine count_leading_zeros divide exponential
        exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply negate not or
        popcnt power real reduce_precision remainder round_nearest_afz round_nearest_even rsqrt select shift_left
        shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh uniform_dequantize uniform_quantize
        xor""",
    "contraction": "dot dot_general einsum unary_einsum",
    "reduction": "reduce",
    "shape": """
        bitcast_convert broadcast broadcast_in_dim constant dynamic_broadcast_in_dim dynamic_iota dynamic_reshape
        get_dimension_size iota reshape reverse set_dimension_size transpose""",
    "slicing": "concatenate dynamic_pad dynamic_slice dynamic_update_slice pad real_dynamic_slice slice",
    "gather_scatter": "dynamic_gather gather scatter torch_index_select",
    "window": "convolution dynamic_conv reduce_window select_and_scatter",
    "control": "case if map optimization_barrier return while",
    "calls": "composite custom_call",
    "tokens": "after_all async_done async_start create_token get_tuple_element tuple",
    "collectives": """
        all_gather all_reduce all_to_all collective_broadcast collective_permute collective_reduce cross-replica-sum
        infeed outfeed partition_id recv reduce_scatter replica_id send""",
    "linalg": "batch_norm_grad batch_norm_inference batch_norm_training cholesky fft sort triangular_solve",
    "random": "rng rng_bit_generator",
}


@cache
def op_class(name: str) -> type[Operation] | None:
    """Return the class of an op by its full name, or None if StableHLO has no such op."""
    dialect, _, short = name.partition(".")
    found = (family for family, names in _FAMILIES.items() if dialect == DIALECT and short in names.split())
    family = next(found, None)
    return None if family is None else next(each for each in ops_of_family(family) if each.name == name)


def ops_of_family(family: str) -> tuple[type[Operation], ...]:
    """Return the classes of a family."""
    return import_module(f"sdy.dialects.stablehlo.{family}").OPS


def all_ops() -> list[type[Operation]]:
    """Return the classes of all ops."""
    return [each for family in _FAMILIES for each in ops_of_family(family)]
