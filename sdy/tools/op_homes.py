"""Generates the output of `sdy-opt --list-op NAME`: what each stage knows about an op, and what it need not know.

Every stage has one table of ops, whose functions stand in the file of the op's family. A part that is not needed has a
reason, and the file in which a better one would be; one that is missing is named with the file that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.traits import IsTerminator

import sdy
from sdy.cost.flops import FLOPS
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.facts.traits import (
    Contraction,
    Elementwise,
    MovesElements,
    PassesThrough,
    collective_kind,
    has_fact,
    linearity,
)
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.module_text import make_context
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo import families
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.evidence.audit.catalogue.all import NOT_AUDITED, programs
from sdy.evidence.proof.lemmas import LEMMAS
from sdy.evidence.sizes.ops.all import TABLE as SIZES
from sdy.interpreter.ops.all import KERNELS
from sdy.interpreter.ops.on_field import KERNELS as ON_FIELD
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
# Ops without regions whose only kernel also runs in exact numbers, which `sdy verify` draws from a field, and why.
EXACT_KERNELS_NOT_NEEDED = {
    **dict.fromkeys((f"stablehlo.{each}" for each in ("after_all", "create_token")), "its values are tokens"),
    **dict.fromkeys((f"stablehlo.{each}" for each in ("infeed", "outfeed", "recv", "send")), "only passes values on"),
    **dict.fromkeys(("stablehlo.get_dimension_size", "stablehlo.set_dimension_size"), "only the shape counts"),
    **dict.fromkeys(("stablehlo.partition_id", "stablehlo.replica_id", "stablehlo.rng_bit_generator"), "of integers"),
    **dict.fromkeys(("chlo.broadcast_select", "chlo.top_k"), "selects elements"),
    **dict.fromkeys(
        (f"stablehlo.{each}" for each in ("batch_norm_grad", "batch_norm_inference", "batch_norm_training")),
        "its kernel computes both",
    ),
    "stablehlo.bitcast_convert": "its floats stay floats",
    "stablehlo.cross-replica-sum": "its kernel adds both",
    "stablehlo.triangular_solve": "its kernel computes both",
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
    is_found = not op_class.name.startswith("stablehlo.") or families.op_class(op_class.name) is not None
    yield _present_if("declaration", _file(op_class) if is_found else "", None, _file(families.op_class))
    facts = [repr(trait) for trait in op_class.traits if type(trait).__module__ == Elementwise.__module__]
    yield _present_if("facts", ", ".join(facts), "none is true of it", "sdy/dialects/facts/traits.py")
    checks = op_class.CHECKS if issubclass(op_class, StablehloOp) else ()
    names = ", ".join(check.__name__ for check in checks)
    yield _present_if("checks", names, "its declaration says all", _file(op_class))
    if op_class.name.startswith("chlo."):
        yield _of_table("lowering", EXPANSIONS, op_class, "by a formula, or not at all", "sdy/passes/chlo/formulas.py")
    yield _rule(op_class, family)
    kernel_reason = "a terminator" if has_fact(op_class, IsTerminator) else KERNELS_NOT_NEEDED.get(op_class.name)
    yield _of_table("kernel", KERNELS, op_class, kernel_reason, _file_of_family("sdy/interpreter/ops", family))
    yield _of_table(
        "exact kernel", ON_FIELD, op_class, kernel_reason or _exact_reason(op_class), "sdy/interpreter/ops/on_field.py"
    )
    yield _present_if("on shards", _on_shards(FACTS.get(op_class)), "its sharding rule says all", _file(ShardFacts))
    place = _file_of_family("sdy/partitioner/local", family)
    yield _of_table("local form", FORMS, op_class, "only the types change", place)
    yield _of_table("local check", CHECKS, op_class, "all tensors must agree on each factor", place)
    place = _file_of_family("sdy/partitioner/padding", family)
    alike = op_class in SAME_PADDING or has_fact(op_class, Elementwise) or has_fact(op_class, PassesThrough)
    yield _of_table("padding", PADDING, op_class, "pads what is padded" if alike else "computed without padding", place)
    pass_by = "pass through, by its facts" if linearity(op_class) else "are added up before it"
    yield _of_table("partial sums", PARTIAL_SETS, op_class, pass_by, "sdy/partitioner/layout_search/linearity.py")
    yield _of_table("flops", FLOPS, op_class, "the vector unit keeps up with memory", "sdy/cost/flops.py")
    kind = collective_kind(op_class)
    if kind is not None or family == "collectives":
        sent = "" if kind is None else f"sdy/cost/collectives.py: as many as {kind.value}"
        yield _present_if("bytes sent", sent, "only those of ops with CollectiveOf are counted", _file(op_class))
    by_rule = "all dims correspond" if has_fact(op_class, Elementwise) else "keeps its sizes in a reduced program"
    yield _of_table("sizes", SIZES, op_class, by_rule, _file_of_family("sdy/evidence/sizes/ops", family))
    lemma = LEMMAS.get(op_class.name)
    place = f"sdy/evidence/proof/{'collectives' if family == 'collectives' else 'lemmas'}.py"
    proof = "" if lemma is None else _described(lemma)
    yield _present_if("proof", proof, "`sdy verify` runs it in exact numbers", place)
    yield _audit(op_class, family)


def _exact_reason(op_class: type[Operation]) -> str | None:
    """Return why an op needs no kernel for exact numbers beside its other one; None if it needs one."""
    if has_fact(op_class, Elementwise) and op_class not in KERNELS:
        return "follows from a function among those of the kernels"
    if op_class.name.startswith("sdy.") or has_fact(op_class, MovesElements) or has_fact(op_class, PassesThrough):
        return "only moves elements"
    if issubclass(op_class, IRDLOperation) and op_class.get_irdl_definition().regions:
        return "its regions compute"
    return (
        "its kernel multiplies both" if has_fact(op_class, Contraction) else EXACT_KERNELS_NOT_NEEDED.get(op_class.name)
    )


def _file_of_family(package: str, family: str) -> str:
    """Return the file of a family in a package, or the package if the family has no file there."""
    file = f"{package}/{family}.py"
    return file if (Path(sdy.__file__).parents[1] / file).exists() else package


def _on_shards(facts: ShardFacts | None) -> str:
    """Return the facts that are not the usual ones."""
    changed = () if facts is None else (f for f in fields(facts) if getattr(facts, f.name) != f.default)
    values = ((each.name, getattr(facts, each.name)) for each in changed)
    told = ", ".join(name if value is True else f"{name}: {_shown(value)}" for name, value in values)
    return told and f"{_file(ShardFacts)}: {told}"


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
    return _present_if("rule", "", reason, _file_of_family("sdy/rules", family))


def _audit(op_class: type[Operation], family: str) -> Home:
    has_rule = op_class in RULES or op_class in PARTITIONER_RULES
    reason = NOT_AUDITED.get(op_class.name) if has_rule else "has no rule"
    is_audited = any(_names(text, op_class.name) for text in programs())
    text = "its rule is audited; findings that have a reason: sdy/evidence/audit/summary.py" if is_audited else ""
    return _present_if("audit", text, reason, _file_of_family("sdy/evidence/audit/catalogue", family))


def _names(program: str, name: str) -> bool:
    return f'"{name}"' in program or f"= {name} " in program or f"= {name}(" in program


def _of_table(
    stage: str, table: OpTable[Any, Any], op_class: type[Operation], reason: str | None = None, place: str = ""
) -> Home:
    entry = table.entry(op_class)
    return _present_if(stage, "" if entry is None else _described(entry), reason, place)


def _present_if(stage: str, text: str, reason: str | None, place: str) -> Home:
    if text:
        return Home(stage, State.PRESENT, text)
    if reason is None:
        return Home(stage, State.MISSING, f"add it to {place}")
    return Home(stage, State.NOT_NEEDED, f"{reason} ({place})")


def _described(function: Callable[..., object]) -> str:
    summary = summary_of(function.__doc__ or "")
    return f"{_file(function)}: {summary}" if summary else _file(function)


def _file(declared: type | Callable[..., object]) -> str:
    return declared.__module__.replace(".", "/") + ".py"
