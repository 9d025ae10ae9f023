"""Verification of the attributes of an op whose names begin with `sdy.`: shardings, rules and propagation edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, TupleType
from xdsl.ir import Attribute, Operation

from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.sdy.attrs import (
    BLOCK_ARG_EDGES,
    EDGES,
    RESULT_EDGES,
    OpShardingRuleAttr,
    PropagationEdgesAttr,
    TensorShardingPerValueAttr,
)
from sdy.dialects.sdy.ops import DataFlowEdgeOp, FuncDataFlowEdgeOp
from sdy.dialects.sdy.types import value_shape
from sdy.dialects.shardings import SHARDING, sharding_of
from sdy.dialects.verification.sdy_scope import Scope, failure, raise_problem
from sdy.model.checks.check_edges import check_edges_have_shardings, check_flows, is_in_range, nodes_of
from sdy.model.checks.check_rule import check_rule
from sdy.model.mesh_table import common_mesh
from sdy.model.propagation_edges import EdgeNodeKind, PropagationEdges
from sdy.model.shape import Shapeless, ValueShape
from sdy.model.sharding import TensorSharding

OpT = TypeVar("OpT", bound=Operation)
AttributeT = TypeVar("AttributeT", bound=Attribute)

SHARDING_RULE = "sdy.sharding_rule"
_PREFIX = "sdy."
_Key = tuple[int | tuple[int, ...], str, int]  # the types of an op, the name and the id of an attribute


class AttributeChecks:
    """Verifies attributes op by op. Remembers which attributes fit which types, in which scope.

    `signatures` are numbers that stand for the types of an op, by the id of the op; ops without one have no number.
    """

    def __init__(self, signatures: Mapping[int, int]) -> None:
        self._signatures = signatures
        self.have_seen_edges = False
        # By scope: the types, the name and the id of each valid attribute. The values are the objects whose ids are in
        # the keys, which so stay alive.
        self._valid: dict[tuple[int, frozenset[str]], dict[_Key, tuple[object, ...]]] = {}
        self._checked_once: dict[tuple[object, ...], tuple[object, ...]] = {}

    def check(self, op: Operation, scope: Scope) -> None:
        """Check rules O1 to O5, by attribute name in alphabetical order."""
        for _ in self.unlike_valid((op,), scope):
            valid, types = self._valid_in(scope), self._types(op)
            for name, attr in sorted(op.attributes.items()):
                if name.startswith(_PREFIX):
                    self._check_attribute(op, name, attr, scope)
                if name != EDGES:  # which depend on the shardings of the operands, too
                    valid[types, name, id(attr)] = scope.meshes, attr, *op.operand_types, *op.result_types

    def unlike_valid(self, ops: Iterable[Operation], scope: Scope) -> Iterator[Operation]:
        """Yield those of some ops, all in this scope, that have an attribute not known to be valid for their types.

        Ops may be checked in between.
        """
        valid, signatures = self._valid_in(scope), self._signatures
        for op in ops:
            types = signatures.get(id(op)) or _type_ids(op)
            for name, attr in op.attributes.items():
                if (types, name, id(attr)) not in valid:
                    yield op
                    break

    def _valid_in(self, scope: Scope) -> dict[_Key, tuple[object, ...]]:
        return self._valid.setdefault((id(scope.meshes), scope.manual_axes), {})

    def _types(self, op: Operation) -> int | tuple[int, ...]:
        """Return a number or the ids that stand for the types of an op."""
        return self._signatures.get(id(op)) or _type_ids(op)

    def check_once(self, check: Callable[[OpT, Scope], None], op: OpT, scope: Scope) -> None:
        """Run `check` unless an op with the same properties and result types was valid; it depends on nothing else."""
        properties = op.properties
        parts = (check, scope.meshes, *properties.values(), *map(type_of, op.results))
        key = (scope.manual_axes, *properties, *map(id, parts))
        if key not in self._checked_once:
            check(op, scope)
            self._checked_once[key] = parts

    def _check_attribute(self, op: Operation, name: str, attr: Attribute, scope: Scope) -> None:
        if name == SHARDING:
            shardings = require_attribute(op, name, attr, TensorShardingPerValueAttr).data
            scope.require_each_fits(op, shardings, op.result_types, "result")
        elif name == SHARDING_RULE:
            rule = require_attribute(op, name, attr, OpShardingRuleAttr).data
            shapes = tuple(map(_shape_in_rule, op.operand_types)), tuple(map(_shape_in_rule, op.result_types))
            raise_problem(check_rule(rule, *shapes), op)
        elif name == EDGES:
            self.have_seen_edges = True
            _check_edges(op, require_attribute(op, name, attr, PropagationEdgesAttr).data, scope)
        elif name in (BLOCK_ARG_EDGES, RESULT_EDGES):
            for element in require_attribute(op, name, attr, ArrayAttr).data:
                require_attribute(op, f"an element of {name}", element, PropagationEdgesAttr)


def require_attribute(op: Operation, name: str, attr: Attribute, kind: type[AttributeT]) -> AttributeT:
    """Return `attr`, the attribute of `op` with this name, as a `kind`. Raises: SdyError SDY-S031."""
    if not isinstance(attr, kind):
        raise failure(op, "SDY-S031", f"{name} must be a #{kind.name} attribute, got {attr}")
    return attr


def _type_ids(op: Operation) -> tuple[int, ...]:
    operands = operands_of(op)
    return len(operands), *map(id, map(type_of, operands)), *map(id, map(type_of, op.results))


def _shape_in_rule(value_type: Attribute) -> ValueShape:
    return Shapeless.TUPLE if isinstance(value_type, TupleType) else value_shape(value_type)


def _check_edges(op: Operation, edges: PropagationEdges, scope: Scope) -> None:
    """Check rules P5 to P8 of propagation edges."""
    counts = len(op.operands), len(op.results)
    shardings: list[TensorSharding] = []
    for node in nodes_of(edges):
        if is_in_range(node, *counts):
            values = op.operands if node.kind is EdgeNodeKind.OPERAND else op.results
            sharding = sharding_of(values[node.index])
            if sharding is not None:
                shardings.append(sharding)
    raise_problem(check_edges_have_shardings(shardings), op)
    common = common_mesh(shardings, scope.meshes)
    # The sources of an edge op are not only its operands: a while op also has the values that its body returns.
    any_index = isinstance(op, DataFlowEdgeOp | FuncDataFlowEdgeOp)
    raise_problem(check_flows(edges, None if common is None else common.mesh, *counts, any_index=any_index), op)
