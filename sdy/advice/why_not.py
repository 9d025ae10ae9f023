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

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.ir import BlockArgument, SSAValue

from sdy.advice.conflict_edits import Suggestion, against_rival, opening
from sdy.advice.edits import Edit, is_at_boundary, with_axis
from sdy.advice.missing_axes import MissingAxes, Question
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.result_names import result_number, shown_result_name
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import function_result_sharding, sharding_of
from sdy.dialects.verification.verify_module import verify_module
from sdy.model.axis import overlaps
from sdy.model.axis_list import sharded_size
from sdy.model.sharding_update import fully_closed, fully_open
from sdy.propagation.graph import Value
from sdy.propagation.tied_dims import Tie
from sdy.report.explanation.explainer import Explainer


class Reasons(NamedTuple):
    """Why a dim is not sharded, in lines of text, and the smallest edit found that shards it, if there is one."""

    lines: list[str]
    suggestion: Suggestion | None


class WhyNot:
    """Answers questions about the program that `explainer` explains."""

    def __init__(self, explainer: Explainer) -> None:
        self._module = explainer.written
        self._explainer = explainer
        self._missing = MissingAxes(explainer)

    def answer(self, query: str, dim: int, axis: str) -> Reasons:
        """Return the answer for the first value that `query` refers to.

        Raises: SdyError SDY-T203 if no value has that name, SDY-T220 if the value has no dim with that number or no
        mesh has an axis with that name.
        """
        written = self._explainer.names.find(query)[0]
        return self.reasons(written, dim, axis, result_number(main_function(self._module), query))

    def reasons(self, written: SSAValue, dim: int, axis: str, result: int | None = None) -> Reasons:
        """Return the answer for a value of the program, which may be that of a result. Raises: SdyError as `answer`."""
        question = self._missing.question(written, dim, axis, result)
        lines = [self._explainer.headline(written)]
        holder = self._missing.unsharded_holder(question)
        if holder is None:
            explained = list(self._explainer.explanation(written).lines())
            return Reasons([lines[0], f"  dim {question.dim} is sharded along {question.axis}", *explained[1:]], None)
        stop = self._missing.stop(question, holder)
        lines += self._missing.reasons(question, holder, stop)
        suggestion = self._first_that_works(question, holder, stop)
        if suggestion is None:
            lines.append("  no edit of a single annotation shards it")
        else:
            lines.append(f"  edit: {suggestion.text}, and propagation shards it along {question.axis}")
            lines += _uneven_at_boundary(question, suggestion.edit)
        return Reasons(lines, suggestion)

    def _first_that_works(self, question: Question, holder: Value, stop: Tie | None) -> Suggestion | None:
        tried = (each for each in self._suggestions(question, holder, stop) if self._works(question, each.edit))
        return next(tried, None)

    def _suggestions(self, question: Question, holder: Value, stop: Tie | None) -> Iterator[Suggestion]:
        """Yield edits to try: first those that keep all annotations but for openness or priority."""
        for each in dict.fromkeys([holder, *(() if stop is None else (stop.end.holder,))]):
            dim = question.dim if each is holder or stop is None else stop.end.dim
            yield from opening(self._explainer, each, dim)
        if stop is not None:
            conflict = self._missing.conflict(stop, self._missing.axis_at(stop.start, question.axis))
            if conflict is not None:
                yield from against_rival(self._explainer, conflict, stop.end.holder)
        yield from self._annotated(question)

    def _annotated(self, question: Question) -> Iterator[Suggestion]:
        """Yield the edit that shards the value of the question itself; of a result, also that of the function."""
        written = question.written
        if question.result is not None:
            yield self._annotated_result(question, question.result)
        own = sharding_of(written)
        if own is None or own.mesh != question.mesh_name:
            unannotated = fully_closed if isinstance(written, BlockArgument) else fully_open
            own = unannotated(question.mesh_name, question.rank)
        edit = Edit(written, with_axis(own, question.dim, question.axis))
        yield Suggestion(edit.described(self._explainer.names[written]), edit)

    def _annotated_result(self, question: Question, number: int) -> Suggestion:
        func = main_function(self._module)
        own = function_result_sharding(func, number)
        if own is None or own.mesh != question.mesh_name:
            own = fully_closed(question.mesh_name, question.rank)  # JAX has open dims only in constraints
        edit = Edit(number, with_axis(own, question.dim, question.axis))
        text = f"{edit.described(shown_result_name(func, number))} in the out_shardings of jax.jit"
        return Suggestion(text, edit)

    def _works(self, question: Question, edit: Edit) -> bool:
        """Return whether propagation in an edited copy shards the dim along the axis, in every copy of the value."""
        try:
            module, copies = edit.applied(self._module)
            verify_module(module)
            explainer = self._explainer.of(module)
        except SdyError:
            return False  # the edit is not valid, for example because an axis would be used twice
        graph = explainer.traced.flat.graph
        holders = [each for each in explainer.values.holders(copies[question.written]) if each is not None]
        shardings = [graph.sharding(each) for each in holders]
        return bool(shardings) and all(
            each is not None and any(overlaps(axis, question.axis) for axis in each.dims[question.dim].axes)
            for each in shardings
        )


def _uneven_at_boundary(question: Question, edit: Edit) -> Iterator[str]:
    """Yield what JAX, which needs even shards of arguments and results, accepts instead of an edit that it rejects."""
    shape = static_shape(question.written.type)
    if shape is None or not is_at_boundary(edit) or edit.target not in (question.written, question.result):
        return
    for dim, (size, sharding) in enumerate(zip(shape, edit.sharding.dims, strict=True)):
        shards = sharded_size(sharding.axes, question.mesh)
        if size % shards:
            even = -(-size // shards) * shards
            yield (
                f"  JAX rejects uneven shards of arguments and results: pad dim {dim} to {even:,} elements, or use "
                "jax.lax.with_sharding_constraint on a value inside"
            )
