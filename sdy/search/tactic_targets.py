"""The arguments and results that tactics shard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.advice.edits import Edit
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.sharded_types import static_shape
from sdy.model.mesh import Mesh
from sdy.model.sharding_update import fully_open
from sdy.report.boundary import boundary_values
from sdy.report.explanation.value_names import ValueNames
from sdy.search.tactics import Annotation

_KEY = re.compile(r"\[(?:'([^']*)'|(\d+))\]")
_RESULT = "result"


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
    return _KEY.sub(r".\1\2", name.removeprefix("%").replace('"', "'"))


def _matches(pattern: str, names: Sequence[str]) -> bool:
    """Return whether a pattern is or matches a name, or the first keys of one."""
    if pattern in names:
        return True
    return any(
        fnmatchcase(prefix, _dotted(pattern))
        for name in names
        if pattern.startswith(_RESULT) or not name.startswith(_RESULT)
        for prefix in _prefixes(name)
    )


def _prefixes(name: str) -> Iterator[str]:
    """Yield the first keys of a name: `params`, `params.l0` and `params.l0.up`."""
    return accumulate(name.split("."), lambda first, key: f"{first}.{key}")


def _impossible(message: str, hint: str | None) -> SdyError:
    return SdyError(Diagnostic("SDY-T255", message, hint=hint))
