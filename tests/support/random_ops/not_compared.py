"""Ops that are not in random programs because the reference interpreter does not run them, and their tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Ops, the reason why the reference does not run them, and the test that covers them by name."""

    reason: str
    tested_by: str  # below tests
    ops: tuple[str, ...]


NOT_COMPARED = (
    Exceptions(
        "deprecated: the reference stops at them",
        "unit/interpreter/ops/test_reductions.py",
        ("stablehlo.dot", "stablehlo.einsum", "stablehlo.unary_einsum"),
    ),
    Exceptions(
        "deprecated, or of dynamic sizes: the reference stops at them",
        "unit/interpreter/ops/test_shape_and_slicing.py",
        ("stablehlo.broadcast", "stablehlo.real_dynamic_slice", "stablehlo.set_dimension_size"),
    ),
    Exceptions(
        "deprecated: the reference stops at it",
        "unit/interpreter/ops/test_gather_scatter.py",
        ("stablehlo.torch_index_select",),
    ),
    Exceptions(
        "the reference stops at them; NumPy is compared with",
        "unit/interpreter/ops/test_linalg.py",
        (
            "stablehlo.batch_norm_grad",
            "stablehlo.batch_norm_inference",
            "stablehlo.batch_norm_training",
            "stablehlo.cholesky",
        ),
    ),
    Exceptions(
        "the reference stops at them; the bits are those of XLA",
        "unit/interpreter/ops/test_random.py",
        ("stablehlo.rng", "stablehlo.rng_bit_generator"),
    ),
    Exceptions("the reference stops at it", "unit/interpreter/ops/test_control.py", ("stablehlo.custom_call",)),
    Exceptions(
        "a program of one device has no collectives",
        "property/test_collectives.py",
        (
            "stablehlo.all_gather",
            "stablehlo.all_reduce",
            "stablehlo.all_to_all",
            "stablehlo.collective_broadcast",
            "stablehlo.collective_permute",
            "stablehlo.collective_reduce",
            "stablehlo.cross-replica-sum",
            "stablehlo.reduce_scatter",
        ),
    ),
    Exceptions(
        "a program of one device has no collectives to wait for",
        "property/test_collective_shapes.py",
        ("stablehlo.async_start", "stablehlo.async_done"),
    ),
    Exceptions(
        "a program of one device has no number",
        "unit/interpreter/test_spmd.py",
        ("stablehlo.partition_id", "stablehlo.replica_id"),
    ),
    Exceptions(
        "the reference runs them in interpreter.run_parallel alone, of which jaxlib has nothing",
        "unit/interpreter/ops/test_programs_in_parallel.py",
        (
            "stablehlo.after_all",
            "stablehlo.create_token",
            "stablehlo.infeed",
            "stablehlo.outfeed",
            "stablehlo.recv",
            "stablehlo.send",
        ),
    ),
    Exceptions(
        "special functions, of which the reference would run our expansion; formulas and kernels are compared",
        "unit/passes/test_chlo_legalize.py",
        (
            "chlo.acos",
            "chlo.acosh",
            "chlo.asin",
            "chlo.asinh",
            "chlo.atan",
            "chlo.atanh",
            "chlo.bessel_i1e",
            "chlo.broadcast_polygamma",
            "chlo.broadcast_zeta",
            "chlo.cosh",
            "chlo.digamma",
            "chlo.erf",
            "chlo.erf_inv",
            "chlo.erfc",
            "chlo.lgamma",
            "chlo.polygamma",
            "chlo.sinh",
            "chlo.tan",
            "chlo.zeta",
        ),
    ),
    Exceptions(
        "no ops of StableHLO express them in one program of fixed size",
        "unit/interpreter/ops/test_chlo.py",
        ("chlo.ragged_dot", "chlo.scan"),
    ),
    Exceptions(
        "quantized types are unknown to the MLIR of jaxlib",
        "unit/interpreter/ops/test_quantized.py",
        ("stablehlo.uniform_dequantize", "stablehlo.uniform_quantize"),
    ),
)
