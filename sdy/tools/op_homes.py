"""Generates the output of `sdy-opt --list-op NAME`: what each stage knows about an op, and what it need not know.

Every stage has one table of ops, whose functions stand in the file of the op's family. A part that is not needed has a
reason; one that is missing is named with the file that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import Enum
from typing import Any, NamedTuple

from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from sdy.cost.flops import FLOPS
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.facts.traits import Elementwise, PassesThrough, has_fact, linearity
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.module_text import make_context
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.evidence.audit.catalogue.all import NOT_AUDITED, programs
from sdy.evidence.proof.lemmas import LEMMAS
from sdy.evidence.sizes.ops.all import TABLE as SIZES
from sdy.interpreter.ops.all import KERNELS
from sdy.partitioner.layout_search.linearity import PARTIAL_SETS
from sdy.partitioner.local.all import CHECKS, FORMS
from sdy.partitioner.on_shards.shard_facts import FACTS, ShardFacts
from sdy.partitioner.padding.before_reshards import RULES as PADDING
from sdy.partitioner.padding.before_reshards import SAME_PADDING
from sdy.passes.chlo.expansions import EXPANSIONS
from sdy.rules.all import RULES, WITHOUT_RULE, has_rule_by_trait
from sdy.rules.partitioner_rules import PARTITIONER_RULES
from sdy.tools.markdown import summary_of

_DYNAMIC = "dynamic shapes are not sharded"
_LOWERED = "JAX lowers it to other ops before sharding; unsharded otherwise"
_NO_TENSOR = "its values are not tensors"
# Ops that need no sharding rule, although the partitioner does not know otherwise, and why.
RULES_NOT_NEEDED = {
    "stablehlo.composite": "sharded as the call of its decomposition",
    "stablehlo.collective_reduce": "a collective of a local program",
    "stablehlo.replica_id": "a property of the device",
    "stablehlo.rng": "every device would draw other numbers",
    "chlo.scan": "Shardy has no rule; computed unsharded",
    **dict.fromkeys(("stablehlo.torch_index_select", "stablehlo.einsum", "stablehlo.unary_einsum"), _LOWERED),
    **dict.fromkeys(("chlo.constant", "chlo.constant_like"), _LOWERED),
    **{op.name: _LOWERED for op in CHLO.operations if op.name.startswith("chlo.broadcast_")},
    **dict.fromkeys(("stablehlo.tuple", "stablehlo.async_start", "stablehlo.async_done"), _NO_TENSOR),
    **{op.name: _DYNAMIC for op in STABLEHLO.operations if "dynamic_" in op.name and op not in RULES},
    "stablehlo.set_dimension_size": _DYNAMIC,
}
# Ops that the interpreter runs without a kernel, and how.
KERNELS_NOT_NEEDED = {
    "stablehlo.tuple": "only packs values",
    "stablehlo.get_tuple_element": "only unpacks values",
    "stablehlo.async_done": "only unpacks the future",
    "stablehlo.uniform_quantize": "a conversion of stored elements",
    "stablehlo.uniform_dequantize": "a conversion of stored elements",
    "chlo._asin_acos_kernel": "an internal step of a lowering",
}


class State(Enum):
    """The answer to whether a stage knows an op."""

    PRESENT = "present"
    NOT_NEEDED = "not needed"
    MISSING = "missing"


class Home(NamedTuple):
    """The knowledge of one stage about an op: its words for it, why it needs none, or the file where it is missing."""

    stage: str
    state: State
    text: str


def op_page(name: str) -> str:
    """Return a page about the op `name`, a line for each stage. Raises: SdyError SDY-T002 if no op has this name."""
    op_class = make_context().get_optional_op(name)
    if op_class is None:
        known = (op.name for dialect in (STABLEHLO, CHLO, SDY) for op in dialect.operations)
        raise SdyError(Diagnostic("SDY-T002", f"unknown op {name}", hint=similar_name_hint(name, known)))
    lines = [f"{name}: {summary_of(op_class.__doc__ or '')}"]
    for stage, state, text in homes(op_class):
        lines.append(f"  {stage:12} {text if state is State.PRESENT else f'{state.value}: {text}'}")
    return "\n".join(lines) + "\n"


def homes(op_class: type[Operation]) -> Iterator[Home]:
    """Yield what each stage knows about the ops of a class, in the order in which a program meets the stages."""
    family = op_class.__module__.rpartition(".")[2]
    yield Home("declaration", State.PRESENT, _file(op_class))
    facts = [repr(trait) for trait in op_class.traits if type(trait).__module__ == Elementwise.__module__]
    yield _present_if("facts", ", ".join(facts), "none is true of it: sdy/dialects/facts/traits.py")
    checks = op_class.CHECKS if issubclass(op_class, StablehloOp) else ()
    yield _present_if("checks", ", ".join(check.__name__ for check in checks), "its declaration says all")
    if op_class.name.startswith("chlo."):
        yield _of_table("lowering", EXPANSIONS, op_class, "by a formula of sdy/passes/chlo/formulas.py, or not at all")
    yield _rule(op_class, family)
    kernel_reason = "a terminator" if has_fact(op_class, IsTerminator) else KERNELS_NOT_NEEDED.get(op_class.name)
    yield _of_table("kernel", KERNELS, op_class, kernel_reason, f"sdy/interpreter/ops/{family}.py")
    yield _present_if("on shards", _on_shards(FACTS.get(op_class)), "its sharding rule says all")
    yield _of_table("local form", FORMS, op_class, "only the types change")
    yield _of_table("local check", CHECKS, op_class, "all tensors must agree on each factor")
    alike = op_class in SAME_PADDING or has_fact(op_class, Elementwise) or has_fact(op_class, PassesThrough)
    yield _of_table("padding", PADDING, op_class, "pads what is padded" if alike else "computed without padding")
    pass_by = "pass through, by its facts" if linearity(op_class) else "are added up before it"
    yield _of_table("partial sums", PARTIAL_SETS, op_class, pass_by)
    yield _of_table("flops", FLOPS, op_class, "the vector unit keeps up with memory")
    by_rule = "all dims correspond" if has_fact(op_class, Elementwise) else "keeps its sizes in a reduced program"
    yield _of_table("sizes", SIZES, op_class, by_rule)
    lemma = LEMMAS.get(op_class.name)
    yield _present_if("proof", "" if lemma is None else _described(lemma), "`sdy prove` does not prove it")
    yield _audit(op_class, family)


def _on_shards(facts: ShardFacts | None) -> str:
    """Return the facts that are not the usual ones."""
    changed = () if facts is None else (f for f in fields(facts) if getattr(facts, f.name) != f.default)
    values = ((each.name, getattr(facts, each.name)) for each in changed)
    return ", ".join(name if value is True else f"{name}: {_shown(value)}" for name, value in values)


def _shown(value: object) -> str:
    return summary_of(value.__doc__ or "") if callable(value) else str(value).lower()


def _rule(op_class: type[Operation], family: str) -> Home:
    for table in (RULES, PARTITIONER_RULES):
        if op_class in table:
            return _of_table("rule", table, op_class)
    facts = FACTS.get(op_class)
    if has_rule_by_trait(op_class):
        return Home("rule", State.PRESENT, "element-wise, from its traits")
    is_without = op_class in WITHOUT_RULE or (facts is not None and not facts.has_rule)
    reason = "nothing propagates through it, or its regions say how" if is_without else None
    reason = "a terminator" if has_fact(op_class, IsTerminator) else reason or RULES_NOT_NEEDED.get(op_class.name)
    return _present_if("rule", "", reason, f"sdy/rules/{family}.py")


def _audit(op_class: type[Operation], family: str) -> Home:
    has_rule = op_class in RULES or op_class in PARTITIONER_RULES
    reason = NOT_AUDITED.get(op_class.name) if has_rule else "has no rule"
    is_audited = any(_names(text, op_class.name) for text in programs())
    text = "its rule is audited" if is_audited else ""
    return _present_if("audit", text, reason, f"sdy/evidence/audit/catalogue/{family}.py")


def _names(program: str, name: str) -> bool:
    return f'"{name}"' in program or f"= {name} " in program or f"= {name}(" in program


def _of_table(
    stage: str, table: OpTable[Any, Any], op_class: type[Operation], reason: str | None = None, place: str = ""
) -> Home:
    entry = table.entry(op_class)
    return _present_if(stage, "" if entry is None else _described(entry), reason, place)


def _present_if(stage: str, text: str, reason: str | None, place: str = "") -> Home:
    if text:
        return Home(stage, State.PRESENT, text)
    return Home(stage, State.MISSING, f"add it to {place}") if reason is None else Home(stage, State.NOT_NEEDED, reason)


def _described(function: Callable[..., object]) -> str:
    summary = summary_of(function.__doc__ or "")
    return f"{_file(function)}: {summary}" if summary else _file(function)


def _file(declared: type | Callable[..., object]) -> str:
    return declared.__module__.replace(".", "/") + ".py"
