"""The result of a search: shardings to write down, and what they save."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO
from typing import Any, Generic, NamedTuple, TypeVar

from rich.console import Console

from sdy.compile.written_program import WrittenProgram
from sdy.cost.program_cost import ProgramCost
from sdy.cost.quantities import seconds_text
from sdy.diagnostics.wording import first_names
from sdy.evidence.partitioners.runs import SECONDS as XLA_SECONDS
from sdy.grammar.partition_spec import write_partition_spec
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.report.html.fragment import tables_html
from sdy.report.program_report import WIDTH
from sdy.report.tables.fitted_table import FittedTable, fitted_table, print_tables
from sdy.report.tables.program_tables import bytes_text, mesh_table
from sdy.search.explanation import PlanExplanation
from sdy.search.plans.xla_check import XlaCheck, check_xla
from sdy.search.search_end import SearchEnd
from sdy.search.search_request import SECONDS, Goal

P_co = TypeVar("P_co", bound=WrittenProgram[Any], covariant=True)
REPLICATED = "Drop the annotations that the program has: it is faster if each device runs the whole program."
UNSHARDABLE = "No op can be sharded: no axis divides a dim that the sharding rule of an op allows to shard."
UNSHARDABLE_AROUND = "No op can be sharded outside of the manual computations, whose shardings are in the table above."
SHOWN_VALUES = 6  # rows of values that take the most memory


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """Values that are alive when a program needs the most memory: their bytes on a device in their smallest shards.

    `source` is the line that computes them, or empty; equal values of repeated layers are counted together.
    """

    source: str
    type: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LeastMemory:
    """The bytes that each device needs at one point of a program, however it is sharded, and the values they are."""

    bytes: int
    values: tuple[HeldMemory, ...]  # the largest first


@dataclass(frozen=True, repr=False)
class ShardingPlan(Generic[P_co]):
    """Shardings for a program, found by a search on one mesh.

    `program` is the program with these annotations, `original` the one as it was. `before` is the cost of the original
    program, `cost` that of the annotated one, `tried` the number of annotated programs that were partitioned, and
    `untried_meshes` that of meshes for which there was no time.
    `gap` is None if costs overlap, if the mesh has more than three axes, or if no plan can fit; in the last case
    `least_memory` says what every sharding needs. `fixed` are the manual computations, which stay as they are.

    With `chooses_optimizer`, both costs are those with the communication optimizer on or off, whichever is faster, as
    for `plan.program.optimized_for(machine)`; for programs of more than 1,500 ops, the optimizer is as in `program`. So
    `plan.program.cost(machine)`, which has the optimizer on unless the program says otherwise, may be larger.
    """

    program: P_co
    original: P_co
    mesh: Mesh
    goal: Goal
    before: ProgramCost
    cost: ProgramCost
    arguments: Sequence[PlannedValue]
    results: Sequence[PlannedValue]
    inside: Sequence[PlannedValue]
    fixed: Sequence[FixedComputation]
    gap: float | None
    tried: int
    untried_meshes: int
    end: SearchEnd
    can_shard: bool
    least_memory: LeastMemory | None
    chooses_optimizer: bool
    explained: Callable[[float], PlanExplanation] = field(repr=False)

    def explain(self, time_limit: float = SECONDS) -> PlanExplanation:
        """Return, for each axis along which an argument is sharded, what the best plan without it would cost.

        The prices are those of the cost network, which is solved again with the choice forbidden.
        """
        return self.explained(time_limit)

    def check_xla(
        self,
        baseline: WrittenProgram[Any] | None = None,
        *,
        seed: int = 0,
        seconds: float = XLA_SECONDS,
        run: bool = True,
    ) -> XlaCheck:
        """Compile the program with XLA with and without the plan, for as many devices of the host as the mesh has.

        Without the plan, it is as it was, or `baseline`. Each compilation has a process of its own and `seconds` of
        time. With `run`, both programs run on random inputs from `seed`, and their values are compared.
        Raises: SdyError SDY-T205 if JAX is not installed.
        """
        return check_xla(baseline or self.original, self.program, seed, seconds, run=run)

    @property
    def is_complete(self) -> bool:
        """True unless the time limit or the user ended the search, on this mesh or before all meshes were compared."""
        return self.end.is_complete and not self.untried_meshes

    @property
    def in_shardings(self) -> dict[str, str]:
        """The PartitionSpec of each argument, by its name: `{"params['up']": "P(None, 'model')"}`."""
        return {value.name: value.spec for value in self.arguments}

    @property
    def out_shardings(self) -> dict[str, str]:
        """The PartitionSpec of each result, by its name."""
        return {value.name: value.spec for value in self.results}

    @property
    def constraints(self) -> list[Constraint]:
        """The lines that need `with_sharding_constraint`, with the PartitionSpec and the values of each.

        Values of repeated layers that share a line are one constraint.
        """
        return by_line(self.inside)

    def report(self, width: int = WIDTH) -> str:
        """Return a report in plain text: costs before and after, the shardings, and the gap to the lower bound."""
        return _report(self, width)

    def __repr__(self) -> str:
        """Return one line: the mesh and what the plan saves."""
        axes = ", ".join(f"{axis.name}={axis.size}" for axis in self.mesh.axes)
        times = (seconds_text(cost.seconds_in_turn) for cost in (self.before, self.cost))
        return f"ShardingPlan({axes}; predicted time {' -> '.join(times)})"

    def _repr_html_(self) -> str:
        """Return the report as the tables that notebooks show."""
        return tables_html(repr(self), [_costs(self), *_values(self), *_held(self)], _notes(self), {"mesh": self.mesh})

    def to_json(self) -> dict[str, object]:
        """Return the plan as plain data."""
        return {
            "mesh": {axis.name: axis.size for axis in self.mesh.axes},
            "minimized": self.goal.value,
            "in_shardings": self.in_shardings,
            "out_shardings": self.out_shardings,
            "constraints": [
                {"source": each.source, "type": each.type, "spec": each.spec, "values": list(each.values)}
                for each in self.constraints
            ],
            "fixed": [each._asdict() for each in self.fixed],
            "before": self.before.to_json(),
            "after": self.cost.to_json(),
            "gap": self.gap,
            "least_memory": None if self.least_memory is None else asdict(self.least_memory),
            "tried": self.tried,
            "untried_meshes": self.untried_meshes,
            "is_complete": self.is_complete,
            "end": self.end.value,
        }


def _report(plan: ShardingPlan[WrittenProgram[Any]], width: int = WIDTH) -> str:
    """Return the report on a plan as text, in tables of at most `width` columns."""
    console = Console(file=StringIO(), width=width, highlight=False)
    print_tables(console, mesh_table({"mesh": plan.mesh}), _costs(plan), *_values(plan), *_held(plan))
    for line in _notes(plan):
        console.print(line, markup=False)
    stream = console.file
    assert isinstance(stream, StringIO)
    return stream.getvalue()


def _costs(plan: ShardingPlan[WrittenProgram[Any]]) -> FittedTable:
    def sent(cost: ProgramCost) -> float:
        return Goal.BYTES.of(cost)

    pairs = (
        ("predicted time", *(seconds_text(cost.seconds_in_turn) for cost in (plan.before, plan.cost))),
        ("if all overlaps", *(seconds_text(cost.seconds_overlapped) for cost in (plan.before, plan.cost))),
        ("time of collectives", *(seconds_text(cost.communication_seconds) for cost in (plan.before, plan.cost))),
        ("collectives", *(str(sum(each.runs for each in cost.collectives)) for cost in (plan.before, plan.cost))),
        ("bytes sent", *(bytes_text(sent(cost)) for cost in (plan.before, plan.cost))),
        ("peak live bytes", *(bytes_text(cost.peak_bytes) for cost in (plan.before, plan.cost))),
        ("fits in memory", *("yes" if cost.fits else "no" for cost in (plan.before, plan.cost))),
    )
    title = f"one device of {plan.cost.hardware.name}, with {bytes_text(plan.cost.free_bytes)} free bytes"
    return fitted_table(title, ("", "before", "planned"), pairs, right=(1, 2))


def _values(plan: ShardingPlan[WrittenProgram[Any]]) -> Iterator[FittedTable]:
    for title, values in (("arguments", plan.arguments), ("results", plan.results)):
        sharded = [value for value in values if value.is_sharded]
        others = f"; the other {len(values) - len(sharded)} are replicated" if len(sharded) < len(values) else ""
        if sharded:
            yield fitted_table(f"{title}{others}", ("value", "type", "sharding"), _rows(sharded))
    if plan.inside:
        columns = ("line", "type", "sharding", "values")
        rows = ((each.source, each.type, each.spec, first_names(each.values)) for each in plan.constraints)
        yield fitted_table("with_sharding_constraint", columns, rows)
    if plan.fixed:
        rows = ((each.source, ", ".join(each.in_specs), ", ".join(each.out_specs)) for each in plan.fixed)
        yield fitted_table("manual computations, which stay as they are", ("line", "operands", "results"), rows)


def _held(plan: ShardingPlan[WrittenProgram[Any]]) -> Iterator[FittedTable]:
    """Yield the table of the values that take the most memory, if no plan can fit."""
    if plan.least_memory is not None:
        rows = (
            (each.source, each.type, str(each.count), bytes_text(each.bytes))
            for each in plan.least_memory.values[:SHOWN_VALUES]
        )
        title = "most of the memory that every sharding needs"
        yield fitted_table(title, ("line", "type", "values", "bytes on a device"), rows, right=(2, 3))


def _rows(values: Sequence[PlannedValue]) -> Iterator[tuple[str, str, str]]:
    return ((value.name, value.type, value.spec) for value in values)


def _notes(plan: ShardingPlan[WrittenProgram[Any]]) -> Iterator[str]:
    for title, values in (("arguments", plan.arguments), ("results", plan.results)):
        if values and not any(value.is_sharded for value in values):
            yield f"All {title} are replicated."
    if not plan.can_shard:
        yield UNSHARDABLE_AROUND if plan.fixed else UNSHARDABLE
    elif not plan.arguments and not plan.results:
        is_faster = plan.cost.seconds_in_turn < plan.before.seconds_in_turn
        yield REPLICATED if is_faster else "No annotation saves enough: the program stays as it is."
    if plan.chooses_optimizer:
        yield (
            "Costs are with the communication optimizer or without it, whichever is faster, as in `sdy cost --minimize "
            "time`."
        )
    yield f"{plan.tried} annotated programs were partitioned{plan.end.text}."
    if plan.untried_meshes:
        meshes = "one more mesh was" if plan.untried_meshes == 1 else f"{plan.untried_meshes:,} more meshes were"
        yield f"Time was up before {meshes} compared; a longer search may find a better plan."
    if plan.gap is not None and plan.cost.fits:
        yield (
            f"In its cost model, the search found a solution that costs at most {plan.gap:.1%} more than any other "
            "that fits in memory."
        )
    if plan.least_memory is not None:
        needed = bytes_text(plan.least_memory.bytes)
        yield (
            f"No plan fits in memory: however the program is sharded, a device needs {needed} bytes at one point. The "
            "last table shows the values that take most of them. Recompute some of these, use a smaller batch, or more "
            "devices. This plan needs the least memory of those that were found."
        )
    elif not plan.cost.fits:
        yield "No plan was found that fits in memory; this is the one that needs the least."


class PlannedValue(NamedTuple):
    """A value with its sharding: an argument, a result, or a value inside. `source` is its line, or empty."""

    name: str
    type: str
    sharding: TensorSharding
    source: str = ""

    @property
    def is_sharded(self) -> bool:
        """Return whether a dim is sharded."""
        return any(dim.axes for dim in self.sharding.dims)

    @property
    def spec(self) -> str:
        """The sharding as a PartitionSpec of JAX."""
        return write_partition_spec(self.sharding)


class FixedComputation(NamedTuple):
    """A manual computation that a search leaves as it is: its line, or empty, and its PartitionSpecs."""

    source: str
    in_specs: tuple[str, ...]
    out_specs: tuple[str, ...]


class Constraint(NamedTuple):
    """One `with_sharding_constraint` of a program: its line, the type and PartitionSpec, and the values it stands for.

    `source` is `train.py:12`, `line 7` of a text, or empty if the line is unknown. Several values of a line with other
    types or PartitionSpecs are constraints of their own.
    """

    source: str
    type: str
    spec: str
    values: tuple[str, ...]


def by_line(values: Iterable[PlannedValue]) -> list[Constraint]:
    """Return the constraints for values inside a program, in the order of the first value of each."""
    found: dict[tuple[str, ...], list[str]] = {}
    for value in values:
        own = () if value.source else (value.name,)
        found.setdefault((value.source, value.type, value.spec, *own), []).append(value.name)
    return [Constraint(key[0], key[1], key[2], tuple(names)) for key, names in found.items()]
