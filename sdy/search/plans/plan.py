"""The result of a search: shardings to write down, and what they save."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from sdy.compile.written_program import WrittenProgram
from sdy.cost.program_cost import ProgramCost
from sdy.cost.quantities import seconds_text
from sdy.diagnostics.wording import first_names
from sdy.documents.document import document
from sdy.evidence.partitioners.runs import SECONDS as XLA_SECONDS
from sdy.grammar.partition_spec import write_partition_spec
from sdy.jax.tree_shardings import parameter_names
from sdy.model.mesh import Mesh
from sdy.model.path_rules import tree_path
from sdy.model.sharding import TensorSharding
from sdy.report.boundary import boundary_values
from sdy.report.reported import Reported
from sdy.report.tables.fitted_table import WIDTH, FittedTable, fitted_table, tables_text
from sdy.report.tables.program_tables import bytes_text, mesh_table
from sdy.search.explanation import PlanExplanation
from sdy.search.plans.plan_code import Leaves, leaf_specs, plan_code, rules_of
from sdy.search.plans.xla_check import XlaCheck, check_xla
from sdy.search.search_end import SearchEnd
from sdy.search.search_request import SECONDS, Goal, Partition

P_co = TypeVar("P_co", bound=WrittenProgram[Any], covariant=True)
BETTER = {Goal.TIME: "is faster", Goal.BYTES: "sends fewer bytes", Goal.MEMORY: "needs less memory"}
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
class ShardingPlan(Reported, Generic[P_co]):
    """Shardings for a program, found by a search on one mesh.

    `program` is the program with these annotations, `rules_program` the one without constraints inside, `original` the
    one as it was. `before` is the cost of the original program, `cost` that of the annotated one, `tried` the number of
    annotated programs that were partitioned, and `untried_meshes` that of meshes for which there was no time.
    `gap` is None if costs overlap, if the mesh has more than three axes, or if no plan can fit; in the last case
    `least_memory` says what every sharding needs. `fixed` are the manual computations, which stay as they are.

    If it `has_state`, some results are the next values of arguments, such as new parameters, and get their shardings.

    `xla` is `check_xla(run=False)` if the search had time for it: for a program from JAX that is not large.

    Both costs are those of a `partition`. For a program from JAX, it is that without the communication optimizer, as
    `jax.jit` lowers the program. For others, the optimizer is on or off, whichever is faster, as for
    `plan.program.optimized_for(machine)`; in programs of more than 1,500 ops, it is as in `program`. So
    `plan.program.cost(machine)`, which has the optimizer on unless the program says otherwise, may be another cost.
    """

    program: P_co
    rules_program: P_co
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
    partition: Partition
    explained: Callable[[float], PlanExplanation] = field(repr=False)
    has_state: bool
    xla: XlaCheck | None = None

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
        """Compile what is pasted of the plan with XLA, for as many devices of the host as the mesh has.

        The program is compiled as it was, or `baseline` is; then with the shardings of arguments and results, and if
        there are constraints, with these too. Each compilation has a process of its own and `seconds` of time. With
        `run`, all programs run on random inputs from `seed`, and their values are compared.
        Raises: SdyError SDY-T205 if JAX is not installed.
        """
        before, rules, plan = baseline or self.original, self.rules_program, self.program
        if self.partition is Partition.JIT:
            before, rules, plan = (each.without_optimizer() for each in (before, rules, plan))
        return check_xla(before, rules, plan, seed, seconds, run=run)

    @cached_property
    def rules_cost(self) -> ProgramCost:
        """The cost of the program with the shardings of arguments and results alone."""
        if not self.inside:
            return self.cost
        machine, program = self.cost.hardware, self.rules_program
        return self.partition.of(program, machine).cost(machine, self.cost.free_bytes)

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

    @cached_property
    def rules(self) -> dict[str, str]:
        """The shardings of the arguments as rules for their paths: `{"*.up": "P(None, 'model')", "*": "P()"}`.

        `sdy.shardings({"params": params, "x": x}, plan.rules, mesh)` takes them, with all arguments by their names.
        Empty if the arguments of the program have no names.
        """
        return rules_of(self._argument_leaves)

    @property
    def code(self) -> str:
        """The lines of Python with which `jax.jit` shards a function as the plan says, except for `constraints`.

        Empty if the arguments of the program have no names, or if it stays as it is.
        """
        leaves = self._argument_leaves
        is_changed = self.arguments or self.results or self.drops_annotations
        if not leaves or not is_changed:
            return ""
        return "\n".join(plan_code(self.mesh, self._parameters, leaves, self._result_leaves))

    @property
    def drops_annotations(self) -> bool:
        """True if the plan drops all annotations, because it is better that each device runs the whole program."""
        is_better = self.goal.of(self.cost) < self.goal.of(self.before)
        return not self.arguments and not self.results and is_better

    def apply_to(self, tree: object, mesh: Any = None) -> Any:
        """Return the `NamedSharding` of each leaf of the arguments, in the same structure.

        `tree` is the tuple of the arguments as the function takes them, a dict with some of them by name, or one of
        them. Leaves may have other sizes than in the program. `mesh` is one of JAX with the axes of the plan, by
        default an abstract one.
        Raises: SdyError SDY-T205 without JAX; SDY-T259 if no argument has this structure.
        """
        from sdy.jax.tree_shardings import argument_shardings  # JAX is needed here alone

        chosen = self.mesh if mesh is None else mesh
        return argument_shardings(tree, self._parameters, self._argument_leaves, self.rules, chosen)

    def logical_axis_rules(self, names: object) -> list[tuple[str, str | tuple[str, ...] | None]]:
        """Return the mesh axes of each logical axis, for `flax.linen.logical_axis_rules` and the config of MaxText.

        `names` has the structure of an argument, with a `PartitionSpec` of logical axes for each leaf, as
        `flax.linen.get_partition_spec` returns them.
        Raises: SdyError SDY-T266 if leaves shard a logical axis along different mesh axes; as `apply_to`.
        """
        from sdy.jax.tree_shardings import logical_axis_rules

        return logical_axis_rules(names, self.apply_to(names))

    @property
    def _parameters(self) -> Sequence[str | None]:
        """The positional parameters in order: None for one that JAX drops, since the function does not use it."""
        used = list(dict.fromkeys(path.partition(".")[0] for path in self._argument_leaves))
        origin = self.program.origin
        return parameter_names(origin.signature.argument_tree(origin.argument_names), used)

    @cached_property
    def _argument_leaves(self) -> Leaves:
        names = self.program.origin.argument_names
        return leaf_specs(boundary_values(self.program.module, names)[: len(names)])

    @property
    def _result_leaves(self) -> Leaves:
        names = self.program.origin.argument_names
        return leaf_specs(boundary_values(self.program.module, names)[len(names) :])

    @property
    def constraints(self) -> list[Constraint]:
        """The lines that need `with_sharding_constraint`, with the PartitionSpec and the values of each.

        Values of repeated layers that share a line are one constraint.
        """
        return by_line(self.inside)

    def unusual(self) -> Iterator[str]:
        """Yield what a reader may not expect: results that are tied to arguments, and what the plan does not shard."""
        values = [*self.arguments, *self.results]
        sharded = [value for value in values if value.is_sharded]
        if not sharded:
            return
        if self.has_state and self.results:
            yield "Results that are the next values of arguments are sharded like these."
        trees = dict.fromkeys(value.tree for value in self.arguments if value.sharding.dims)
        whole = [tree for tree in trees if all(value.tree != tree for value in sharded)]
        if whole:
            yield f"Unusual: nothing of {first_names(whole)} is sharded; each device holds all of it."
        used = {ref.name for value in sharded for ref in value.sharding.axis_refs()}
        idle = [f'"{axis.name}"' for axis in self.mesh.axes if axis.name not in used]
        if idle:
            yield f"Unusual: no argument and no result is sharded along {first_names(idle)}."

    def report(self, width: int = WIDTH) -> str:
        """Return a report in plain text: costs before and after, the shardings, and the gap to the lower bound."""
        tables = [mesh_table({"mesh": self.mesh}), _costs(self), *_values(self), *_held(self)]
        code = f"{self.code}\n" if self.code else ""
        return tables_text(tables, width=width) + code + tables_text([], _notes(self), width=width)

    def __repr__(self) -> str:
        """Return one line: the mesh and what the plan saves."""
        times = (seconds_text(cost.seconds_in_turn) for cost in (self.before, self.cost))
        return f"ShardingPlan({self.mesh.axes_text(', ')}; predicted time {' -> '.join(times)})"

    def _tables(self) -> Sequence[FittedTable]:
        return [_costs(self), *_rules(self), *_values(self), *_held(self)]

    def _notes(self) -> Iterator[str]:
        return _notes(self)

    def _meshes(self) -> Mapping[str, Mesh]:
        return {"mesh": self.mesh}

    def to_json(self) -> dict[str, object]:
        """Return the plan as plain data."""
        return document(
            "Plan",
            self,
            mesh=self.mesh.sizes,
            minimized=self.goal,
            after=self.cost,
            after_without_constraints=self.rules_cost,
        )


def _costs(plan: ShardingPlan[WrittenProgram[Any]]) -> FittedTable:
    """Return the table of the program as it was, with the shardings of arguments and results, and with constraints."""
    costs = {"before": plan.before, **({"without constraints": plan.rules_cost} if plan.inside else {})}
    costs["planned"] = plan.cost
    rows = [
        ("predicted time", *(seconds_text(cost.seconds_in_turn) for cost in costs.values())),
        ("if all overlaps", *(seconds_text(cost.seconds_overlapped) for cost in costs.values())),
        ("time of collectives", *(seconds_text(cost.communication_seconds) for cost in costs.values())),
        ("collectives", *(str(sum(each.runs for each in cost.collectives)) for cost in costs.values())),
        ("bytes sent", *(bytes_text(Goal.BYTES.of(cost)) for cost in costs.values())),
        ("peak live bytes", *(bytes_text(cost.peak_bytes) for cost in costs.values())),
        ("fits in memory", *("yes" if cost.fits else "no" for cost in costs.values())),
    ]
    if plan.xla is not None:
        compiled = [plan.xla.xla_before, *([plan.xla.xla_rules] if plan.inside else []), plan.xla.xla_plan]
        found = [each.statistics for each in compiled]
        rows += [
            ("collectives of XLA", *("" if each is None else str(each.runs) for each in found)),
            ("bytes sent by XLA", *("" if each is None else bytes_text(each.bytes_sent) for each in found)),
        ]
    free = bytes_text(plan.cost.free_bytes)
    what = "as jax.jit lowers it (estimate)" if plan.partition is Partition.JIT else "sdy's partition"
    title = f"{what}, on a device of {plan.cost.hardware.name} with {free} free bytes"
    return fitted_table(title, ("", *costs), rows, right=tuple(range(1, len(costs) + 1)))


def _rules(plan: ShardingPlan[WrittenProgram[Any]]) -> Iterator[FittedTable]:
    if plan.code:
        yield fitted_table("rules for sdy.shardings", ("path", "sharding"), plan.rules.items())


def _values(plan: ShardingPlan[WrittenProgram[Any]]) -> Iterator[FittedTable]:
    for title, values in (("arguments", plan.arguments), ("results", plan.results)):
        sharded = [value for value in values if value.is_sharded]
        others = f"; the other {len(values) - len(sharded)} are replicated" if len(sharded) < len(values) else ""
        if sharded and not plan.code:  # which has rules for them
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
    yield from plan.unusual()
    yield from () if plan.xla is None else plan.xla.warnings
    if not plan.can_shard:
        yield UNSHARDABLE_AROUND if plan.fixed else UNSHARDABLE
    elif not plan.arguments and not plan.results:
        better = f"Drop the annotations that the program has: it {BETTER[plan.goal]} if each device runs all of it."
        yield better if plan.drops_annotations else "No annotation saves enough: the program stays as it is."
    if plan.partition is not Partition.WRITTEN:
        yield f"Costs are {plan.partition.value}."
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
    def tree(self) -> str:
        """The name of the argument of which the value is a leaf: `params` of `params['up']`."""
        return tree_path(self.name).partition(".")[0]

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
