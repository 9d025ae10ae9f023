"""Explains why a dim is *not* sharded along an axis, and finds a small edit with which propagation shards it.

%2 (stablehlo.add, line 6)
  dim 1 is not sharded along "y": sharded [{"x", ?}, {?}]
  the nearest dim that it could come from: dim 1 of %w
    line 3  %w: annotated [{}, {"y"}]
    line 5  %1 = stablehlo.dot_general: from operand 1 (%w) to the result (%1)
  it stops at line 6, %2 = stablehlo.add: dim 1 of the result (%2) is closed
  edit: open dim 1 of %2, and it is sharded along "y"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.advice.edits import Edit, with_axis, with_priority, without_axis
from sdy.advice.missing_axes import MissingAxes, Question
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.shardings import sharding_of
from sdy.dialects.verification.verify_module import verify_module
from sdy.grammar.partition_spec import write_partition_spec
from sdy.model.axis import overlaps
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_open, with_closed
from sdy.propagation.conflicts import Conflict, Obstacle
from sdy.propagation.graph import Value
from sdy.propagation.tied_dims import Tie
from sdy.report.explain import Explainer
from sdy.report.trace_descriptions import dims_text

Trace = Callable[[ModuleOp], Explainer]


@dataclass(frozen=True)
class Suggestion:
    """An edit with which propagation shards the dim along the axis, in words and as a value."""

    text: str
    edit: Edit


class WhyNot:
    """Answers questions about one program. `explain` propagates a module and explains the result."""

    def __init__(self, module: ModuleOp, explainer: Explainer, explain: Trace) -> None:
        self._module = module
        self._explainer = explainer
        self._explain = explain
        self._missing = MissingAxes(explainer)

    def answer(self, query: str, dim: int, axis: str) -> list[str]:
        """Return the lines of the answer for the first value that `query` refers to.

        Raises: SdyError SDY-T203 if no value has that name, SDY-T220 if the value has no dim with that number or no
        mesh has an axis with that name.
        """
        written = self._explainer.names.find(query)[0]
        question = self._missing.question(written, dim, axis)
        lines = [self._explainer.headline(written)]
        holder = self._missing.unsharded_holder(question)
        if holder is None:
            explained = list(self._explainer.value(query))
            return [lines[0], f"  dim {dim} is sharded along {question.axis}", *explained[1:]]
        stop = self._missing.stop(question, holder)
        lines += self._missing.reasons(question, holder, stop)
        suggestion = self._first_that_works(question, holder, stop)
        if suggestion is None:
            lines.append("  no edit of a single annotation shards it")
        else:
            lines.append(f"  edit: {suggestion.text}, and propagation shards it along {question.axis}")
        return lines

    def suggestion_for(self, written: SSAValue, dim: int, axis: str) -> Suggestion | None:
        """Return the smallest edit found that shards a dim of a value along an axis, tried on a copy; None if none.

        None too if the dim is sharded along the axis already. Raises: SdyError as `answer`.
        """
        question = self._missing.question(written, dim, axis)
        holder = self._missing.unsharded_holder(question)
        if holder is None:
            return None
        return self._first_that_works(question, holder, self._missing.stop(question, holder))

    def _first_that_works(self, question: Question, holder: Value, stop: Tie | None) -> Suggestion | None:
        tried = (each for each in self._suggestions(question, holder, stop) if self._works(question, each.edit))
        return next(tried, None)

    def _suggestions(self, question: Question, holder: Value, stop: Tie | None) -> Iterator[Suggestion]:
        """Yield edits to try: first those that keep all annotations but for openness or priority."""
        for each in dict.fromkeys([holder, *(() if stop is None else (stop.end.holder,))]):
            yield from self._opened(each, question.dim if each is holder or stop is None else stop.end.dim)
        if stop is not None:
            conflict = self._missing.conflict(stop, self._missing.axis_at(stop.start, question.axis))
            if conflict is not None:
                yield from self._against_rival(conflict, stop)
        yield from self._annotated(question)

    def _opened(self, holder: Value, dim: int) -> Iterator[Suggestion]:
        """Yield the edit that opens a closed dim that the user annotated."""
        found = self._explainer.values.annotation(holder)
        if found is not None and found[1].dims[dim].is_closed:
            target, sharding = found
            opened = with_closed(sharding, [dim], is_closed=False)
            yield Suggestion(f"open dim {dim} of {self._described(target)}, {_text(opened)}", Edit(target, opened))

    def _against_rival(self, conflict: Conflict, stop: Tie) -> Iterator[Suggestion]:
        """Yield edits of the annotation that the rival axis comes from: a later priority, or without the axis."""
        if conflict.rival_axis is None or conflict.obstacle not in (Obstacle.OTHER_DIM, Obstacle.OTHER_AXIS):
            return
        root = self._explainer.traced.history.path(stop.end.holder, conflict.rival_axis).root
        found = self._explainer.values.annotation(root)
        if found is None:
            return
        target, sharding = found
        for dim, own in enumerate(sharding.dims):
            if any(overlaps(axis, conflict.rival_axis) for axis in own.axes):
                later = with_priority(sharding, dim, own.effective_priority + 1)
                text = f"give dim {dim} of {self._described(target)} a later priority, {_text(later)}"
                yield Suggestion(text, Edit(target, later))
                removed = without_axis(sharding, conflict.rival_axis)
                text = f"take {conflict.rival_axis} off {self._described(target)}, {_text(removed)}"
                yield Suggestion(text, Edit(target, removed))

    def _annotated(self, question: Question) -> Iterator[Suggestion]:
        """Yield the edit that shards the value of the question itself."""
        written = question.written
        own = sharding_of(written)
        if own is None or own.mesh != question.mesh_name:
            own = fully_open(question.mesh_name, question.rank)
        sharding = with_axis(own, question.dim, question.axis)
        edit = Edit(written, sharding)
        if edit.is_constraint:
            text = f"constrain {self._explainer.names[written]} to {_text(sharding)}"
        else:
            text = f"annotate {self._explainer.names[written]} as {_text(sharding)}"
        yield Suggestion(text, edit)

    def _described(self, target: SSAValue | int) -> str:
        return f"result {target}" if isinstance(target, int) else self._explainer.names[target]

    def _works(self, question: Question, edit: Edit) -> bool:
        """Return whether propagation in an edited copy shards the dim along the axis, in every copy of the value."""
        try:
            module, copies = edit.applied(self._module)
            verify_module(module)
            explainer = self._explain(module)
        except SdyError:
            return False  # the edit is not valid, for example because an axis would be used twice
        graph = explainer.traced.flat.graph
        holders = [each for each in explainer.values.holders(copies[question.written]) if each is not None]
        shardings = [graph.sharding(each) for each in holders]
        return bool(shardings) and all(
            each is not None and any(overlaps(axis, question.axis) for axis in each.dims[question.dim].axes)
            for each in shardings
        )


def _text(sharding: TensorSharding) -> str:
    """Return a sharding in the sdy notation, and as a PartitionSpec of JAX unless it has priorities."""
    if any(dim.priority is not None for dim in sharding.dims):
        return dims_text(sharding)
    return f"{dims_text(sharding)} or {write_partition_spec(sharding)}"
