"""Verification of shardings against meshes, types and enclosing ops, which xDSL's per-op verification cannot see.

The walk reports problems in the same order as Shardy: for each op, first its `sdy.` attributes (phase B1), then the
rules of the op (B2, B3); at the end of each module, the ops that refer to meshes (C). Source: docs/spec/01, 0.3, 4, 5.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from sdy.diagnostics.diagnostic import Note
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import (
    TensorShardingAttr,
)
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import SHARDING
from sdy.dialects.verification.attribute_checks import AttributeChecks, require_attribute
from sdy.dialects.verification.sdy_ops import STRUCTURE_RULES, USE_RULES, check_structure, check_use
from sdy.dialects.verification.sdy_scope import Scope, failure

AttributeT = TypeVar("AttributeT", bound=Attribute)

# Ops with rules of their own.
_SPECIAL = frozenset[type[Operation]]((FuncOp, *STRUCTURE_RULES, *USE_RULES))


def verify_sdy(module: ModuleOp, attributes: AttributeChecks) -> None:
    """Verify every sharding, mesh, rule and `sdy` op in `module`, nested modules included.

    The structure of each op must have been verified by xDSL.
    Raises: SdyError for the first problem.
    """
    # Attributes of the module op itself are outside of the module: they cannot refer to its meshes.
    attributes.check(module, Scope({}))
    _Walk(attributes).verify_inside(module)


class _Walk:
    """The walk over a module and its nested modules."""

    def __init__(self, attributes: AttributeChecks) -> None:
        self._attributes = attributes
        self._ops_with_use_rules: list[tuple[Operation, Scope]] = []

    def verify_inside(self, module: ModuleOp) -> None:
        """Verify the ops of a module; ops that refer to meshes come last, when all others are valid."""
        outer, self._ops_with_use_rules = self._ops_with_use_rules, []
        self._walk(module, Scope(meshes_of(module)))
        check_symbols(module)
        for op, scope in self._ops_with_use_rules:
            check_use(op, scope)
        self._ops_with_use_rules = outer

    def _walk(self, parent: Operation, scope: Scope) -> None:
        for block in blocks_of(parent):
            for op in ops_in(block):
                if op.attributes:
                    self._attributes.check(op, scope)
                if op.regions or type(op) in _SPECIAL:
                    self._check_special(op, scope)

    def _check_special(self, op: Operation, scope: Scope) -> None:
        """Check the rules of this op class, then the ops inside."""
        if isinstance(op, FuncOp):
            check_function_shardings(op, scope)
        elif type(op) in STRUCTURE_RULES:
            check_structure(op, scope)
        if type(op) in USE_RULES:
            self._ops_with_use_rules.append((op, scope))
        if isinstance(op, ModuleOp):
            self.verify_inside(op)
        elif op.regions:
            self._walk(op, scope.within(op) if isinstance(op, ManualComputationOp) else scope)


def check_function_shardings(func: FuncOp, scope: Scope) -> None:
    """Check rules F1 and F2 for the arguments, then for the results."""
    entry = func.body.blocks.first
    for side, attrs, types, arguments in (
        ("argument", func.arg_attrs, func.function_type.inputs.data, () if entry is None else entry.args),
        ("result", func.res_attrs, func.function_type.outputs.data, ()),
    ):
        for index, (entry, value_type) in enumerate(zip(attrs or (), types, strict=False)):
            attr = entry.data.get(SHARDING)
            if attr is not None:
                where = side if len(types) == 1 else f"{side} {index}"
                sharding = require_attribute(func, f"{SHARDING} of {where}", attr, TensorShardingAttr).data
                argument = arguments[index] if arguments else None
                scope.require_fits(func, sharding, value_type, where, argument)


def check_symbols(module: ModuleOp) -> None:
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
