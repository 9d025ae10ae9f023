"""Contracts: upper bounds on what a partitioned program sends, stores and computes, and shardings it must have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

from sdy.advice.collectives import CausesOnce, Collective
from sdy.advice.partition_summary import PartitionSummary, axes_of_dims
from sdy.cost.collectives import CollectiveKind
from sdy.cost.machines.table import DEFAULT_MACHINE
from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, Span
from sdy.diagnostics.wording import counted, first_names, similar_name_hint
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.documents.document import document
from sdy.report.explanation.trace_descriptions import dims_text
from sdy.report.explanation.value_names import line_of

MAX_SHOWN = 5  # offending collectives in a message, the costliest first


@dataclass(frozen=True, slots=True)
class CollectiveBound:
    """Upper bounds on the collectives that match all given selectors; without a selector, on all collectives.

    Selectors: `kind`; `axes`, of which a collective uses at least one; `in_loop`; `function` of the user's program;
    `source`, a file (`train.py`) or a line (`train.py:20`).
    Bounds: `count` of the collectives in the program, `runs` of them in one run of the program, and the `bytes` that
    each device sends in these runs. `spans` has the locations of the selectors in the file of the contract.
    """

    kind: CollectiveKind | None = None
    axes: frozenset[str] = frozenset()
    in_loop: bool | None = None
    function: str | None = None
    source: str | None = None
    count: int | None = None
    runs: int | None = None
    bytes: float | None = None
    spans: Mapping[str, Span] = field(default_factory=dict[str, Span], compare=False, repr=False)

    def __repr__(self) -> str:
        return f"CollectiveBound({_set_fields(self)})"

    def matches(self, collective: Collective) -> bool:
        """Return whether the bounds apply to a collective."""
        return (
            self.kind in (None, collective.kind)
            and (not self.axes or bool(self.axes & collective.axis_names))
            and self.in_loop in (None, collective.is_in_loop)
            and self.function in (None, collective.function)
            and (self.source is None or self.source in (collective.source, collective.source.rpartition(":")[0]))
        )

    def described(self, count: str = "") -> str:
        """Return a number of the collectives that the bounds apply to: `2 all-gathers along "data" in loops`."""
        words = "collective" if self.kind is None else self.kind.value
        words = f"{count} {words}".lstrip() + "s" * (count != "1")
        if self.axes:
            words += " along " + " or ".join(f'"{axis}"' for axis in sorted(self.axes))
        if self.in_loop is not None:
            words += " in loops" if self.in_loop else " outside of loops"
        if self.function is not None:
            words += f" in @{self.function}"
        if self.source is not None:
            words += f" at {self.source}"
        return words


@dataclass(frozen=True)
class Contract:
    """Bounds and shardings that a program must keep. Each number is an upper bound for one device and one run.

    `seconds` is the predicted time on `machine`, without overlap of computation and communication. `shardings` maps
    values to their shardings, in any notation that `sdy notation` reads, or as the list of dims of the sdy notation.
    Bytes and seconds may exceed their bounds by the share `tolerance`; numbers of collectives may not.
    """

    collectives: tuple[CollectiveBound, ...] = ()
    bytes_sent: float | None = None
    peak_bytes: float | None = None
    seconds: float | None = None
    machine: str = DEFAULT_MACHINE
    shardings: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerance: float = 0.0

    def __repr__(self) -> str:
        return f"Contract({_set_fields(self)})"


@dataclass(frozen=True, slots=True)
class Breach:
    """A broken term of a contract, with the offending collectives, the costliest first, or with other details."""

    code: str
    message: str
    facts: PartitionSummary
    collectives: tuple[Collective, ...] = ()
    details: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Breach({self.code}: {self.message})"

    def diagnostic(self, explained: set[Collective], given: CausesOnce) -> Diagnostic:
        """Return the breach as an error whose notes are the offending collectives and their causes.

        Collectives in `explained`, which other messages explained, are only named; the others are added to it. `given`
        has the causes in other messages.
        """
        notes = [Note(line) for line in self.details]
        for collective in self.collectives[:MAX_SHOWN]:
            if collective in explained:
                notes.append(Note(f"{collective}, explained above"))
                continue
            explained.add(collective)
            lines = given.lines(collective, self.facts.causes_of(collective, is_short=True))
            notes.append(Note("\n    ".join((str(collective), *lines)), collective.span))
        if len(self.collectives) > MAX_SHOWN:
            notes.append(Note(f"and {counted(len(self.collectives) - MAX_SHOWN, 'more collective')}"))
        return Diagnostic(self.code, self.message, notes=tuple(notes))

    def to_json(self) -> dict[str, object]:
        """Return the breach as plain data."""
        found = [{**each.to_json(), "causes": list(self.facts.causes_of(each))} for each in self.collectives]
        return document("Breach", self, collectives=found)


def _set_fields(value: CollectiveBound | Contract) -> str:
    """Return the fields that are neither empty nor None as keyword arguments."""
    found = ((each.name, getattr(value, each.name)) for each in fields(value) if each.repr)
    return ", ".join(f"{name}={content!r}" for name, content in found if content or content in (0, False))


def breaches(contract: Contract, facts: PartitionSummary) -> list[Breach]:
    """Return the broken terms of a contract. `facts` must be those on the machine of the contract.

    Raises: SdyError if the contract names an unknown value, or contains a malformed sharding; SDY-C011 if it names an
    axis, a function or a source that the program does not have.
    """
    selectors = ((each.axes, each.function, each.source, each.spans) for each in contract.collectives)
    unknown = [error for selector in selectors for error in unknown_names(facts, *selector)]
    if unknown:
        raise SdyError(*unknown)
    return [
        *_broken_totals(contract, facts),
        *(each for bound in contract.collectives for each in _broken_bounds(bound, facts, contract.tolerance)),
        *(each for name, text in contract.shardings.items() for each in _broken_sharding(name, text, facts)),
    ]


def contract_of(facts: PartitionSummary) -> Contract:
    """Return the tightest contract that a program keeps: all totals, one bound per kind, axes and loop, all shardings.

    The shardings are those of the arguments and results.
    """
    groups: dict[tuple[CollectiveKind, frozenset[str], bool], None] = {}
    for collective in facts.collectives:
        groups[collective.kind, collective.axis_names, collective.is_in_loop] = None
    selectors = [CollectiveBound(), *(CollectiveBound(kind, axes, in_loop) for kind, axes, in_loop in groups)]
    return Contract(
        tuple(_tightened(selector, facts) for selector in selectors),
        facts.bytes_sent,
        facts.peak_bytes,
        facts.seconds,
        facts.hardware.name,
        facts.boundary_shardings(),
    )


def _tightened(selector: CollectiveBound, facts: PartitionSummary) -> CollectiveBound:
    found = _matching(selector, facts)
    return CollectiveBound(
        selector.kind,
        selector.axes,
        selector.in_loop,
        count=len(found),
        runs=_runs(found),
        bytes=_bytes(found),
    )


def _broken_totals(contract: Contract, facts: PartitionSummary) -> Iterator[Breach]:
    slack = contract.tolerance
    if contract.bytes_sent is not None and _exceeds(facts.bytes_sent, contract.bytes_sent, slack):
        allowed = _allowed(_number(contract.bytes_sent), slack)
        message = f"each device sends {_number(facts.bytes_sent)} bytes, {allowed}"
        yield Breach("SDY-C001", message, facts, _costliest_first(facts.collectives))
    if contract.peak_bytes is not None and _exceeds(facts.peak_bytes, contract.peak_bytes, slack):
        allowed = _allowed(_number(contract.peak_bytes), slack)
        message = f"the peak memory of a device is {facts.peak_bytes:,} bytes, {allowed}"
        yield Breach("SDY-C002", message, facts, details=tuple(facts.largest_at_peak(MAX_SHOWN)))
    if contract.seconds is not None and _exceeds(facts.seconds, contract.seconds, slack):
        allowed = _allowed(f"{contract.seconds:.4g} s", slack)
        message = f"the predicted time on {facts.hardware.name} is {facts.seconds:.4g} s, {allowed}"
        yield Breach("SDY-C003", message, facts, _costliest_first(facts.collectives))


def _broken_bounds(bound: CollectiveBound, facts: PartitionSummary, tolerance: float) -> Iterator[Breach]:
    found = _matching(bound, facts)
    count, runs, sent = len(found), _runs(found), _bytes(found)
    limits = (
        (f"the program has {bound.described(_number(count))}", count, bound.count, 0.0),
        (f"the program runs {bound.described(_number(runs))}", runs, bound.runs, 0.0),
        (f"each device sends {_number(sent)} bytes in {bound.described()}", sent, bound.bytes, tolerance),
    )
    terms = [
        f"{text}, {_allowed(_number(limit), slack)}"
        for text, amount, limit, slack in limits
        if limit is not None and _exceeds(amount, limit, slack)
    ]
    if terms:
        yield Breach("SDY-C001", "; ".join(terms), facts, _costliest_first(found))


def _allowed(limit: str, tolerance: float) -> str:
    return f"at most {limit} allowed" + (f", with a tolerance of {tolerance:.2g}" if tolerance else "")


def _broken_sharding(name: str, text: str, facts: PartitionSummary) -> Iterator[Breach]:
    expected = facts.parse_sharding(text, name)
    found = next((each for each in facts.shardings(name) if axes_of_dims(each) != axes_of_dims(expected)), None)
    if found is not None:
        message = f"{name} is sharded {dims_text(found)}, expected {dims_text(expected)}"
        yield Breach("SDY-C004", message, facts, details=tuple(facts.explanation(name)))


def _matching(bound: CollectiveBound, facts: PartitionSummary) -> list[Collective]:
    return [each for each in facts.collectives if bound.matches(each)]


def _costliest_first(collectives: Sequence[Collective]) -> tuple[Collective, ...]:
    return tuple(sorted(collectives, key=lambda each: -each.bytes_sent))


def _runs(collectives: Sequence[Collective]) -> int:
    return sum(each.runs for each in collectives)


def _bytes(collectives: Sequence[Collective]) -> float:
    return sum(each.bytes_sent for each in collectives)


def _exceeds(amount: float, limit: float, tolerance: float) -> bool:
    """Return whether an amount is larger than its limit, which a file may hold with rounded digits."""
    return amount > limit * (1 + tolerance + 1e-9)


def _number(amount: float) -> str:
    return f"{round(amount):,}"


def diagnostics_of(found: Sequence[Breach]) -> list[Diagnostic]:
    """Return one diagnostic per breach; each collective is explained once, and each cause is given once."""
    explained: set[Collective] = set()
    given = CausesOnce()
    return [each.diagnostic(explained, given) for each in found]


def raise_breaches(found: Sequence[Breach]) -> None:
    """Raise SdyError with one diagnostic per breach, if there is any."""
    if found:
        raise SdyError(*diagnostics_of(found))


def unknown_names(
    facts: PartitionSummary, axes: frozenset[str], function: str | None, source: str | None, spans: Mapping[str, Span]
) -> Iterator[Diagnostic]:
    """Yield an error for each name of a selector that the partitioned program does not have.

    `spans` has the locations of `axes`, `function` and `source` in the file of the contract, if there is one.
    """
    program, written = facts.compiled, facts.compiled.written
    meshes = (program.mesh, *meshes_of(written).values())
    known = list(dict.fromkeys(axis.name for mesh in meshes for axis in mesh.axes))
    for axis in sorted(axes):
        yield from _errors(f'no mesh of the program has an axis "{axis}"', axis, known, spans.get("axes"))
    if function is not None:
        message = f"the program has no function @{function}"
        yield from _errors(message, function, list(functions_of(written)), spans.get("function"))
    if source is not None:
        lines = dict.fromkeys(line_of(op) for op in pre_order(written))
        sources = dict.fromkeys(program.origin.source(line) for line in lines)
        files = dict.fromkeys(each.rpartition(":")[0] for each in sources)
        known = [name for name in (*files, *sources) if name]
        yield from _errors(f"no op of the program comes from {source}", source, known, spans.get("source"))


def _errors(message: str, name: str, known: Sequence[str], span: Span | None) -> Iterator[Diagnostic]:
    if name not in known:
        listed = f"the program has {first_names(known)}" if known else None
        yield Diagnostic("SDY-C011", message, span, hint=similar_name_hint(name, known) or listed)
