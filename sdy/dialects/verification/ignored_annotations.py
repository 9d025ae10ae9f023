"""Warnings about attributes and custom calls that look like shardings, and that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import Diagnostic, Severity, Span
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.ir.op_location import span_of, span_of_argument
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.attrs import ORIGIN_NAME, RECORDS
from sdy.dialects.stablehlo.calls import CUSTOM_PARTITIONING, CustomCallOp

# The attributes of the dialect that ops, arguments and results may have.
KNOWN = RECORDS | {
    ORIGIN_NAME,
    "sdy.sharding",
    "sdy.sharding_rule",
    "sdy.original_func_name",
    "sdy.func_manual_axes",
    "sdy.layer",
}
_FRONTEND = "frontend_attributes"
# Parts of the targets of custom calls by which partitioners are told something, and targets that tell them nothing.
_CALLS = ("sharding", "reshard", "spmd", "xla.sdy.")
_OTHER_CALLS = ("InspectSharding", CUSTOM_PARTITIONING)
# The frontend attributes that are read, unless they are malformed.
_FRONTEND_NAMES = ("xla.sdy.sharding", "xla.sdy.meshes", "xla.sdy.sharding_rule", "xla.sdy.sharding_group_id",
    "xla.sdy.in_shardings", "xla.sdy.out_shardings", "xla.sdy.manual_axes")  # fmt: skip
_HINT = "write its meaning with sdy.mesh and sdy.sharding, or sdy.sharding_constraint"


def ignored_annotations(module: ModuleOp) -> list[Diagnostic]:
    """Return a warning for each annotation that looks like a sharding, and that is ignored."""
    return list(_ignored(module))


def _ignored(module: ModuleOp) -> Iterator[Diagnostic]:
    yield from _of_attributes(module.attributes, "the module", span_of(module))
    for op in pre_order(module):
        if op.attributes:
            yield from _of_attributes(op.attributes, op.name, span_of(op))
        if isinstance(op, FuncOp):
            yield from _of_values(op)
        elif isinstance(op, CustomCallOp):
            target = op.call_target_name.data
            if any(part in target.lower() for part in _CALLS) and target not in _OTHER_CALLS:
                yield _warning("SDY-P012", f"the custom call @{target}, an annotation, is ignored", span_of(op), _HINT)


def _of_values(func: FuncOp) -> Iterator[Diagnostic]:
    for kind, attrs in (("argument", func.arg_attrs), ("result", func.res_attrs)):
        for index, entry in enumerate(attrs or ()):
            has_name = kind == "argument" and not func.is_declaration
            span = span_of_argument(func.body.block.args[index]) if has_name else span_of(func)
            yield from _of_attributes(entry.data, f"{kind} {index} of @{func.sym_name.data}", span)


def _of_attributes(attributes: Mapping[str, Attribute], owner: str, span: Span | None) -> Iterator[Diagnostic]:
    for name, attribute in attributes.items():
        if name.startswith("sdy."):
            if name not in KNOWN:
                hint = similar_name_hint(name, KNOWN) or f"attributes of sdy: {', '.join(sorted(KNOWN))}"
                yield _warning("SDY-P011", f"the attribute {name} of {owner} is unknown, and is ignored", span, hint)
        elif "sharding" in name.lower():
            yield _warning("SDY-P012", f"{name} = {attribute} of {owner} is ignored", span, _HINT)
        elif name.endswith(_FRONTEND) and isinstance(attribute, DictionaryAttr):
            for key, value in attribute.data.items():
                if "sharding" in key.lower() or "sdy." in key:
                    hint = None if key in _FRONTEND_NAMES else similar_name_hint(key, _FRONTEND_NAMES)
                    yield _warning("SDY-P012", f"{key} = {value} of {owner} is ignored", span, hint or _HINT)


def _warning(code: str, message: str, span: Span | None, hint: str) -> Diagnostic:
    return Diagnostic(code, message, span, hint=hint, severity=Severity.WARNING)
