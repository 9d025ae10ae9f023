"""Explains the sharding of a value: for each axis, the chain of ops that propagated it from an annotation.

%1 (stablehlo.add, line 5)
  sharded [{"x", ?}, {?}]
  dim 0 is sharded along "x":
    line 3  %arg0: annotated [{"x"}, {}]
    line 4  %0 = stablehlo.tanh: from operand 0 (%arg0) to the result (%0)
    line 5  %1 = stablehlo.add: from operand 0 (%0) to the result (%1)
  dim 1 is unsharded

For a conflict: which tensors disagree, what prevented agreement, and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from sdy.compile.options import DEFAULT, CompileOptions
from sdy.compile.origin import Origin
from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.wording import first_names
from sdy.dialects.data_flow import op_of
from sdy.dialects.module_text import make_context
from sdy.dialects.sdy.ops import DataFlowEdgeOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import sharding_of
from sdy.documents.document import document
from sdy.model.axis import AxisRef
from sdy.model.sharding import TensorSharding
from sdy.passes.manager.traced_propagation import TracedPropagation, trace_propagation
from sdy.propagation.conflicts import Conflict, Contest, Obstacle, conflicts_of
from sdy.propagation.graph import Value
from sdy.propagation.trace import History, PathLink, holders_of
from sdy.report.explanation.counterparts import Counterparts
from sdy.report.explanation.trace_descriptions import TraceDescriptions, dims_text
from sdy.report.explanation.value_names import ValueNames, line_of
from sdy.report.similar_entries import MOST_ENTRIES, groups_of_similar, rest_text, without_names


def conflict_lines(conflict: Conflict, descriptions: TraceDescriptions, history: History) -> Iterator[str]:
    """Yield a sentence for the conflict and, if another axis was chosen, an indented sentence with the reason."""
    site, axis = conflict.site, conflict.axis
    source, target = (
        f"{descriptions.dim(site, tensor, conflict.factor)} of {descriptions.tensor(site, tensor)}"
        for tensor in (conflict.source, conflict.target)
    )
    yield f"{source} is sharded along {axis}, but {target} is not: {_obstacle(conflict, descriptions)}"
    if conflict.contest is not None:
        yield f"  {_contest(conflict, conflict.contest, descriptions)}"
    elif conflict.rival_axis is not None:
        yield f"  {_earlier_axis(conflict, descriptions, history)}"


def _obstacle(conflict: Conflict, descriptions: TraceDescriptions) -> str:
    match conflict.obstacle:
        case Obstacle.CLOSED_DIM:
            return "that dim is closed"
        case Obstacle.EXPLICIT_AXIS:
            return f"that tensor is explicitly replicated or unreduced along {conflict.axis}"
        case Obstacle.OTHER_DIM:
            assert conflict.rival is not None
            dim = descriptions.dim(conflict.site, conflict.target, conflict.rival)
            return f"{dim} of that tensor is sharded along {conflict.rival_axis}"
        case Obstacle.OTHER_AXIS:
            return f"that dim is sharded along {conflict.rival_axis} instead"
        case Obstacle.NO_ROOM:
            return f"that dim cannot be divided further by {conflict.axis}"


def _contest(conflict: Conflict, contest: Contest, descriptions: TraceDescriptions) -> str:
    """Describe two dims that could have been sharded along the axis in the same step, and why one was chosen."""
    site, winner, loser = conflict.site, contest.winner, contest.loser
    won, lost = (descriptions.dim(site, conflict.target, claim.factor) for claim in (winner, loser))
    chosen = f"{won} and {lost} competed for the axis in the same step, and {won} was chosen"
    sources = [descriptions.tensor(site, claim.source) for claim in (winner, loser)]
    if winner.negative_source_size != loser.negative_source_size:
        sizes = [f"{-claim.negative_source_size:,}" for claim in (winner, loser)]
        return (
            f"{chosen}: its source is larger ({sources[0]} has {sizes[0]} elements, {sources[1]} has only {sizes[1]})"
        )
    if winner.negative_devices != loser.negative_devices:
        shards = [f"{-claim.negative_devices:,}" for claim in (winner, loser)]
        return f"{chosen}: its axes make more shards ({shards[0]} instead of {shards[1]})"
    if winner.source != loser.source:
        return f"{chosen}: its source comes first ({sources[0]} before {sources[1]}, which has the same size)"
    return f"{chosen}: its factor comes first in the sharding rule, and the sources have the same size"


def _earlier_axis(conflict: Conflict, descriptions: TraceDescriptions, history: History) -> str:
    """Describe the origin of an axis that was there before `conflict.axis` could be propagated."""
    holder = holders_of(conflict.site)[conflict.target]
    assert holder is not None
    assert conflict.rival_axis is not None
    chain = history.path(holder, conflict.rival_axis)
    line, root = descriptions.root(chain.root)
    if conflict.arrival is None:
        return f"{conflict.rival_axis} was there initially: {line}, {root}"
    site = conflict.arrival.step.site
    first = (
        f"{conflict.rival_axis} was propagated first, through {descriptions.site(site)} on {descriptions.line(site)}"
    )
    return f"{first}; it originates from {line}, {root}"


Lines = Iterator[str]


@dataclass(frozen=True, slots=True)
class AxisOrigin:
    """An axis of a dim of a value, and how it got there: the line and the description of each propagation step."""

    dim: int
    axis: AxisRef
    steps: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CopyExplanation:
    """The sharding of a copy of a value, None if it has none, and the origin of each axis, dim by dim."""

    sharding: TensorSharding | None
    origins: tuple[AxisOrigin, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the copy as plain data."""
        axes = [
            document("AxisOrigin", each, steps=[{"line": line, "text": text} for line, text in each.steps])
            for each in self.origins
        ]
        return document("Copy", self, sharding=self.sharding and dims_text(self.sharding), axes=axes)


