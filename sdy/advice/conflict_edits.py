"""Edits of annotations that may resolve a conflict: an open dim, a later priority, or one axis less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import SSAValue

from sdy.advice.edits import Edit, sharding_text, with_priority, without_axis
from sdy.model.axis import overlaps
from sdy.model.sharding_update import with_closed
from sdy.propagation.conflicts import Conflict, Obstacle
from sdy.propagation.graph import Value
from sdy.report.explanation.explainer import Explainer


@dataclass(frozen=True)
class Suggestion:
    """An edit of one annotation, in words and as a value."""

    text: str
    edit: Edit


def opening(explainer: Explainer, holder: Value, dim: int) -> Iterator[Suggestion]:
    """Yield the edit that opens a closed dim that the user annotated."""
    found = explainer.values.annotation(holder)
    if found is not None and found[1].dims[dim].is_closed:
        target, sharding = found
        opened = with_closed(sharding, [dim], is_closed=False)
        text = f"open dim {dim} of {_described(explainer, target)}, {sharding_text(opened)}"
        yield Suggestion(text, Edit(target, opened))


def against_rival(explainer: Explainer, conflict: Conflict, holder: Value) -> Iterator[Suggestion]:
    """Yield edits of the annotation that the rival axis of a holder comes from: a later priority, or one axis less."""
    if conflict.rival_axis is None or conflict.obstacle not in (Obstacle.OTHER_DIM, Obstacle.OTHER_AXIS):
        return
    root = explainer.traced.history.path(holder, conflict.rival_axis).root
    found = explainer.values.annotation(root)
    if found is None:
        return
    target, sharding = found
    name = _described(explainer, target)
    for dim, own in enumerate(sharding.dims):
        if any(overlaps(axis, conflict.rival_axis) for axis in own.axes):
            later = with_priority(sharding, dim, own.effective_priority + 1)
            yield Suggestion(f"give dim {dim} of {name} a later priority, {sharding_text(later)}", Edit(target, later))
            removed = without_axis(sharding, conflict.rival_axis)
            text = f"take {conflict.rival_axis} off {name}, {sharding_text(removed)}"
            yield Suggestion(text, Edit(target, removed))


def _described(explainer: Explainer, target: SSAValue | int) -> str:
    return f"result {target}" if isinstance(target, int) else explainer.names[target]
