"""The report on a partitioned program as plain data, for `sdy report --json`."""

from __future__ import annotations

from dataclasses import asdict

from sdy.advice.collectives import Collective
from sdy.advice.partition_summary import PartitionSummary
from sdy.dialects.meshes import meshes_of
from sdy.report.value_rows import boundary_rows, meshes_json


def report_json(facts: PartitionSummary) -> dict[str, object]:
    """Return meshes, shardings of arguments and results, collectives with causes, conflicts, remarks and totals."""
    program = facts.compiled
    return {
        "machine": facts.hardware.name,
        "meshes": meshes_json(meshes_of(program.global_module)),
        "values": [asdict(row) for row in boundary_rows(program.global_module, program.origin.argument_names)],
        "collectives": collectives_json(facts),
        "conflicts": [site.to_json() for site in facts.explainer.conflict_sites()],
        "remarks": [remark.to_json() for remark in (*program.origin.warnings, *program.remarks)],
        "totals": {
            "bytes_sent": round(facts.bytes_sent),
            "seconds": facts.seconds,
            "peak_bytes": facts.peak_bytes,
        },
    }


def collectives_json(facts: PartitionSummary) -> list[dict[str, object]]:
    """Return the collectives with the kind of their cause, and lines on their causes."""
    return [
        {**each.to_json(), "cause": cause_text(facts, each), "causes": list(facts.causes_of(each))}
        for each in facts.collectives
    ]


def cause_text(facts: PartitionSummary, collective: Collective) -> str:
    """Return the kind of the cause of a collective: it completes the sentence "it is caused by ..."."""
    return facts.causes.kind(collective.kind, collective.line, collective.axes, collective.arguments).value
