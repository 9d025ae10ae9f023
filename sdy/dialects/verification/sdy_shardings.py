"""Verification of shardings against meshes, types and enclosing ops, which xDSL's per-op verification cannot see.

The walk reports problems in the same order as Shardy: for each op, first its `sdy.` attributes (phase B1), then the
rules of the op (B2, B3); at the end of each module, the ops that refer to meshes (C). Source: docs/spec/01, 0.3, 4, 5.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TupleType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from sdy.diagnostics.diagnostic import Note
from sdy.dialects.ir.fast_ops import type_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import (
    OpShardingRuleAttr,
    PropagationEdgesAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdy.dialects.sdy.ops import DataFlowEdgeOp, FuncDataFlowEdgeOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sdy.types import value_shape
from sdy.dialects.shardings import SHARDING, sharding_of
from sdy.dialects.verification.sdy_ops import OPS_WITH_STRUCTURE_RULES, OPS_WITH_USE_RULES, check_structure, check_use
from sdy.dialects.verification.sdy_scope import Scope, failure, raise_problem
from sdy.model.checks.check_edges import check_edges_have_shardings, check_flows, is_in_range, nodes_of
from sdy.model.checks.check_rule import check_rule
from sdy.model.mesh_table import common_mesh
from sdy.model.propagation_edges import EdgeNodeKind, PropagationEdges
from sdy.model.shape import Shapeless, ValueShape
from sdy.model.sharding import TensorSharding

AttributeT = TypeVar("AttributeT", bound=Attribute)

_PREFIX = "sdy."
_SPECIAL = frozenset[type[Operation]]((FuncOp, *OPS_WITH_STRUCTURE_RULES, *OPS_WITH_USE_RULES))
_EDGE_LISTS = ("sdy.block_arg_propagation_edges", "sdy.result_propagation_edges")


def verify_sdy(module: ModuleOp) -> None:
    """Verify every sharding, mesh, rule and `sdy` op in `module`, nested modules included.

    The structure of each op must have been verified by xDSL.
    Raises: SdyError for the first problem.
    """
    # Attributes of the module op itself are outside of the module: they cannot refer to its meshes.
    walk = _Walk()
    walk.check_attributes(module, Scope({}))
    walk.verify_inside(module)


class _Walk:
    """The walk over a module and its nested modules. Remembers which shardings are known to fit which types."""

    def __init__(self) -> None:
        self._scopes: list[Scope] = []
        self._ops_with_use_rules: list[tuple[Operation, Scope]] = []
        # Keys are the ids of the scope, the attribute and the types, which all live at least as long as the walk.
        self._valid_shardings: set[tuple[int, ...]] = set()

    def verify_inside(self, module: ModuleOp) -> None:
        """Verify the ops of a module; ops that refer to meshes come last, when all others are valid."""
        outer, self._ops_with_use_rules = self._ops_with_use_rules, []
        self._walk(module, Scope(meshes_of(module)))
        _check_symbols(module)
        for op, scope in self._ops_with_use_rules:
            check_use(op, scope)
        self._ops_with_use_rules = outer

    def _walk(self, parent: Operation, scope: Scope) -> None:
        self._scopes.append(scope)
        for block in blocks_of(parent):
            for op in ops_in(block):
                if op.attributes:
                    self.check_attributes(op, scope)
                if op.regions or type(op) in _SPECIAL:
                    self._check_special(op, scope)

    def _check_special(self, op: Operation, scope: Scope) -> None:
        """Check the rules of this op class, then the ops inside."""
        if isinstance(op, FuncOp):
            _check_function(op, scope)
        elif type(op) in OPS_WITH_STRUCTURE_RULES:
            check_structure(op, scope)
        if type(op) in OPS_WITH_USE_RULES:
            self._ops_with_use_rules.append((op, scope))
        if isinstance(op, ModuleOp):
            self.verify_inside(op)
        elif op.regions:
            self._walk(op, scope.within(op) if isinstance(op, ManualComputationOp) else scope)

    def check_attributes(self, op: Operation, scope: Scope) -> None:
        """Check rules O1 to O5, by attribute name in alphabetical order."""
        attributes = op.attributes
        if SHARDING in attributes and len(attributes) == 1:  # nearly always
            self._check_result_shardings(op, attributes[SHARDING], scope)
            return
        for name in sorted([name for name in attributes if name.startswith(_PREFIX)]):
            attr = attributes[name]
            if name == SHARDING:
                self._check_result_shardings(op, attr, scope)
            elif name == "sdy.sharding_rule":
                rule = _require_attribute(op, name, attr, OpShardingRuleAttr).data
                operands = tuple(_shape_in_rule(value_type) for value_type in op.operand_types)
                raise_problem(check_rule(rule, operands, tuple(map(_shape_in_rule, op.result_types))), op)
            elif name == "sdy.propagation_edges":
                _check_edges(op, _require_attribute(op, name, attr, PropagationEdgesAttr).data, scope)
            elif name in _EDGE_LISTS:
                for element in _require_attribute(op, name, attr, ArrayAttr).data:
                    _require_attribute(op, f"an element of {name}", element, PropagationEdgesAttr)

    def _check_result_shardings(self, op: Operation, attr: Attribute, scope: Scope) -> None:
        key = (id(scope), id(attr), *map(id, map(type_of, op.results)))
        if key not in self._valid_shardings:
            shardings = _require_attribute(op, SHARDING, attr, TensorShardingPerValueAttr).data
            scope.require_each_fits(op, shardings, op.result_types, "result")
            self._valid_shardings.add(key)


def _require_attribute(op: Operation, name: str, attr: Attribute, kind: type[AttributeT]) -> AttributeT:
    if not isinstance(attr, kind):
        raise failure(op, "SDY-S031", f"{name} must be a #{kind.name} attribute, got {attr}")
    return attr


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


def _check_function(func: FuncOp, scope: Scope) -> None:
    """Check rules F1 and F2 for the arguments, then for the results."""
    for side, attrs, types in (
        ("argument", func.arg_attrs, func.function_type.inputs.data),
        ("result", func.res_attrs, func.function_type.outputs.data),
    ):
        for index, (entry, value_type) in enumerate(zip(attrs or (), types, strict=False)):
            attr = entry.data.get(SHARDING)
            if attr is not None:
                where = side if len(types) == 1 else f"{side} {index}"
                sharding = _require_attribute(func, f"{SHARDING} of {where}", attr, TensorShardingAttr).data
                scope.require_fits(func, sharding, value_type, where)


def _check_symbols(module: ModuleOp) -> None:
    """Check that symbol names are unique (rule MO2)."""
    defined: dict[str, Operation] = {}
    for op in module.ops:
        name = op.get_attr_or_prop("sym_name")
        if not isinstance(name, StringAttr):
            continue
        first = defined.setdefault(name.data, op)
        if first is not op:
            note = Note("the first definition is here", span_of(first))
            raise failure(op, "SDY-D102", f"redefinition of symbol @{name.data}", notes=(note,))
