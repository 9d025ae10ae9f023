"""The audit of all rules of StableHLO and CHLO on the programs of the catalogue, summed up per op."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import parse_module
from sdy.evidence.audit.audit_rule import RuleAudit, audit_rule
from sdy.evidence.audit.catalogue.all import programs
from sdy.model.rule import OpShardingRule
from sdy.rules.all import CONSERVATIVE, sharding_rule
from sdy.rules.partitioner_rules import LENIENT_RULES, LOWERED_CHLO_RULES, PARTITIONER_RULES


@dataclass(slots=True)
class OpSummary:
    """The audits of the rules of one op: the number of programs, and those with findings."""

    op: str
    programs: int = 0
    unsound: list[RuleAudit] = field(default_factory=list[RuleAudit])
    incomplete: list[RuleAudit] = field(default_factory=list[RuleAudit])

    @property
    def is_as_known(self) -> bool:
        """True if all rules are sound, or if it is known that one is not."""
        return not self.unsound or self.op in UNSOUND

    @property
    def reasons(self) -> list[str]:
        """Why the rules are as they are, if there are findings."""
        tables = ((self.unsound, UNSOUND), (self.incomplete, INCOMPLETE))
        return list(dict.fromkeys(table[self.op] for found, table in tables if found and self.op in table))


def audit_catalogue(texts: Iterable[str] | None = None) -> list[OpSummary]:
    """Audit each rule of the op of each program, and return a summary per op, in the order of the programs."""
    return merged([_summary(audited_op(parse_module(text)))] for text in (programs() if texts is None else texts))


def _summary(op: Operation) -> OpSummary:
    audits = [audit_rule(op, rule) for rule in rules_of(op)]
    return OpSummary(op.name, 1, [each for each in audits if each.problems], [each for each in audits if each.missing])


def merged(parts: Iterable[Iterable[OpSummary]]) -> list[OpSummary]:
    """Return the summaries of the parts of a catalogue as one summary per op, in the order of the parts."""
    summaries: dict[str, OpSummary] = {}
    for each in chain.from_iterable(parts):
        summary = summaries.setdefault(each.op, OpSummary(each.op))
        summary.programs += each.programs
        summary.unsound += each.unsound
        summary.incomplete += each.incomplete
    return list(summaries.values())


def audited_op(module: ModuleOp) -> Operation:
    """Return the last op of a program of the catalogue before the terminator."""
    *_, op, _ = main_function(module).body.block.ops
    return op


def rules_of(op: Operation) -> Iterator[OpShardingRule]:
    """Yield the distinct rules of an op: those of propagation, of its conservative mode, and of the partitioner."""
    tables = (CONSERVATIVE, LOWERED_CHLO_RULES, PARTITIONER_RULES, LENIENT_RULES)
    candidates = (sharding_rule(op), *(table.get(op) for table in tables))
    yield from dict.fromkeys(rule for rule in candidates if rule is not None)


_PROPAGATION = "Only propagation uses this rule; the partitioner has a form of its own, which is right."
# Rules with a factor that is not sound on some programs.
UNSOUND = {
    "chlo.top_k": f"As in Shardy, the last dim passes through if all of its elements are kept. {_PROPAGATION}",
    "stablehlo.convolution": (
        "As in Shardy, the larger factor of a spatial dim is the major one. If windows do not overlap and are longer "
        f"than their number, it is the position in a window, though the window is major. {_PROPAGATION}"
    ),
}

_WINDOWS = "As in Shardy, which lets devices exchange elements. Windows within a slice need no exchange."
_LOOKUPS = "As in Shardy, which gathers the operand. Adding what the slices give sends less if the window is smaller."
# Rules that could tie further dims on some programs.
INCOMPLETE = {
    "stablehlo.bitcast_convert": "As in Shardy. The parts of an integer could be converted apart, and added.",
    "stablehlo.convolution": _WINDOWS,
    "stablehlo.dynamic_slice": _LOOKUPS,
    "stablehlo.dynamic_update_slice": "As in Shardy. An update at a constant position may coincide with slices.",
    "stablehlo.fft": "As in Shardy. A transform is the sum of those of slices, and half of a real one is small.",
    "stablehlo.gather": _LOOKUPS,
    "stablehlo.pad": "As in Shardy, which lets devices exchange elements. Some amounts change each slice alike.",
    "stablehlo.reduce_window": _WINDOWS,
    "stablehlo.rng_bit_generator": "As in Shardy. The state has two elements, a key and a counter: nothing to gain.",
    "stablehlo.scatter": "As in Shardy. A device could write the part of a window that is in its slice.",
    "stablehlo.select_and_scatter": f"{_WINDOWS} The partitioner shards windows that do not overlap.",
    "stablehlo.slice": "As in Shardy, which lets devices exchange elements. Some strides divide the slices.",
    "stablehlo.triangular_solve": "As in Shardy. The partitioner shards the columns of the right side.",
}
