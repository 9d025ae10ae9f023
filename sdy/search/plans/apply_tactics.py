"""Applies tactics to a program, one step after the other, and tells what it costs after each step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.advice.edits import Edit
from sdy.advice.lint.annotated_text import with_module
from sdy.compile.written_program import WrittenProgram
from sdy.cost.hardware import Hardware
from sdy.cost.program_cost import ProgramCost
from sdy.cost.quantities import seconds_text
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import counted, similar_name_hint
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import static_shape
from sdy.documents.document import document
from sdy.model.mesh import Mesh
from sdy.model.path_rules import matches_path, tree_path
from sdy.model.sharding_update import fully_open
from sdy.report.boundary import boundary_values
from sdy.report.explanation.value_names import ValueNames
from sdy.report.notation import read_mesh
from sdy.report.reported import Reported
from sdy.report.tables.fitted_table import WIDTH, FittedTable, fitted_table, tables_text
from sdy.report.tables.program_tables import bytes_text, mesh_table
from sdy.search.plans.search_plan import required_meshes, search_plan
from sdy.search.search_request import Goal, search_request
from sdy.search.searched_module import name_of_mesh, on_one_mesh
from sdy.search.tactics import Annotation, SearchRest, Tactic

_RESULT = "result"

P_co = TypeVar("P_co", covariant=True)

P = TypeVar("P", bound=WrittenProgram[Any])
Step = Tactic | Sequence[Annotation]


def apply_tactics(program: P, steps: Sequence[Step], mesh: str | None, hardware: Hardware) -> AppliedTactics[P]:
    """Apply each step with the next priority of propagation, and price the program after it.

    `mesh` is by default that of the program; on another mesh, the
    annotations of the program are dropped.
    Raises: SdyError SDY-T253 if the program has no mesh and none is given; errors of the tactics and of the search.
    """
    chosen = required_meshes(program.module, () if mesh is None else (read_mesh(mesh),))[0]
    names = target_names(program.module, program.origin.text, program.origin.argument_names)
    program = with_module(program, on_one_mesh(program.module, chosen))
    found = [AppliedStep("as it was", 0, program.cost(hardware))]
    for step in steps:
        if isinstance(step, SearchRest):
            program, values = _searched(program, step, hardware)
        else:
            program, values = _annotated(program, step if isinstance(step, Sequence) else (step,), chosen, names)
        text = "; ".join(map(str, step)) if isinstance(step, Sequence) else str(step)
        found.append(AppliedStep(text, values, program.cost(hardware)))
    return AppliedTactics(program, chosen, found)


def _searched(program: P, tactic: SearchRest, hardware: Hardware) -> tuple[P, int]:
    """Return the program with the shardings that a search finds, and how many values these annotate."""
    options = tactic.memory, tactic.minimize
    plan = search_plan(program, search_request(hardware, None, None, *options, seconds=tactic.seconds))
    return plan.program, len(plan.arguments) + len(plan.results)


def _annotated(program: P, tactics: Sequence[Annotation], mesh: Mesh, names: Sequence[Sequence[str]]) -> tuple[P, int]:
    """Return the program with the annotations of tactics, and how many values these change."""
    module = program.module
    targets = TacticTargets(module, mesh, name_of_mesh(module, mesh), names)
    priority = targets.first_priority
    for tactic in tactics:
        targets.apply(tactic, priority)
    edits = targets.edits()
    return with_module(program, module, edits), len(edits)


@dataclass(frozen=True, slots=True)
class AppliedStep:
    """A step: its tactics, the number of arguments and results that they annotated, and the cost after it."""

    tactics: str
    values: int
    cost: ProgramCost

    def __repr__(self) -> str:
        return (
            f"AppliedStep({self.tactics}: {counted(self.values, 'value')}, {seconds_text(self.cost.seconds_in_turn)})"
        )

    @property
    def collectives(self) -> dict[str, int]:
        """The number of runs of each kind of collective."""
        found: dict[str, int] = {}
        for each in self.cost.collectives:
            found[each.kind.value] = found.get(each.kind.value, 0) + each.runs
        return found


@dataclass(frozen=True, slots=True)
class AppliedTactics(Reported, Generic[P_co]):
    """A program with the annotations of tactics. `steps` begins with the program as it was."""

    program: P_co
    mesh: Mesh
    steps: Sequence[AppliedStep]

    def report(self, width: int = WIDTH) -> str:
        """Return a table in plain text: collectives, bytes, time and peak memory after each step."""
        steps = tables_text([mesh_table({"mesh": self.mesh})], self._notes(), width=width)
        return steps + tables_text(self._tables(), width=width)

    def __repr__(self) -> str:
        """Return one line: the number of steps, and the predicted time before and after them."""
        times = (seconds_text(each.cost.seconds_in_turn) for each in (self.steps[0], self.steps[-1]))
        return f"AppliedTactics({counted(len(self.steps) - 1, 'step')}; predicted time {' -> '.join(times)})"

    def _meshes(self) -> Mapping[str, Mesh]:
        return {"mesh": self.mesh}

    def to_json(self) -> dict[str, object]:
        """Return the steps as plain data."""
        return document("AppliedTactics", self, mesh=self.mesh.sizes)

    def _notes(self) -> Iterator[str]:
        yield from (f"{number}. {step.tactics}" for number, step in enumerate(self.steps))

    def _tables(self) -> Sequence[FittedTable]:
        machine = self.steps[0].cost.hardware.name
        columns = ("step", "values", "collectives", "bytes sent", "time", "peak bytes")
        return [fitted_table(f"one device of {machine} after each step", columns, self._rows(), right=(0, 1, 3, 4, 5))]

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for number, step in enumerate(self.steps):
            collectives = ", ".join(f"{count} {kind}" for kind, count in step.collectives.items())
            sent, peak = (bytes_text(goal.of(step.cost)) for goal in (Goal.BYTES, Goal.MEMORY))
            values = str(step.values) if step.values else ""
            yield str(number), values, collectives or "none", sent, seconds_text(step.cost.seconds_in_turn), peak


class TacticTargets:
    """The arguments and results of a program, with the names that patterns may match and with their shardings."""

    def __init__(self, module: ModuleOp, mesh: Mesh, mesh_name: str, names: Sequence[Sequence[str]]) -> None:
        """Read the values of a module, for which `names` are those of `target_names`."""
        self._mesh = mesh
        self._names = names
        values = boundary_values(module)
        arguments = main_function(module).body.block.args
        self._targets: list[SSAValue | int] = [*arguments, *range(len(values) - len(arguments))]
        self._shapes = [static_shape(value.type) or () for value in values]
        self._shardings = [
            value.sharding or fully_open(mesh_name, len(shape))
            for value, shape in zip(values, self._shapes, strict=True)
        ]
        self._changed: set[int] = set()

    @property
    def first_priority(self) -> int:
        """The priority of the first tactic: after those of all annotations."""
        used = [dim.effective_priority for each in self._shardings for dim in each.dims if dim.axes]
        return max(used, default=-1) + 1

    def apply(self, tactic: Annotation, priority: int) -> int:
        """Change the shardings of the values that a tactic matches; return how many changed.

        Raises: SdyError SDY-T254 if no value matches, SDY-T255 if the mesh has no such axis, or if no matching value
        can be sharded so.
        """
        axes = [axis.name for axis in self._mesh.axes]
        if tactic.axis is not None and tactic.axis not in axes:
            raise _impossible(f'{tactic}: the mesh has no axis "{tactic.axis}"', f"axes: {', '.join(axes)}")
        matching = [number for number, names in enumerate(self._names) if _matches(tactic.pattern, names)]
        if not matching:
            raise self._no_match(tactic.pattern)
        reasons: list[str] = []
        for number in matching:
            changed = tactic.changed(self._shardings[number], self._shapes[number], self._mesh, priority)
            if isinstance(changed, str):
                reasons.append(f"{self._names[number][-1]} {changed}")
            else:
                self._shardings[number] = changed
                self._changed.add(number)
        if len(reasons) == len(matching):
            hint = "a tactic must change at least one of the values that it matches"
            raise _impossible(f"{tactic}: {reasons[0]}", hint)
        return len(matching) - len(reasons)

    def edits(self) -> list[Edit]:
        """Return the annotations of all values that tactics changed."""
        return [Edit(self._targets[number], self._shardings[number]) for number in sorted(self._changed)]

    def _no_match(self, pattern: str) -> SdyError:
        known = [name for names in self._names for name in names]
        shown = ", ".join(names[-1] for names in self._names)
        hint = similar_name_hint(pattern, known) or f"values: {shown}"
        return SdyError(Diagnostic("SDY-T254", f"no argument or result matches {pattern}", hint=hint))


def target_names(module: ModuleOp, text: str, argument_names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the names of each argument and result that patterns may match, the one for messages last.

    `module` was read from `text`.
    """
    in_text = ValueNames(module, text)
    written = [in_text[argument] for argument in main_function(module).body.block.args]
    values = [value.names for value in boundary_values(module, argument_names)]
    of_arguments = [(*names, name) for names, name in zip(values, written, strict=False)]
    return [_with_dotted(*names) for names in (*of_arguments, *values[len(written) :])]


def _with_dotted(*names: str) -> tuple[str, ...]:
    given = dict.fromkeys(names)
    return tuple(dict.fromkeys((*map(_dotted, given), *given)))


def _dotted(name: str) -> str:
    """Return a name with its keys as in `params.l0.up`, without brackets and quotes."""
    return tree_path(name.removeprefix("%"))


def _matches(pattern: str, names: Sequence[str]) -> bool:
    """Return whether a pattern is or matches a name, or the first keys of one."""
    return pattern in names or any(
        matches_path(_dotted(pattern), name)
        for name in names
        if pattern.startswith(_RESULT) or not name.startswith(_RESULT)
    )


def _impossible(message: str, hint: str | None) -> SdyError:
    return SdyError(Diagnostic("SDY-T255", message, hint=hint))
