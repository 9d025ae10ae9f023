"""The sharding rule of an op: the one in its attribute, or else the one of its class.

Source: docs/spec/03, 1.6, 3 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, wraps

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import IsTerminator

from sdy.diagnostics.diagnostic import Diagnostic, Severity
from sdy.dialects.data_flow import has_data_flow_edges
from sdy.dialects.facts.traits import Elementwise, has_fact
from sdy.dialects.ir.context import emit_once
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy import collectives as sdy_collectives
from sdy.dialects.sdy import ops as sdy_ops
from sdy.dialects.sdy.attrs import OpShardingRuleAttr
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo import collectives as communication
from sdy.dialects.stablehlo import shape as shapes
from sdy.dialects.stablehlo import slicing as slices
from sdy.dialects.stablehlo import tokens
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.dialects.text.printer import op_name
from sdy.grammar.write import write_rule
from sdy.model.rule import OpShardingRule
from sdy.model.rule_builder import RuleBuilder, identity_rule
from sdy.rules import (
    collectives,
    contraction,
    custom_calls,
    elementwise,
    gather_scatter,
    linalg,
    random,
    reduction,
    shape,
    slicing,
    window,
)

RULE_ATTRIBUTE = "sdy.sharding_rule"


def _in_mode(*, is_conservative: bool) -> OpTable[OpShardingRule | None]:
    """Return the rules of the ops that have another one in conservative mode."""

    def in_mode(
        rule: Callable[[Operation, bool], OpShardingRule | None],
    ) -> Callable[[Operation], OpShardingRule | None]:
        @wraps(rule)
        def rule_in_mode(op: Operation) -> OpShardingRule | None:
            return rule(op, is_conservative)

        return rule_in_mode

    return OpTable(*(table.with_entries(in_mode) for table in (slicing.BY_MODE, window.BY_MODE)))


RULES = OpTable[OpShardingRule | None](
    elementwise.RULES,
    contraction.RULES,
    reduction.RULES,
    shape.RULES,
    slicing.RULES,
    gather_scatter.RULES,
    _in_mode(is_conservative=False),
    collectives.RULES,
    linalg.RULES,
    random.RULES,
    custom_calls.RULES,
)
# Ops with another rule in conservative mode, which never propagates axes that might not divide a dim.
CONSERVATIVE = _in_mode(is_conservative=True)

# Ops whose rule depends only on their class, their types and their properties.
BY_TYPE = frozenset(
    (*elementwise.RULES, *contraction.RULES, *reduction.RULES, *shape.RULES, slices.SliceOp, slices.PadOp)
)
RuleKey = tuple[type[Operation] | Attribute | int | str | None, ...]

# Ops that are known to have no rule, so that no warning is emitted.
WITHOUT_RULE = frozenset[type[Operation]](
    (
        ModuleOp,
        FuncOp,
        CallOp,
        *(each for each in sdy_ops.OPS if each not in RULES),
        *sdy_collectives.OPS,
        shapes.ConstantOp,
        shapes.IotaOp,
        communication.InfeedOp,
        communication.OutfeedOp,
        communication.PartitionIdOp,
        communication.RecvOp,
        communication.SendOp,
        tokens.AfterAllOp,
        tokens.CreateTokenOp,
        tokens.GetTupleElementOp,
    )
)


def sharding_rule(op: Operation, *, conservative: bool = False) -> OpShardingRule | None:
    """Return the rule of `op`; None if nothing propagates through it.

    A rule attribute of the op takes precedence, whoever wrote it.
    """
    attribute = op.attributes.get(RULE_ATTRIBUTE)
    if isinstance(attribute, OpShardingRuleAttr):
        return attribute.data
    if conservative and type(op) in CONSERVATIVE:
        return CONSERVATIVE.get(op)
    return elementwise.pointwise(op) if has_rule_by_trait(type(op)) else RULES.get(op)


@cache
def has_rule_by_trait(op_class: type[Operation]) -> bool:
    """Return whether ops of a class, of a dialect other than StableHLO and CHLO, have a rule as elementwise ops.

    Shardy has rules for the ops of StableHLO that are in `RULES`, and for none of CHLO.
    """
    is_known_dialect = op_class.name.partition(".")[0] in ("stablehlo", "chlo")
    return has_fact(op_class, Elementwise) and not is_known_dialect


def is_known(op: Operation) -> bool:
    """Return whether it is known how shardings propagate through `op`, even if they do not."""
    if RULE_ATTRIBUTE in op.attributes or type(op) in WITHOUT_RULE:
        return True
    if isinstance(op, CustomCallOp):
        return custom_calls.is_known(op.call_target_name.data)
    return (
        type(op) in RULES
        or has_rule_by_trait(type(op))
        or has_data_flow_edges(op)
        or op.has_trait(IsTerminator, value_if_unregistered=False)
    )


class RuleCache:
    """A cache of sharding rules. For ops in `BY_TYPE`, equal ops share one rule."""

    def __init__(self, *, conservative: bool = False) -> None:
        self._conservative = conservative
        # By class and identities. The op is kept so that its types and properties stay alive, and their ids unique.
        self._by_type: dict[RuleKey, tuple[Operation, OpShardingRule | None]] = {}

    def __call__(self, op: Operation) -> OpShardingRule | None:
        """Return the rule of `op`."""
        key = None if RULE_ATTRIBUTE in op.attributes else rule_key(op)
        if key is None:
            return sharding_rule(op, conservative=self._conservative)
        known = self._by_type.get(key)
        if known is None:
            known = self._by_type[key] = op, sharding_rule(op, conservative=self._conservative)
        return known[1]


class RuleSource:
    """The sharding rules of ops, with one warning about an unknown custom call and one about another unknown op.

    Ops for which `is_ignored` returns True are never warned about.
    """

    def __init__(
        self,
        ctx: Context,
        *,
        conservative: bool = False,
        is_ignored: Callable[[Operation], bool] = lambda _: False,
    ) -> None:
        self._ctx = ctx
        self._rule_of = RuleCache(conservative=conservative)
        self._is_ignored = is_ignored

    def __call__(self, op: Operation) -> OpShardingRule | None:
        """Return the rule of `op`."""
        rule = self._rule_of(op)
        if rule is None and not is_known(op) and not self._is_ignored(op):
            self._warn(op)
        return rule

    def _warn(self, op: Operation) -> None:
        is_call = isinstance(op, CustomCallOp)
        name = f"custom call @{op.call_target_name.data}" if is_call else op_name(op)
        message = f"no sharding rule is known for {name}, so nothing propagates through it"
        diagnostic = Diagnostic(
            "SDY-R101", message, span_of(op), hint=rule_hint(op, RULE_ATTRIBUTE), severity=Severity.WARNING
        )
        emit_once(self._ctx, diagnostic, "custom calls" if is_call else "ops")


def rule_key(op: Operation) -> RuleKey | None:
    """Return a key of everything that the rule of an op depends on; None for ops that are not in `BY_TYPE`.

    The key has identities, so it is valid only as long as the op lives.
    """
    if type(op) not in BY_TYPE:
        return None
    types = [id(value.type) for value in (*operands_of(op), *op.results)]
    return type(op), op.attributes.get(RULE_ATTRIBUTE), *types, *op.properties, *map(id, op.properties.values())


def drop_rules(ops: Iterable[Operation]) -> None:
    """Remove the sharding rules of the ops, except custom ones, which the user wrote."""
    for op in ops:
        if RULE_ATTRIBUTE in op.attributes:
            rule = op.attributes[RULE_ATTRIBUTE]
            if isinstance(rule, OpShardingRuleAttr) and not rule.data.is_custom:
                del op.attributes[RULE_ATTRIBUTE]


def rule_hint(op: Operation, attribute: str) -> str | None:
    """Return a hint with a rule of the op, written as its `attribute`.

    If all tensors have one shape, it is the rule of an elementwise op; else each dim has a factor of its own.
    """
    shapes = [static_shape(value.type) for value in (*op.operands, *op.results)]
    if not shapes or any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    operands, results = known[: len(op.operands)], known[len(op.operands) :]
    if len(set(known)) == 1:
        rule, meaning = identity_rule(known[0], len(operands), len(results)), "if the op is elementwise, add"
    else:
        builder = RuleBuilder(map(len, operands), map(len, results))
        for tensor, shape in enumerate(known):
            for dim, size in enumerate(shape):
                dims = [dim if other == tensor else None for other in range(len(known))]
                builder.factor(size, dims[: len(operands)], dims[len(operands) :])
        rule, meaning = builder.build(), "add the rule, with one factor for dims that are sharded together:"
    text = write_rule(replace(rule, is_custom=True))
    in_jax = ""
    if isinstance(op, CustomCallOp):
        in_jax = "; in JAX, use custom_partitioning with its argument sharding_rule"
    return f"{meaning} {{{attribute} = #sdy.op_sharding_rule{text}}}{in_jax}"
