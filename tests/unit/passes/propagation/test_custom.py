"""User-defined propagation in the existing pipelines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.model.axis import AxisRef
from sdy.passes.manager.partition_pipelines import PartitionPipeline
from sdy.passes.propagation.custom import CustomPropagatePass, with_propagation
from sdy.passes.propagation.propagate import UserPriorityPropagatePass
from sdy.passes.run import Pipeline, flattened, run_passes
from sdy.propagation.directions import NO_PRIORITIES
from sdy.propagation.engine import Schedule
from sdy.propagation.projection import FactorSharding, Projection
from sdy.propagation.strategies.aggressive import aggressive
from sdy.propagation.strategies.basic import basic
from sdy.propagation.strategies.step import OpStep, PropagationStrategy
from sdy.propagation.strategies.user_strategies import checked_strategy
from sdy.upstream.pipelines import PropagationPipeline

# The two annotations compete for the result; the second has the larger priority number and the larger tensor.
PROGRAM = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>},
                %b: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x", ?}p1]>}) -> tensor<4x16xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
"""


@dataclass(frozen=True)
class NoOpPass(ModulePass):
    """A pass that changes nothing."""

    name = "no-op"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change nothing."""


def extend_nothing(step: OpStep, projection: Projection) -> Projection:
    """Return the projection unchanged."""
    return projection


def without_axes(step: OpStep, projection: Projection) -> Projection:
    """Drop the axes of all factors, which is wrong."""
    return changed(projection, lambda entry: replace(entry, axes=()))


def with_unknown_axis(step: OpStep, projection: Projection) -> Projection:
    """Add an axis that the mesh does not have, which is wrong."""
    return changed(projection, lambda entry: replace(entry, axes=(*entry.axes, AxisRef("z"))))


def without_factors(step: OpStep, projection: Projection) -> Projection:
    """Drop all factors, which is wrong."""
    return projection.with_tensors(replace(tensor, factors={}) for tensor in projection.tensors)


def without_results(step: OpStep, projection: Projection) -> Projection:
    """Drop the results, which is wrong."""
    return projection.with_tensors(projection.operands)


def returns_nothing(step: OpStep, projection: Projection) -> Projection:
    """Return None, which is wrong."""
    return None  # pyright: ignore[reportReturnType]


def changed(projection: Projection, change: Callable[[FactorSharding], FactorSharding]) -> Projection:
    return projection.with_tensors(
        replace(tensor, factors={factor: change(entry) for factor, entry in tensor.factors.items()})
        for tensor in projection.tensors
    )


def propagated(propagate: ModulePass) -> str:
    module = parse_module(PROGRAM, "test.mlir")
    run_passes(make_context(), module, [propagate])
    return print_module(module)


@pytest.mark.parametrize("pipeline", [PropagationPipeline(), PartitionPipeline()])
def test_with_propagation_replaces_the_propagation_pass(pipeline: Pipeline) -> None:
    names = [each.name for each in flattened([pipeline])]
    index = names.index("sdy-user-priority-propagate")
    names[index : index + 1] = ["custom-propagate", "no-op"]
    assert [each.name for each in with_propagation(pipeline, CustomPropagatePass(), NoOpPass())] == names


def test_the_default_is_the_propagation_of_the_pipelines() -> None:
    assert propagated(CustomPropagatePass()) == propagated(UserPriorityPropagatePass(keep_sharding_rules=True))


def test_the_schedule_and_user_priorities_are_respected() -> None:
    by_default = propagated(CustomPropagatePass())
    assert '[{"x", ?}, {?}]>]>' in by_default
    sizes_alone = CustomPropagatePass(by_user_priority=False)
    assert '[{?}, {"x", ?}]>]>' in propagated(sizes_alone)
    careful = replace(sizes_alone, schedule=Schedule(strategies=(basic,), levels=NO_PRIORITIES))
    assert "sharding_per_value" not in propagated(careful)
    assert "sharding_per_value" not in propagated(CustomPropagatePass(Schedule(strategies=(extend_nothing,))))


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (without_axes, 'expected axes that extend {"x"} along factor i of operand 0, got {}'),
        (with_unknown_axis, 'factor i of operand 0: the mesh has no axis "z", only "x"'),
        (without_factors, "expected operand 0 to have factors i, k, got no factors"),
        (without_results, "expected the projections of 1 result, got 0"),
        (returns_nothing, "expected a Projection, got None"),
        (partial(without_axes), 'expected axes that extend {"x"} along factor i of operand 0, got {}'),
    ],
)
@pytest.mark.parametrize("by_user_priority", [False, True])
def test_a_strategy_that_breaks_its_contract_is_an_error_at_the_op(
    strategy: PropagationStrategy, message: str, by_user_priority: bool
) -> None:
    with pytest.raises(SdyError) as caught:
        propagated(CustomPropagatePass(Schedule(strategies=(strategy,)), by_user_priority))
    found = caught.value.diagnostics[0]
    name = getattr(strategy, "__name__", "partial")
    assert (found.code, found.message) == ("SDY-T011", f"strategy {name}: {message}")
    assert found.span is not None
    assert (found.span.file, found.span.line, found.span.column) == ("test.mlir", 5, 8)


def test_the_strategies_of_sdy_are_not_wrapped() -> None:
    assert checked_strategy(basic) is basic
    assert checked_strategy(aggressive) is aggressive


def test_sharding_rules_can_be_dropped() -> None:
    assert "sdy.sharding_rule" in propagated(CustomPropagatePass())
    assert "sdy.sharding_rule" not in propagated(CustomPropagatePass(keep_sharding_rules=False))
