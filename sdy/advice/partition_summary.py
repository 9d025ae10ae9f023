"""Facts about a partitioned program on a machine, computed when first requested: for reports, contracts and diffs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from xdsl.ir import SSAValue

from sdy.advice.collectives import Collective, collectives_of_schedule
from sdy.compile.compiled import Compiled
from sdy.cost.hardware import Hardware
from sdy.cost.memory import peak_bytes, values_at_peak
from sdy.cost.schedule import ScheduledOp, schedule_of
from sdy.dialects.data_flow import op_of
from sdy.dialects.meshes import meshes_of
from sdy.documents.document import document
from sdy.grammar.parse import TENSOR_SHARDING
from sdy.model.axis import AxisList
from sdy.model.html_repr import HtmlRepr
from sdy.model.sharding import TensorSharding
from sdy.report.boundary import BoundaryValue, boundary_rows, boundary_values, meshes_json
from sdy.report.explanation.causes import CollectiveCauses
from sdy.report.explanation.counterparts import Counterparts
from sdy.report.explanation.explainer import Explainer
from sdy.report.explanation.trace_descriptions import dims_text
from sdy.report.explanation.value_names import line_of
from sdy.report.notation import read_any


@dataclass(frozen=True)
class PartitionSummary(HtmlRepr):
    """The communication, memory and time of one device in one run of a program, and the shardings of values."""

    compiled: Compiled[Any]
    explainer: Explainer
    hardware: Hardware

    def __repr__(self) -> str:
        return f"PartitionSummary({self.hardware.name}, {self.compiled.mesh!r})"

    @cached_property
    def collectives(self) -> tuple[Collective, ...]:
        """The collectives that each device runs, in program order."""
        return tuple(collectives_of_schedule(self.schedule, self.compiled.written, self.compiled.origin))

    @cached_property
    def bytes_sent(self) -> float:
        """The bytes that each device sends."""
        return sum(each.bytes_sent for each in self.collectives)

    @cached_property
    def seconds(self) -> float:
        """The predicted seconds of all ops and collectives, one after another."""
        return max((slot.end for slot in self.schedule), default=0.0)

    @cached_property
    def peak_bytes(self) -> int:
        """The most bytes alive at once."""
        return peak_bytes(self.compiled.local)

    def causes_of(self, collective: Collective, *, is_short: bool = False) -> tuple[str, ...]:
        """Return lines on the causes of a collective; in short, without the middle of long paths of propagation."""
        return tuple(self.causes.of(collective.line, collective.axes, collective.arguments, is_short=is_short))

    def largest_at_peak(self, count: int) -> Iterator[str]:
        """Yield descriptions of the largest values alive at the peak: `params['up'] (line 3): 524,288 bytes`."""
        written = Counterparts(self.compiled.written, self.compiled.local)
        at_peak = values_at_peak(self.compiled.local).values
        for value, size in sorted(at_peak.items(), key=lambda each: -each[1])[:count]:
            yield f"{_value_name(self, value, written.written(value))}: {size:,} bytes"

    def boundary_shardings(self) -> dict[str, str]:
        """Return the shardings of the arguments and results, by name, as lists of dims."""
        return {each.name: dims_text(each.sharding) for each in self._boundary if each.sharding is not None}

    def shardings(self, name: str) -> list[TensorSharding]:
        """Return the sharding of an argument or a result, or those of the copies of another value.

        Raises: SdyError SDY-T203 if no value has the name.
        """
        found = [each.sharding for each in self._boundary if name in each.names]
        return [each for each in found or self.explainer.shardings(name) if each is not None]

    def explanation(self, name: str) -> Iterator[str]:
        """Return lines that explain the sharding of a value; of a result, those of the value that is returned."""
        position = next((each.position for each in self._boundary if name in each.names), name)
        return self.explainer.value(position)

    def parse_sharding(self, text: str, name: str) -> TensorSharding:
        """Return the sharding of a value in any notation, or as the list of dims of the sdy notation.

        Raises: SdyError if the text is malformed or does not match the mesh.
        """
        found = self.shardings(name)
        rank = found[0].rank if found else None
        if text.lstrip().startswith("["):
            sharding = TENSOR_SHARDING.parse(f"<@mesh, {text}>", f"the sharding of {name}")
            return replace(sharding, mesh=self.compiled.mesh)
        return read_any(text, self.compiled.mesh, rank)[0]

    @cached_property
    def causes(self) -> CollectiveCauses:
        """The causes of the collectives."""
        return CollectiveCauses(self.explainer, self.compiled.remarks)

    @cached_property
    def _boundary(self) -> list[BoundaryValue]:
        return boundary_values(self.compiled.global_module, self.compiled.origin.argument_names)

    @cached_property
    def schedule(self) -> list[ScheduledOp]:
        """The ops of the local program with their times, one after another."""
        return schedule_of(self.compiled.local, self.compiled.mesh, self.hardware).ops


def axes_of_dims(sharding: TensorSharding) -> tuple[AxisList, ...]:
    """Return the axes that each dim is sharded along."""
    return tuple(dim.axes for dim in sharding.dims)


def _value_name(facts: PartitionSummary, value: SSAValue, written: SSAValue | None) -> str:
    """Return the name of a value of the local program, from its counterpart in the written one, and its line."""
    op = op_of(value)
    source = facts.compiled.origin.place(None if op is None else line_of(op))
    at = f" ({source})" if source else ""
    if written is None:
        return ("a value" if op is None else f"the result of an inserted {op.name}") + at
    return facts.explainer.names[written] + at


def report_json(facts: PartitionSummary, partitioners: Sequence[object] = ()) -> dict[str, object]:
    """Return meshes, shardings of arguments and results, collectives with causes, conflicts, remarks and totals."""
    program = facts.compiled
    return document(
        "Report",
        facts,
        machine=facts.hardware.name,
        meshes=meshes_json(meshes_of(program.global_module)),
        values=boundary_rows(program.global_module, program.origin.argument_names),
        collectives=collectives_json(facts),
        conflicts=facts.explainer.conflict_sites(),
        remarks=(*program.origin.warnings, *program.remarks),
        totals=facts,
        partitioners=partitioners,
    )


def collectives_json(facts: PartitionSummary) -> list[dict[str, object]]:
    """Return the collectives with the kind of their cause, and lines on their causes."""
    return [
        {**each.to_json(), "cause": cause_text(facts, each), "causes": list(facts.causes_of(each))}
        for each in facts.collectives
    ]


def cause_text(facts: PartitionSummary, collective: Collective) -> str:
    """Return the kind of the cause of a collective: it completes the sentence "it is caused by ..."."""
    return facts.causes.kind(collective.kind, collective.line, collective.axes, collective.arguments).value
