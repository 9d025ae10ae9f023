"""Sharding rules that functions of users return. A mistake in one is a diagnostic; the rules of sdy are not checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import located, span_of, user_code_error_at
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.types import value_shape
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.model.checks.check_rule import check_rule
from sdy.model.rule import OpShardingRule, TensorMapping
from sdy.model.shape import Shapeless, ValueShape

OpT = TypeVar("OpT", bound=Operation)
UserRule = Callable[[OpT], OpShardingRule | None]
CHECKED_WHEN_READ: set[type[Operation]] = set()  # the classes of ops with rules of users


def check_rules(module: ModuleOp, rule_of: Callable[[Operation], object]) -> None:
    """Check the rules of users of all ops of a module that was read. Raises: SdyError as `checked_rule`."""
    if CHECKED_WHEN_READ:
        for op in pre_order(module):
            if type(op) in CHECKED_WHEN_READ:
                rule_of(op)


def checked_rule(function: UserRule[OpT]) -> UserRule[OpT]:
    """Return a function that calls `function`, and checks that the rule fits the op.

    It raises SdyError SDY-R102 if `function` raises, SDY-R103 if that returns neither a rule nor None, and SDY-R001 to
    SDY-R013 if the rule does not fit.
    """

    @wraps(function)
    def rule_of(op: OpT) -> OpShardingRule | None:
        rule = _called(function, op)
        if rule is None:
            return None
        if not isinstance(rule, OpShardingRule):
            message = f"{_described(op)}: expected an OpShardingRule or None, got {rule!r}"
            hint = "build the rule with sdy.model.rule_builder.RuleBuilder"
            raise SdyError(Diagnostic("SDY-R103", message, span_of(op), hint))
        shapes = _shapes(op.operands, rule.operands), _shapes(op.results, rule.results)
        problem = check_rule(rule, *shapes, is_attribute=False)
        if problem is not None:
            hint = "the function registered for the op returned this rule"
            raise SdyError(
                replace(problem, message=f"{_described(op)}: {problem.message}", span=span_of(op), hint=hint)
            )
        return rule

    return rule_of


def _called(function: Callable[[OpT], object], op: OpT) -> object:
    try:
        return function(op)
    except SdyError as error:
        raise located(error, op) from error
    except Exception as error:  # the code of the user may raise anything
        hint = "fix the error in the function that returns the rule"
        raise user_code_error_at(op, "SDY-R102", _described(op), error, hint) from error


def _described(op: Operation) -> str:
    return f"the sharding rule of {f'@{op.call_target_name.data}' if isinstance(op, CustomCallOp) else op.name}"


def _shapes(values: Sequence[SSAValue], mappings: Sequence[TensorMapping]) -> tuple[ValueShape, ...]:
    """Return the shapes that a rule must map. It may map no dims of a value without a static shape, as rules of sdy."""
    shapes: list[ValueShape] = []
    for index, value in enumerate(values):
        shape = value_shape(value.type)
        is_unmapped = index < len(mappings) and not mappings[index]
        shapes.append(() if isinstance(shape, Shapeless) or (None in shape and is_unmapped) else shape)
    return tuple(shapes)
