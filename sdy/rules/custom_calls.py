"""Rules of custom calls, by call target. Source: docs/spec/03, 6."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.calls import CALLBACKS, RAGGED_ALL_TO_ALL, CustomCallOp, names_of_call
from sdy.dialects.stablehlo.random import RngBitGeneratorOp
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.elementwise import pointwise
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()
NEED_REPLICATION = FactorKind.NEED_REPLICATION

POINTWISE = (
    "annotate_device_placement",
    "Cholesky",
    "CompactWyHelper",
    "InspectSharding",
    "InvertDiagBlocksLowerTriangular",
    "InvertDiagBlocksUpperTriangular",
    "LayoutConstraint",
    "mhlo.erf",
    "MoveToDevice",
    "MoveToHost",
    "X64SplitHigh",
    "X64SplitLow",
    "xla.megascale.provide_metadata",
    "_SPMDInternalOp_MultiPad",
    "_SPMDInternalOp_RotateRight",
    "_SPMDInternalOp_MultiRotate",
    "_SPMDInternalOp_MultiSlice",
    "_SPMDInternalOp_Wrap",
)
# Targets that are known to have no rule, so that no warning is emitted.
WITHOUT_RULE = frozenset(
    (
        "sdy_testonly",
        "tpu_custom_call",
        "xla_python_cpu_callback",
        "xla_python_gpu_callback",
        "xla.debug.Log",
        RAGGED_ALL_TO_ALL,
        *CALLBACKS,
    )
)


def is_known(target: str) -> bool:
    """Return whether it is known how shardings propagate through this call target, even if they do not."""
    return target in BY_TARGET or target in WITHOUT_RULE


def add_target(target: str, rule: Callable[[CustomCallOp], OpShardingRule | None]) -> None:
    """Give the custom calls of a target a rule.

    Raises: ValueError if the target has a rule already, or is known to have none.
    """
    if is_known(target):
        raise ValueError(f"the custom call @{target} has a sharding rule already")
    BY_TARGET[target] = None, None, rule


@RULES.of(CustomCallOp)
def custom_call(op: CustomCallOp) -> OpShardingRule | None:
    """Return the rule of the call target; None if it is unknown or has an unexpected number of operands or results."""
    entry = next((BY_TARGET[name] for name in names_of_call(op) if name in BY_TARGET), None)
    if entry is None:
        return None
    operands, results, rule = entry
    fits = operands in (None, len(op.operands)) and results in (None, len(op.results))
    return rule(op) if fits else None


def _batch(builder: RuleBuilder, op: CustomCallOp) -> tuple[int, int]:
    """Add factors for all dims except the last two; return the indices of these."""
    shape = shape_or_empty(op.operands[0])
    for dim in range(len(shape) - 2):
        builder.spread(dim, shape[dim])
    return len(shape) - 2, len(shape) - 1


def eigh(op: CustomCallOp) -> OpShardingRule:
    """`([b, i, j]) -> ([b, i, j], [b, j])`."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    rows, columns = _batch(builder, op)
    shape = shape_or_empty(op.operands[0])
    builder.factor(shape[rows], operands=(rows,), results=(rows, None))
    return builder.factor(shape[columns], operands=(columns,), results=(columns, rows)).build()


def qr(op: CustomCallOp) -> OpShardingRule:
    """`([b, i, j]) -> ([b, i, j], [b, k])`, where the matrix dims need replication."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    rows, columns = _batch(builder, op)
    shape = shape_or_empty(op.operands[0])
    for dim in (rows, columns):
        builder.factor(shape[dim], operands=(dim,), results=(dim, None), kind=NEED_REPLICATION)
    return builder.factor(
        shape_or_empty(op.results[1])[rows], operands=(None,), results=(None, rows), kind=NEED_REPLICATION
    ).build()


def householder_product(op: CustomCallOp) -> OpShardingRule:
    """`([b, i, j], [b, k]) -> ([b, i, j])`, where the matrix dims need replication."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    rows, columns = _batch(builder, op)
    shape = shape_or_empty(op.operands[0])
    for dim in (rows, columns):
        builder.factor(shape[dim], operands=(dim, None), results=(dim,), kind=NEED_REPLICATION)
    return builder.factor(
        shape_or_empty(op.operands[1])[rows], operands=(None, rows), results=(None,), kind=NEED_REPLICATION
    ).build()


def top_k(op: Operation) -> OpShardingRule:
    """`([i, j]) -> ([i, j], [i, j])`; the dim that shrinks needs replication, and nothing propagates along it."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    shapes = shape_or_empty(op.operands[0]), shape_or_empty(op.results[0])
    return builder.pointwise_where_equal(*shapes, NEED_REPLICATION, is_blocked=True).build()


def approximate_top_k(op: CustomCallOp) -> OpShardingRule:
    """`([i, k], [i, k], [], []) -> ([j, k], [j, k])`; the operands may be sharded along the dim that shrinks."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, (size, kept) in enumerate(zip(shape_or_empty(op.operands[0]), shape_or_empty(op.results[0]), strict=True)):
        if size == kept:
            builder.spread(dim, size)
        else:
            builder.factor(size, operands=(dim, dim, None, None), results=(None, None))
            builder.factor(kept, operands=(None,) * 4, results=(dim, dim), kind=NEED_REPLICATION, is_blocked=True)
    return builder.build()


def combine_64_bits(op: CustomCallOp) -> OpShardingRule | None:
    """Pointwise, except that the state of a random bit generator needs replication."""
    if not any(isinstance(use.operation, RngBitGeneratorOp) for result in op.results for use in result.uses):
        return pointwise(op)
    builder = RuleBuilder(*operand_and_result_ranks(op))
    return builder.spread(0, shape_or_empty(op.results[0])[0], NEED_REPLICATION, is_blocked=True).build()


# By target: the number of operands and results, None for any number, and the rule.
BY_TARGET: dict[str, tuple[int | None, int | None, Callable[[CustomCallOp], OpShardingRule | None]]] = {
    **dict.fromkeys(POINTWISE, (None, None, pointwise)),
    "Eigh": (1, 2, eigh),
    "Qr": (1, 2, qr),
    "QrDecompositionBlock": (1, 2, qr),
    "ProductOfElementaryHouseholderReflectors": (2, 1, householder_product),
    "mhlo.topk": (1, 2, top_k),
    "ApproxTopK": (4, 2, approximate_top_k),
    "PartialReduce": (4, 2, approximate_top_k),
    "X64Combine": (None, None, combine_64_bits),
}
BUILT_IN = frozenset(BY_TARGET)  # without those that users add
