"""The bytes that each device sends in a program as XLA partitions it, from the text of the compiled HLO.

They are counted like ours: ring algorithms, loops as often as they run, all branches of a conditional, and loops of
unknown length once.
"""

from __future__ import annotations

import re
from math import prod

from sdy.cost.collectives import CollectiveKind, bytes_sent

ELEMENT_BYTES = {"pred": 1, "bf16": 2, "f8e4m3fn": 1, "f8e5m2": 1, "s4": 1, "u4": 1}
_COMPUTATION = re.compile(r"(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{")
_KINDS = "|".join(kind.value for kind in CollectiveKind)
_COLLECTIVE = re.compile(rf" = (?P<type>.*?) (?P<kind>{_KINDS})(?P<start>-start)?\(")
_TENSOR = re.compile(r"\b(?P<element>[a-z]+(?P<bits>\d+)?\w*)\[(?P<sizes>[\d,]*)\]")
_CALLED = re.compile(r"(?:body|calls|to_apply|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_LISTED_GROUPS = re.compile(r"replica_groups=\{\{([\d,]+)\}")
_COUNTED_GROUPS = re.compile(r"replica_groups=\[\d+,(\d+)\]")
_MESH_GROUPS = re.compile(r"replica_groups=mesh\[(?P<mesh>[^\]]*)\](?:, device_ids=\S+)?\s*\{(?P<axes>[^}]*)\}")
_PARTITIONS = re.compile(r"num_partitions=(\d+)")


def bytes_sent_by_xla(hlo: str) -> float:
    """Return the bytes that each device sends in a compiled module."""
    computations, entry = _computations(hlo)
    partitions = _PARTITIONS.search(hlo)
    devices = 1 if partitions is None else int(partitions[1])

    def total(name: str) -> float:
        return sum(_bytes_of_line(line, devices) + _calls(line) for line in computations[name])

    def _calls(line: str) -> float:
        branches = _BRANCHES.search(line)
        listed = [] if branches is None else re.findall(r"[\w.\-]+", branches[1])
        called = [name for name in (*_CALLED.findall(line), *listed) if name in computations]
        trips = _TRIPS.search(line)
        return (1 if trips is None else int(trips[1])) * sum(map(total, called))

    return total(entry)


def _computations(hlo: str) -> tuple[dict[str, list[str]], str]:
    """Return the lines of each computation, and the name of the entry computation."""
    found: dict[str, list[str]] = {}
    entry, current = "", ""
    for line in hlo.splitlines():
        header = _COMPUTATION.match(line)
        if header is not None:
            current = header["name"]
            found[current] = []
            entry = current if header["entry"] else entry
        elif current and line.startswith("  "):
            found[current].append(line)
    return found, entry


def _bytes_of_line(line: str, devices: int) -> float:
    found = _COLLECTIVE.search(line)
    if found is None:
        return 0.0
    assert not found["start"], "asynchronous collectives have other result types"
    sizes = (_tensor_bytes(each) for each in _TENSOR.finditer(found["type"]))
    return bytes_sent(CollectiveKind(found["kind"]), _group_size(line, devices), sum(sizes))


def _tensor_bytes(tensor: re.Match[str]) -> int:
    element = ELEMENT_BYTES.get(tensor["element"]) or int(tensor["bits"]) // 8
    return element * prod(int(size) for size in tensor["sizes"].split(",") if size)


def _group_size(line: str, devices: int) -> int:
    if listed := _LISTED_GROUPS.search(line):
        return listed[1].count(",") + 1
    if counted := _COUNTED_GROUPS.search(line):
        return int(counted[1])
    if on_mesh := _MESH_GROUPS.search(line):
        sizes = dict(re.findall(r"'([^']+)'=(\d+)", on_mesh["mesh"]))
        axes = re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", on_mesh["axes"])
        return prod(int(part or sizes[axis]) for axis, part in axes)
    return devices
