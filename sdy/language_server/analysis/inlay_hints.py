"""The shardings that propagation gave to values without one in the text, next to their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from sdy.dialects.sdy.ops import ReshardOp, ShardingConstraintOp
from sdy.dialects.sharded_types import local_type, static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.tensor_bytes import tensor_bytes
from sdy.language_server.analysis.analysed_text import AnalysedText
from sdy.language_server.text.document import Position
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import unsharded, with_closed
from sdy.report.explanation.explainer import Explainer
from sdy.report.explanation.trace_descriptions import dims_text


@dataclass(frozen=True, slots=True)
class Hint:
    """A text after the name of a value, and a longer one that is shown on demand."""

    position: Position
    label: str
    tooltip: str


def inlay_hints(analysis: AnalysedText, first: int, last: int) -> Iterator[Hint]:
    """Yield the hints on the lines from `first` to `last`. A program without a mesh gets none."""
    explainer = analysis.explainer
    if explainer is None or not analysis.meshes:
        return
    for (start, name), values in analysis.definitions(first, last):
        shown = [each for each in values if not _is_annotated(each) and static_shape(each.type)]
        labels = dict.fromkeys(label for value in shown for label in _labels(explainer, value))
        if labels:
            tooltip = "\n".join(dict.fromkeys(_local_type(analysis, explainer, value) for value in shown))
            yield Hint(Position(start.line, start.column + len(name)), " / ".join(labels), tooltip)


def _is_annotated(value: SSAValue) -> bool:
    return sharding_of(value) is not None or isinstance(value.owner, ShardingConstraintOp | ReshardOp)


def _labels(explainer: Explainer, value: SSAValue) -> Iterator[str]:
    """Yield the sharding of each copy of a value: each use of a constant has one."""
    for sharding in explainer.values.shardings(value):
        yield dims_text(_closed(sharding, len(static_shape(value.type) or ())))


def _closed(sharding: TensorSharding | None, rank: int) -> TensorSharding:
    if sharding is None:
        return unsharded("mesh", rank, is_closed=True)
    return with_closed(sharding, range(sharding.rank))


def _local_type(analysis: AnalysedText, explainer: Explainer, value: SSAValue) -> str:
    """Return the type of a value on each device, with its size, and the global type."""
    shardings: Sequence[TensorSharding | None] = explainer.values.shardings(value)
    sharding = shardings[0] if shardings else None
    mesh = None if sharding is None else resolve_mesh(sharding.mesh, analysis.meshes)
    local = None if sharding is None or mesh is None else local_type(value.type, sharding, mesh)
    shown = value.type if local is None else local
    owner = f"{value.owner.name}: " if isinstance(value.owner, Operation) else ""
    return f"{owner}{shown} on each device, {tensor_bytes(shown):,} bytes; {value.type} in all"
