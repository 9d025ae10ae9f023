"""The properties of ops that propagation needs, computed once for all ops of one class with equal types and properties.

Source: docs/spec/02, 1.1, 1.6, 5.2 and 5.3.
"""

# ruff: noqa: PERF401 (loops are faster here, because most ops have few operands, results and properties)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ShapedType, TupleType
from xdsl.dialects.func import CallOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.data_flow import DATA_FLOW_OPS
from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy.ops import ConstantOp, DataFlowEdgeOp, FuncDataFlowEdgeOp, PropagationBarrierOp, ReturnOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import STORED_ELSEWHERE
from sdy.dialects.stablehlo.control import ReturnOp as StablehloReturnOp
from sdy.dialects.stablehlo.shape import ConstantOp as StablehloConstantOp
from sdy.dialects.stablehlo.shape import IotaOp
from sdy.model.rule import OpShardingRule
from sdy.model.rule_builder import identity_rule
from sdy.passes.rewriting.op_traits import is_elementwise, is_erasable, pass_through
from sdy.propagation.graph import NO_RULE, NodeKind, Numbering, PassThrough
from sdy.rules.all import BY_TYPE, RULE_ATTRIBUTE

RuleOf = Callable[[Operation], OpShardingRule | None]
FactsKey = tuple[type[Operation] | int, ...]


@dataclass(frozen=True, slots=True)
class OpFacts:
    """The properties of one op. `ranks` are those of its results, 0 if the type has no static shape.

    `keeps_shardings` is set if the shardings of the results are not simply in the attribute `sdy.sharding`, and
    `is_linked` if the op is linked to more nodes than those that define its operands.
    """

    kind: NodeKind
    rule: int
    is_erasable: bool
    is_elementwise: bool
    pass_through: PassThrough
    ranks: tuple[int, ...]
    are_scalars: tuple[bool, ...]  # per result
    keeps_shardings: bool
    has_one_result: bool  # whose sharding is in the attribute `sdy.sharding`
    is_linked: bool


class FactSource:
    """A cache of the facts of ops. Rules get their numbers in `rules`."""

    def __init__(self, rule_of: RuleOf, rules: Numbering[OpShardingRule]) -> None:
        self._rule_of = rule_of
        self._rules = rules
        # By class and identities. The op is kept so that its types and properties stay alive, and their ids unique.
        self._known: dict[FactsKey, tuple[OpFacts, Operation]] = {}

    def __call__(self, op: Operation) -> OpFacts:
        """Return the facts of `op`. Raises: SdyError SDY-T103 if a result has no static shape."""
        op_class = type(op)
        is_by_type = _IS_BY_TYPE.get(op_class)
        if is_by_type is None or RULE_ATTRIBUTE in op.attributes:
            return self._compute(op)
        parts: list[type[Operation] | int] = [op_class]
        for result in op.results:
            parts.append(id(type_of(result)))
        if is_by_type:
            for operand in operands_of(op):
                parts.append(id(type_of(operand)))
            for attr in op.properties.values():
                parts.append(id(attr))
        key = tuple(parts)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._compute(op), op
        return known[0]

    def _compute(self, op: Operation) -> OpFacts:
        shapes = [_shape_of_result(op, index) for index in range(len(op.results))]
        kind, rule = self._kind_and_rule(op)
        keeps_shardings = type(op) in STORED_ELSEWHERE
        return OpFacts(
            kind,
            NO_RULE if rule is None else self._rules.number(rule),
            is_erasable(op),
            is_elementwise(op),
            pass_through(op),
            tuple(len(shape or ()) for shape in shapes),
            tuple(shape == () for shape in shapes),
            keeps_shardings,
            len(shapes) == 1 and not keeps_shardings,
            type(op) in DATA_FLOW_OPS or kind not in (NodeKind.RULE, NodeKind.OPAQUE),
        )

    def _kind_and_rule(self, op: Operation) -> tuple[NodeKind, OpShardingRule | None]:
        kind = _KINDS.get(type(op))
        if kind is None:
            is_terminator = op.has_trait(IsTerminator, value_if_unregistered=False)
            kind = _KINDS[type(op)] = NodeKind.TERMINATOR if is_terminator else NodeKind.OPAQUE
        if isinstance(op, PropagationBarrierOp):
            return kind, identity_rule(static_shape(op.input.type) or ())
        if kind is not NodeKind.OPAQUE:
            return kind, None
        rule = self._rule_of(op)
        return (kind if rule is None else NodeKind.RULE), rule


# Ops whose facts depend on their class, types and properties only (True), or, for ops that never have a rule, on their
# class and result types only (False).
_IS_BY_TYPE: dict[type[Operation], bool] = {
    **dict.fromkeys(BY_TYPE, True),
    ConstantOp: False,
    StablehloConstantOp: False,
    IotaOp: False,
    DataFlowEdgeOp: False,
    FuncDataFlowEdgeOp: False,
    CallOp: False,
    FuncReturnOp: False,
    ReturnOp: False,
    StablehloReturnOp: False,
}
# The kind of an op by its class; other classes are added when they are first seen.
_KINDS: dict[type[Operation], NodeKind] = {
    DataFlowEdgeOp: NodeKind.EDGE,
    FuncDataFlowEdgeOp: NodeKind.EDGE,
    PropagationBarrierOp: NodeKind.BARRIER,
    CallOp: NodeKind.CALL,
    FuncReturnOp: NodeKind.RETURN,
}


def _shape_of_result(op: Operation, index: int) -> tuple[int, ...] | None:
    value_type = op.results[index].type
    shape = static_shape(value_type)
    if shape is None and isinstance(value_type, ShapedType | TupleType):
        message = f"propagation expected tensors of static shape and no tuples, got a result of type {value_type}"
        raise SdyError(Diagnostic("SDY-T103", message, span_of(op), hint="lower the program for concrete sizes"))
    return shape
