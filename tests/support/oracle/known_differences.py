"""The differences between our passes and one version of Shardy, with the reasons.

Shardy changes with jaxlib. We do what the newer version does, except where the conformance suites, which are of August
2026, expect something else; docs/differences.md lists both. Checked with jaxlib 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from jaxlib.version import __version_info__
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from sdy.dialects.module_text import parse_module
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.shape import ReshapeOp
from sdy.dialects.stablehlo.slicing import DynamicUpdateSliceOp, PadOp
from sdy.dialects.stablehlo.window import ConvolutionOp
from sdy.model.rule import FactorIndex, TensorMapping
from sdy.rules.all import sharding_rule

Op = TypeVar("Op", bound=Operation)

IS_NEWER = tuple(map(int, __version_info__[:2])) >= (0, 12)  # whether this jaxlib contains the newer Shardy
UNEVEN_RESHARDS = "the newer Shardy gathers a tensor before it reshards dims that the axes do not divide"

RULES = "builtin.module(func.func(sdy-populate-op-sharding-rules))"
CONSTRAINTS = "builtin.module(sdy-apply-sharding-constraints)"
PIPELINE = "builtin.module(sdy-propagation-pipeline)"
RESHARDS = "builtin.module(func.func(sdy-insert-explicit-reshards{enable-full-version=true}))"


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A difference that is intended, and a program on which it occurs.

    `explains` takes the program and the error of Shardy, or an empty text if Shardy accepts the program.
    """

    reason: str
    explains: Callable[[ModuleOp, str], bool]
    pipeline: str
    example: str


def known_difference(program: str, error: str) -> KnownDifference | None:
    """Return a difference that explains why Shardy prints another module or, with an error, rejects the program."""
    module = parse_module(program)
    return next((each for each in KNOWN if each.explains(module, error)), None)


def without_replicated_results(text: str) -> str:
    """Remove the replicated shardings of function results, which the older Shardy does not write in main functions."""
    return re.sub(r"^ *func\.func .*$", lambda line: _without_replicated(line[0]), text, flags=re.MULTILINE)


def _without_replicated(line: str) -> str:
    arguments, arrow, results = line.partition(") -> (")
    mesh = r"(?:@[\w.]+|mesh<[^>]*>)"
    replicated = rf"sdy\.sharding = #sdy\.sharding<{mesh}, \[(?:\{{\}}(?:, )?)*\](?:, replicated=\{{[^}}]*\}})?>"
    results = re.sub(rf" \{{{replicated}\}}|, {replicated}", "", results)
    is_single = arrow and re.fullmatch(r"[^,() ]+\) \{", results)
    return f"{arguments}) -> {results.replace(')', '', 1)}" if is_single else f"{arguments}{arrow}{results}"


def without_empty_records(text: str) -> str:
    """Remove the records of edges without one, for which the newer Shardy writes empty ones."""
    name = r"sdy\.(?:block_arg|result)_(?:sharding_origins|propagation_edges)"
    lists = re.compile(rf"({name} = \[)(.*?)(\](?=, sdy\.|\}}))")
    empty = re.compile(r"(?<![\w\]}>])(?:\{\}|#sdy\.propagation_edges<\[\]>)(?:, )?")
    return lists.sub(lambda found: found[1] + empty.sub("", found[2]).removesuffix(", ") + found[3], text)


def _ops(module: ModuleOp, kind: type[Op]) -> Iterator[Op]:
    return (op for op in module.walk() if isinstance(op, kind))


def _constrains_fully_open_value(module: ModuleOp) -> bool:
    """Return whether a constraint or a manual computation has an operand with a fully open sharding."""
    constraining = (*_ops(module, ShardingConstraintOp), *_ops(module, ManualComputationOp))
    return any(_is_fully_open(operand) for op in constraining for operand in op.operands)


def _is_fully_open(value: SSAValue) -> bool:
    sharding = sharding_of(value)
    return sharding is not None and all(not dim.is_closed and not dim.axes for dim in sharding.dims)


def _returns_unreduced(op: ReturnOp) -> bool:
    shardings = map(sharding_of, op.operands)
    return any(sharding is not None and sharding.unreduced for sharding in shardings)


