"""The partitioned program that rules examine: its values as the user wrote them, and their final shardings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.advice.collectives import Collective
from sdy.advice.edits import Change, with_axis
from sdy.advice.lint.annotated_text import ProgramText, UnsupportedTextError
from sdy.advice.lint.finding import Fix
from sdy.advice.lint.price import Cost
from sdy.advice.partition_summary import PartitionSummary, axes_of_dims
from sdy.cost.collectives import CollectiveKind
from sdy.cost.roofline import OpTime
from sdy.diagnostics.diagnostic import Span
from sdy.dialects.data_flow import op_of
from sdy.dialects.facts.traits import collective_kind
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sharded_types import static_shape, tensor_bytes
from sdy.dialects.shardings import function_result_sharding, sharding_of
from sdy.model.axis import AxisRef, overlaps
from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.propagation.conflicts import Conflict, conflicts_of
from sdy.report.boundary import boundary_values
from sdy.report.explanation.counterparts import Counterparts

Target = SSAValue | int  # a value of the user's program, or the number of a result of its main function


class LintedProgram:
    """One partitioned program with what several rules ask of it.

    `written` maps values of the partitioned program on global shapes to those of the user's program, and back;
    `final_main` is the main function of the partitioned program.
    """

    def __init__(self, facts: PartitionSummary) -> None:
        self.facts = facts
        self.compiled, self.explainer = facts.compiled, facts.explainer
        self.main: FuncOp = main_function(self.compiled.written)
        self.written = Counterparts(self.compiled.written, self.compiled.global_module)
        self.final_main: FuncOp = main_function(self.compiled.global_module)
        self.mesh: Mesh = self.compiled.mesh
        self._meshes = meshes_of(self.compiled.written)
        named = (name for name, mesh in self._meshes.items() if mesh == self.mesh)
        self.mesh_name: str | Mesh = next(named, self.mesh)

    @cached_property
    def boundary(self) -> tuple[Target, ...]:
        """The arguments, then the numbers of the results."""
        return (*self.main.body.block.args, *range(len(self.main.function_type.outputs)))

    @cached_property
    def boundary_axes(self) -> dict[Target, TensorSharding]:
        """The final sharding of each argument and result, without those on another mesh."""
        finals = (each.sharding for each in boundary_values(self.compiled.global_module))
        found: dict[Target, TensorSharding] = {}
        for target, final in zip(self.boundary, finals, strict=True):
            sharding = final or fully_closed(self.mesh_name, len(static_shape(self.type(target)) or ()))
            if self.is_on_mesh(sharding) and self.is_on_mesh(self.annotation(target) or sharding):
                found[target] = sharding
        return found

    def is_on_mesh(self, sharding: TensorSharding) -> bool:
        """Return whether a sharding is on the mesh of the devices that run the program."""
        mesh = resolve_mesh(sharding.mesh, self._meshes)
        return mesh is not None and mesh.axes == self.mesh.axes

    def type(self, target: Target) -> Attribute:
        """Return the type of a value or of a result."""
        return self.main.function_type.outputs.data[target] if isinstance(target, int) else target.type

    def annotation(self, target: Target) -> TensorSharding | None:
        """Return the sharding that the user wrote."""
        return function_result_sharding(self.main, target) if isinstance(target, int) else sharding_of(target)

    def local_bytes(self, target: Target, sharding: TensorSharding) -> float:
        """Return the bytes of one shard."""
        axes = [axis for dim in sharding.dims for axis in dim.axes]
        return tensor_bytes(self.type(target)) / sharded_size(axes, self.mesh)

    def closed(self, sharding: TensorSharding) -> TensorSharding:
        """Return a closed sharding along the same axes, without priorities."""
        found = fully_closed(self.mesh_name, sharding.rank)
        for dim, axes in enumerate(axes_of_dims(sharding)):
            for axis in axes:
                found = with_axis(found, dim, axis)
        return found

    # The partitioned program on global shapes

    @cached_property
    def final_ops(self) -> tuple[Operation, ...]:
        """The ops of the main function after partitioning, those in regions included, in program order."""
        return tuple(op for op in self.final_main.walk() if op is not self.final_main)

    @cached_property
    def used_axes(self) -> frozenset[str]:
        """The axes along which any tensor is sharded."""
        found = [axis.name for sharding in self.boundary_axes.values() for axis in sharding.axis_refs()]
        for op in self.final_ops:
            if isinstance(op, ManualComputationOp):
                found += op.manual_axes.data
            for result in op.results:
                sharding = sharding_of(result)
                found += [] if sharding is None else [axis.name for axis in sharding.axis_refs()]
        return frozenset(found)

    @cached_property
    def op_seconds(self) -> Mapping[tuple[Span | None, str], float]:
        """The seconds of the ops of the local program that smaller shards would take less of, by location and name.

        Collectives and starts of kernels are left out.
        """
        found: dict[tuple[Span | None, str], float] = {}
        for slot in self.facts.schedule:
            if slot.seconds and isinstance(slot.work, OpTime):
                key = span_of(slot.visit.op), slot.visit.op.name
                starts = slot.visit.times * slot.work.start_seconds
                found[key] = found.get(key, 0.0) + slot.seconds - starts
        return found

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts of propagation."""
        traced = self.explainer.traced
        return tuple(conflicts_of(traced.flat.graph, traced.history))

    @cached_property
    def constraints(self) -> tuple[ShardingConstraintOp, ...]:
        """The sharding constraints of the user's program."""
        return tuple(op for op in self.compiled.written.walk() if isinstance(op, ShardingConstraintOp))

    @cached_property
    def _by_location(self) -> Mapping[tuple[Span | None, CollectiveKind], list[Collective]]:
        found: dict[tuple[Span | None, CollectiveKind], list[Collective]] = {}
        for each in self.facts.collectives:
            found.setdefault((each.span, each.kind), []).append(each)
        return found

    def collectives_of(self, op: Operation) -> tuple[Collective, ...]:
        """Return the collectives of the local program that an op of the partitioned program became."""
        kind = collective_kind(type(op))
        return () if kind is None else tuple(self._by_location.get((span_of(op), kind), ()))

    # Names and locations

    def name(self, target: Target) -> str:
        """Return the name of a value as the user knows it: `%w`, `params['w']`, or `result[1]`."""
        if isinstance(target, int) or (target in self._boundary_names and self.compiled.origin.argument_names):
            return self._boundary_names[target]
        return self.explainer.names[target]

    @cached_property
    def _boundary_names(self) -> dict[Target, str]:
        listed = boundary_values(self.compiled.written, self.compiled.origin.argument_names)
        return {target: each.name for target, each in zip(self.boundary, listed, strict=True)}

    def span(self, target: Target) -> Span | None:
        """Return the location of an argument or a result in the header, or of the op that defines a value."""
        if target in self._boundary_spans:
            return self._boundary_spans[target]
        op = self.main if isinstance(target, int) else op_of(target)
        return None if op is None else span_of(op)

    @cached_property
    def _boundary_spans(self) -> Mapping[Target, Span]:
        text, span = ProgramText(self.compiled.origin.text), span_of(self.main)
        try:
            header = text.function(text.offset(self.main))
        except UnsupportedTextError:
            return {}
        offsets = (*header.arguments, *header.results)
        if span is None or len(offsets) != len(self.boundary):
            return {}
        return {target: text.span(*found, span.file) for target, found in zip(self.boundary, offsets, strict=True)}

    def python_line(self, target: Target) -> str:
        """Return the line of Python that computes a value; empty if the program is not from JAX."""
        span = self.span(target)
        return self.compiled.origin.python_line(None if span is None else span.line)

    def with_source(self, span: Span | None) -> Span | None:
        """Return a location with the Python line that its line comes from, if that is known."""
        lines = self.compiled.origin.source_lines
        return None if span is None else span._replace(source=lines.get(span.line, span.source))

    def source(self, span: Span | None) -> str:
        """Return the line of a location as the user knows it: `train.py:20 in blocks.0/mlp`, or `line 7`."""
        return "" if span is None else self.compiled.origin.place(span.line)

    def fix(self, *changes: Change) -> Fix:
        """Return the fix that consists of some changes."""
        texts = (each.described(self.name(each.target), self.python_line(each.target)) for each in changes)
        return Fix(tuple(texts), changes)


def cost_of(collectives: tuple[Collective, ...]) -> Cost:
    """Return the bytes and seconds of some collectives."""
    return Cost(sum(each.bytes_sent for each in collectives), sum(each.seconds for each in collectives))


def uses_axis(sharding: TensorSharding, axis: AxisRef) -> bool:
    """Return whether a sharding refers to an axis or to any part of it."""
    return any(overlaps(own, axis) for own in sharding.axis_refs())


def divisible_dims(shape: tuple[int, ...], sharding: TensorSharding, axis: AxisRef, mesh: Mesh) -> Iterator[int]:
    """Yield the dims that can be sharded along one more axis so that all shards are equal."""
    for dim, size in enumerate(shape):
        shards = sharded_size((*sharding.dims[dim].axes, axis), mesh)
        if size and size % shards == 0:
            yield dim