@dataclass(frozen=True, slots=True)
class ValueExplanation:
    """A value, its op and the text of its line, empty if unknown. Each use may have a copy of its own, or none."""

    name: str
    op: str
    line: str
    copies: tuple[CopyExplanation, ...]

    def lines(self) -> Lines:
        """Yield the explanation as text."""
        yield f"{self.name} ({self.op}{self.line and f', {self.line}'})"
        if not self.copies:
            yield "  not propagated: the value has no uses"
        for number, copy in enumerate(self.copies):
            if len(self.copies) > 1:
                yield f"  copy {number + 1} of {len(self.copies)}: each use has a separate copy"
            yield from _copy_lines(copy)

    def to_json(self) -> dict[str, object]:
        """Return the explanation as plain data."""
        return document("ExplainedValue", self)


@dataclass(frozen=True, slots=True)
class ConflictSite:
    """An op with conflicts: its line, its line with that of the source program, and one sentence per conflict.

    `axes` are the axes that could not be propagated and those that prevented it. If all of them come from arguments
    that the op reads, as the weights of FSDP, these are only stored in shards.
    """

    line: int | None
    line_text: str
    op: str
    sentences: tuple[str, ...]
    axes: frozenset[AxisRef]
    is_of_stored: bool = False

    def without_names(self) -> str:
        """Return the op and the sentences without names of values and lines."""
        return without_names("\n".join((self.op, *self.sentences)))

    def to_json(self) -> dict[str, object]:
        """Return the conflicts as plain data."""
        sentences = map(str.strip, self.sentences)
        return document("Conflict", self, source=self.line_text, axes=sorted(map(str, self.axes)), sentences=sentences)


