"""Generates the reference page of ops: the syntax of the `sdy` ops, and the support of StableHLO and CHLO ops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, OptOperandDef, OptPropertyDef, PropertyDef, VarOperandDef, VarResultDef
from xdsl.traits import IsTerminator

from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.data_flow import DATA_FLOW_OPS
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.interpreter.ops.all import KERNELS
from sdy.partitioner.local.all import FORMS
from sdy.rules.all import RULES, WITHOUT_RULE, has_rule_by_trait
from sdy.tools.markdown import page, summary_of, table, text_of

_TITLE = """\
# Ops
"""
_SDY = """\
## Ops of sdy

The syntax of each op, and its operands, results, properties and regions. A name with `?` is optional; a name with `*`
stands for any number of values."""
_ATTRIBUTES = "## Attributes of sdy"
_TABLE = """\
## Ops of StableHLO and CHLO

The sharding rule maps dims to factors: dims with the same letter are sharded along the same axes. The kernel computes
the op in NumPy. The column "on one shard" describes how the op is lowered to shards; if it is empty, only the shapes of
the op change. CHLO ops are legalized to StableHLO before they are partitioned."""


def ops_page() -> str:
    """Return the text of the page."""
    own = (block for op in sorted(SDY.operations, key=_name) for block in _section(op))
    attributes = table(
        ("attribute", "syntax"),
        (
            (f"`{kind.name}`", summary_of(kind.__doc__ or ""))
            for kind in sorted(SDY.attributes, key=lambda kind: kind.name)
        ),
    )
    return page(_TITLE, _SDY, *own, _ATTRIBUTES, attributes, _TABLE, *_tables())


def _name(op: type[Operation]) -> str:
    return op.name


def _section(op: type[Operation]) -> Iterator[str | list[str]]:
    yield f"### {op.name}"
    yield from text_of(op)
    if issubclass(op, IRDLOperation):
        rows = [(what, names) for what, names in _parts(op) if names]
        if rows:
            yield table(("", ""), rows)


def _parts(op: type[IRDLOperation]) -> Iterator[tuple[str, str]]:
    """Yield the names of the operands, results, properties and regions of an op."""
    definition = op.get_irdl_definition()
    yield "operands", _listed((name, _mark(each)) for name, each in definition.operands)
    yield "results", _listed((name, _mark(each)) for name, each in definition.results)
    yield "properties", _listed((name, _mark(each)) for name, each in definition.properties.items())
    yield "regions", _listed((name, "") for name, _ in definition.regions)


def _mark(definition: object) -> str:
    has_default = isinstance(definition, PropertyDef) and definition.default_value is not None
    if has_default or isinstance(definition, OptOperandDef | OptPropertyDef):
        return "?"
    return "*" if isinstance(definition, VarOperandDef | VarResultDef) else ""


def _listed(names: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"`{name}{mark}`" for name, mark in names)


def _tables() -> Iterator[str | list[str]]:
    """Yield the heading and table of each family of ops, in alphabetical order."""
    families: dict[str, list[type[Operation]]] = {}
    for op in (*STABLEHLO.operations, *CHLO.operations):
        dialect, _, file = op.__module__.removeprefix("sdy.dialects.").partition(".")
        families.setdefault(f"{dialect}: {file.replace('_', ' ')}", []).append(op)
    for family in sorted(families, key=lambda name: (name.startswith("chlo"), name)):
        yield f"### {family}"
        rows = (
            (f"`{op.name}`", _rule(op), _kernel(op), summary_of(FORMS.documentation(op) or ""))
            for op in sorted(families[family], key=_name)
        )
        yield table(("op", "sharding rule", "kernel", "on one shard"), rows)


def _rule(op: type[Operation]) -> str:
    documentation = RULES.documentation(op)
    if documentation is not None:
        return summary_of(documentation)
    if has_rule_by_trait(op):
        return "element-wise, from its traits"
    if op in DATA_FLOW_OPS:
        return "data flow edges to and from its regions"
    return "not required" if op in WITHOUT_RULE or op.has_trait(IsTerminator) else "none: nothing is propagated"


def _kernel(op: type[Operation]) -> str:
    if op.has_trait(IsTerminator):
        return "region terminator"
    documentation = KERNELS.documentation(op)
    return "none" if documentation is None else summary_of(documentation)