def _has_factor_of_one_tensor(op: Operation) -> bool:
    """Return whether a factor of the rule belongs to the operand or to the result only."""
    rule = sharding_rule(op)
    if rule is None:
        return False
    return _factors(rule.operands[0]) != _factors(rule.results[0])


def _factors(tensor: TensorMapping) -> set[FactorIndex]:
    return {factor for dim in tensor for factor in dim}


def _keeps_size_of_padded_dim(op: PadOp) -> bool:
    shapes = zip(shape_of(op.operand), shape_of(op.result), op.edge_padding_low.get_values(), strict=True)
    return any(size == padded and low for size, padded, low in shapes)


def _has_spatial_dims(op: ConvolutionOp) -> bool:
    return bool(op.dimension_numbers.data.kernel_spatial_dimensions)


def _updates_part_of_dim(op: DynamicUpdateSliceOp) -> bool:
    return shape_of(op.operand) != shape_of(op.update)


def _reduces_in_different_ways(op: ReduceOp) -> bool:
    return len({inner.name for inner in op.body.block.ops if inner.results}) > 1


OLDER = (
    KnownDifference(
        "the older Shardy reduces results of main that have no sharding",
        lambda module, _: any(map(_returns_unreduced, _ops(module, ReturnOp))),
        "builtin.module(sdy-propagate-to-func-results)",
        """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"x"}>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}""",
    ),
    KnownDifference(
        "the older Shardy does not apply constraints to values with a fully open sharding",
        lambda module, _: _constrains_fully_open_value(module),
        CONSTRAINTS,
        """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}]>}) -> tensor<4xf32> {
  %0 = sdy.sharding_constraint %a <@m, [{"x"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
    ),
    KnownDifference(
        "in the older Shardy, a padded dim that keeps its size is not a permutation factor",
        lambda module, _: any(map(_keeps_size_of_padded_dim, _ops(module, PadOp))),
        RULES,
        """
func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.pad %a, %z, low = [-1], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
    ),
    KnownDifference(
        "in the older Shardy, spatial dims of a convolution that the operand has no room for have factors of size 1",
        lambda module, _: any(map(_has_spatial_dims, _ops(module, ConvolutionOp))),
        RULES,
        """
func.func @main(%a: tensor<4x8x4xf32>, %k: tensor<3x4x4xf32>) -> tensor<4x6x4xf32> {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<4x8x4xf32>, tensor<3x4x4xf32>) -> tensor<4x6x4xf32>
  return %0 : tensor<4x6x4xf32>
}""",
    ),
)
NEWER = (
    KnownDifference(
        "the conformance suites expect that factors of one side of a reshape are not permuted or replicated",
        lambda module, _: any(map(_has_factor_of_one_tensor, _ops(module, ReshapeOp))),
        RULES,
        """
func.func @main(%a: tensor<3x2xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.reshape %a : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}""",
    ),
    KnownDifference(
        "the conformance suites expect that updated dims of dynamic_update_slice are not permuted",
        lambda module, _: any(map(_updates_part_of_dim, _ops(module, DynamicUpdateSliceOp))),
        RULES,
        """
func.func @main(%a: tensor<4xf32>, %u: tensor<2xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
    ),
    KnownDifference(
        "the conformance suites expect that propagation may leave axes unreduced that later reshards reduce",
        lambda _, error: "unreduced" in error,
        PIPELINE,
        """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"x"}>}) -> tensor<4xf32> {
  %0 = stablehlo.abs %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
    ),
    KnownDifference(
        "the newer Shardy does not combine shards of reductions of several values in different ways",
        lambda module, _: any(map(_reduces_in_different_ways, _ops(module, ReduceOp))),
        RESHARDS,
        """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %z: tensor<f32>)
    -> (tensor<f32>, tensor<f32>) {
  %0:2 = stablehlo.reduce(%a init: %z), (%a init: %z) across dimensions = [0]
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<f32>, %s: tensor<f32>) {
    %1 = stablehlo.add %p, %q : tensor<f32>
    %2 = stablehlo.maximum %r, %s : tensor<f32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}""",
    ),
)
KNOWN = NEWER if IS_NEWER else OLDER