class Explainer:
    """Explains the propagation of a program, whose warnings are in `diagnostics`."""

    def __init__(
        self,
        written: ModuleOp,
        origin: Origin[Any],
        options: CompileOptions = DEFAULT,
        trace: TracedPropagation | None = None,
    ) -> None:
        """Propagate a copy of the module, unless `trace` has the propagation of such a copy.

        Raises: SdyError if propagation does not support the module.
        """
        self.written, self._origin, self._options = written, origin, options
        self.names = ValueNames(written, origin.text, origin.argument_names)
        """The names of the values of the program."""
        context = make_context()
        self._traced: TracedPropagation = trace or trace_propagation(context, written, options.partitions()[0])
        self.diagnostics: Sequence[Diagnostic] = context.diagnostics
        self._counterparts = Counterparts(written, self._traced.module)
        self._descriptions = TraceDescriptions(self._traced, self.names, self._counterparts, origin.source_lines)
        self._conflict_sites: list[ConflictSite] | None = None
        self.values = TracedValues(self._traced, self._counterparts, self._descriptions)

    def of(self, edited: ModuleOp) -> Explainer:
        """Propagate and explain an edited copy of the program. Raises: SdyError if propagation does not support it."""
        return Explainer(edited, self._origin, self._options)

    def value(self, query: str) -> Lines:
        """Yield the explanation of each value that `query` refers to: `%name`, `@func:%name`, or a line number.

        Raises: SdyError SDY-T203 if no value has that name.
        """
        for each in self.explanations(query):
            yield from each.lines()

    def explanations(self, query: str) -> Iterator[ValueExplanation]:
        """Return the explanation of each value that `query` refers to; see `value`."""
        return map(self.explanation, self.names.find(query))

    def explanation(self, written: SSAValue) -> ValueExplanation:
        """Return the explanation of a value of the user's program."""
        copies = tuple(self._copy(holder) for holder in self.values.holders(written))
        return replace(self._described_value(written), copies=copies)

    def python_line(self, value: SSAValue) -> str:
        """Return the line of Python that computes a value; empty if the program is not from JAX."""
        op = op_of(value)
        return "" if op is None else self._origin.python_line(line_of(op))

    def origins(self, written: SSAValue) -> Iterator[AxisOrigin]:
        """Yield the origin of each axis of a value; if each use has a separate copy, of the first copy."""
        for copy in self._counterparts.transformed(written)[:1]:
            yield from self._copy(self._traced.flat.value(copy).holder).origins

    def shardings(self, query: str) -> list[TensorSharding | None]:
        """Return the propagated shardings of the values that `query` refers to, one per copy of each value.

        Raises: SdyError SDY-T203 if no value has that name.
        """
        return [each for written in self.names.find(query) for each in self.values.shardings(written)]

    @property
    def traced(self) -> TracedPropagation:
        """The propagation that is explained."""
        return self._traced

    @property
    def descriptions(self) -> TraceDescriptions:
        """The descriptions of the values, ops and steps of the propagation."""
        return self._descriptions

    def conflicts(self, *, verbose: bool = True) -> Lines:
        """Yield the description of all conflicts, op by op.

        Unless `verbose`, a long list has only the first of several ops whose conflicts differ in names and lines alone.
        """
        sites = list(self.conflict_sites())
        groups = groups_of_similar(sites, ConflictSite.without_names, verbose=verbose)
        shown = groups if verbose else groups[:MOST_ENTRIES]
        for site, *others in shown:
            yield f"{site.line_text}: {site.op}"
            yield from (f"  {sentence}" for sentence in site.sentences)
            if others:
                yield f"  likewise at {first_names([other.line_text for other in others])}"
        if len(shown) < len(groups):
            yield rest_text(len(groups) - len(shown))
        if not sites:
            yield "no conflicts: the tensors of every op have compatible shardings"

    def conflict_sites(self) -> Iterator[ConflictSite]:
        """Yield the ops with conflicts in program order; a sentence that explains the one before it is indented."""
        if self._conflict_sites is None:
            self._conflict_sites = list(_conflict_sites(self._traced, self._descriptions))
        return iter(self._conflict_sites)

    def steps(self, holder: Value, axis: AxisRef) -> tuple[tuple[str, str], ...]:
        """Return the line and the description of each step that propagated an axis to a holder."""
        link: PathLink | None = self._traced.history.last_link(holder, axis)
        steps: list[tuple[str, str]] = []
        while link is not None:
            steps.append(self._descriptions.step(link))
            link = link.before
        return tuple(reversed(steps))

    def paths(self, written: SSAValue) -> Iterator[tuple[int, AxisRef, PathLink]]:
        """Yield the dim and the path of each axis of a value; if each use has a separate copy, of the first copy."""
        for copy in self._counterparts.transformed(written)[:1]:
            holder = self._traced.flat.value(copy).holder
            sharding = None if holder is None else self._traced.flat.graph.sharding(holder)
            if holder is not None and sharding is not None:
                for dim, axis in _axes(sharding):
                    yield dim, axis, self._traced.history.last_link(holder, axis)

    def headline(self, written: SSAValue) -> str:
        """Return the name of a value of the user's program, its op and its line."""
        return next(self._described_value(written).lines())

    def _described_value(self, written: SSAValue) -> ValueExplanation:
        """Return the description of a value, without its copies."""
        op = op_of(written)
        assert op is not None  # the value is in a module
        line = "" if line_of(op) is None else self._descriptions.line_of(op)
        return ValueExplanation(self.names[written], "argument" if isinstance(op, FuncOp) else op.name, line, ())

    def _copy(self, holder: Value | None) -> CopyExplanation:
        sharding = None if holder is None else self._traced.flat.graph.sharding(holder)
        if holder is None or sharding is None:
            return CopyExplanation(None)
        origins = (AxisOrigin(dim, axis, self.steps(holder, axis)) for dim, axis in _axes(sharding))
        return CopyExplanation(sharding, tuple(origins))


def _axes(sharding: TensorSharding) -> Iterator[tuple[int, AxisRef]]:
    """Yield the axes that dims are sharded along, each with its dim."""
    return ((index, axis) for index, dim in enumerate(sharding.dims) for axis in dim.axes)


def _copy_lines(copy: CopyExplanation) -> Lines:
    if copy.sharding is None:
        yield "  no sharding was propagated to it: it is replicated"
        return
    yield f"  sharded {dims_text(copy.sharding)}"
    for index, dim in enumerate(copy.sharding.dims):
        if not dim.axes:
            yield f"  dim {index} is unsharded"
        for origin in (each for each in copy.origins if each.dim == index):
            yield f"  dim {index} is sharded along {origin.axis}:"
            width = max(len(line) for line, _ in origin.steps)
            yield from (f"    {line:{width}}  {text}" for line, text in origin.steps)


def _conflict_sites(traced: TracedPropagation, descriptions: TraceDescriptions) -> Iterator[ConflictSite]:
    for site, group in groupby(conflicts_of(traced.flat.graph, traced.history), key=lambda each: each.site):
        conflicts = list(group)
        sentences = (line for conflict in conflicts for line in conflict_lines(conflict, descriptions, traced.history))
        involved = (axis for conflict in conflicts for axis in (conflict.axis, conflict.rival_axis))
        yield ConflictSite(
            descriptions.line_number(site),
            descriptions.line(site),
            descriptions.site(site),
            tuple(sentences),
            frozenset(axis for axis in involved if axis is not None),
            all(_is_argument(holders_of(site)[conflict.source]) for conflict in conflicts),
        )


def _is_argument(holder: Value | None) -> bool:
    """Return whether a value is an argument of a function."""
    return holder is not None and holder.is_block_argument and holder.owner is not None and holder.owner.parent is None


class TracedValues:
    """Maps values of the user's program to holders, and holders to values and annotations."""

    def __init__(self, traced: TracedPropagation, counterparts: Counterparts, descriptions: TraceDescriptions) -> None:
        self._traced = traced
        self._counterparts = counterparts
        self._descriptions = descriptions

    def holders(self, written: SSAValue) -> list[Value | None]:
        """Return the holders of the shardings of a value's copies; None for a copy that cannot be sharded."""
        copies = self._counterparts.transformed(written)
        return list(dict.fromkeys(self._traced.flat.value(copy).holder for copy in copies))

    def shardings(self, written: SSAValue) -> list[TensorSharding | None]:
        """Return the propagated sharding of each copy of a value; None for a copy without one."""
        graph = self._traced.flat.graph
        return [None if holder is None else graph.sharding(holder) for holder in self.holders(written)]

    def annotation(self, holder: Value) -> tuple[SSAValue | int, TensorSharding] | None:
        """Return the annotation of the user's program that a holder starts with, and its value.

        The value is that of a sharding constraint if the sharding comes from one, or the number of a result of the main
        function. Return None if the holder has no annotation, or if its annotation belongs to a manual computation or
        to another member of a sharding group.
        """
        sharding = self._traced.initial.get(holder)
        if sharding is None:
            return None
        results = {each.holder: index for index, each in enumerate(self._traced.flat.graph.main_results)}
        if holder in results:
            return results[holder], sharding
        stored = self._stored_on.get(holder)
        if stored is None or _is_of_manual_computation(stored):
            return None
        written = self._counterparts.written(stored)
        if written is not None and _is_annotated(written):
            return written, sharding
        user = self._descriptions.constraining_user(stored, sharding)
        if not isinstance(user, ShardingConstraintOp):
            return None
        constraint = self._counterparts.written(user.result)
        return None if constraint is None else (constraint, sharding)

    def written(self, holder: Value) -> SSAValue | None:
        """Return the value of the user's program whose sharding a holder stores; None if there is none."""
        stored = self._stored_on.get(holder)
        return None if stored is None else self._counterparts.written(stored)

    @cached_property
    def _stored_on(self) -> dict[Value, SSAValue]:
        return self._traced.flat.stored_on()


def _is_annotated(value: SSAValue) -> bool:
    """Return whether a value of the user's program has a sharding of its own."""
    is_in_region = isinstance(value, BlockArgument) and not isinstance(op_of(value), FuncOp)
    return not is_in_region and sharding_of(value) is not None


def _is_of_manual_computation(stored: SSAValue) -> bool:
    """Return whether a sharding is stored on an edge of a manual computation, whose in and out shardings set it."""
    edge = op_of(stored)
    return isinstance(edge, DataFlowEdgeOp) and isinstance(op_of(edge.input), ManualComputationOp)
