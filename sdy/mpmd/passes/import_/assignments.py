"""The text of assignments of names, inputs and outputs to meshes. Source: docs/spec/08, 1.6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import counted
from sdy.dialects.facts.traits import terminator_of
from sdy.mpmd.dialect.functions import failure
from sdy.mpmd.dialect.mesh_names import split_memory_kind

ValueT = TypeVar("ValueT", bound=SSAValue)


class Place(NamedTuple):
    """The place that the user gave a name: a mesh, perhaps with a memory kind after a `#`, and a stage."""

    text: str
    stage: int | None = None

    @property
    def mesh(self) -> str:
        """The name of the mesh."""
        return split_memory_kind(self.text)[0]

    @property
    def memory_kind(self) -> str | None:
        """The memory kind, if one is given."""
        return split_memory_kind(self.text)[1]


def parse_assignment(text: str) -> dict[str, Place]:
    """Return the place of each name of `f@m1,g@m2/1`. Raises: SdyError SDY-M010."""
    places: dict[str, Place] = {}
    for entry in _entries(text):
        name, where = _split(entry, "name@mesh or name@mesh/stage")
        mesh, has_stage, stage = where.partition("/")
        places[name] = Place(mesh, _integer(stage, entry, "a stage") if has_stage else None)
    return places


def parse_indexed_assignment(text: str) -> dict[int, Place]:
    """Return the place of each index of `0@m1,1@m2#pinned_host`, by increasing index. Raises: SdyError SDY-M010."""
    pairs = [_split(entry, "index@mesh") for entry in _entries(text)]
    return dict(sorted((_integer(index, f"{index}@{mesh}", "an index"), Place(mesh)) for index, mesh in pairs))


def parse_constraints(text: str) -> list[tuple[int, int]]:
    """Return the pairs of input and output of `0:0,2:1`. Raises: SdyError SDY-M010."""
    pairs = [entry.partition(":") for entry in _entries(text)]
    return [
        (_integer(first, f"{first}:{second}", "an input"), _integer(second, f"{first}:{second}", "an output"))
        for first, _, second in pairs
    ]


def input_of(func: FuncOp, index: int) -> BlockArgument:
    """Return an input that an assignment or a constraint names. Raises: SdyError SDY-M010 if there is none."""
    return _existing(func, "input", func.body.block.args, index)


def output_of(func: FuncOp, index: int) -> SSAValue:
    """Return an output that an assignment or a constraint names. Raises: SdyError SDY-M010 if there is none."""
    return _existing(func, "output", terminator_of(func.body).operands, index)


def _existing(func: FuncOp, kind: str, values: Sequence[ValueT], index: int) -> ValueT:
    if 0 <= index < len(values):
        return values[index]
    message = f"{kind} {index} does not exist: @{func.sym_name.data} has {counted(len(values), kind)}"
    raise failure(func, "SDY-M010", message, "indices begin at 0")


def _entries(text: str) -> list[str]:
    return [entry for each in text.split(",") if (entry := each.strip())]


def _split(entry: str, expected: str) -> tuple[str, str]:
    name, separator, place = entry.partition("@")
    if not separator:
        raise _error(f"expected {expected}, got {entry}")
    return name, place


def _integer(text: str, entry: str, expected: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _error(f"expected {expected} as an integer, got {text!r} in {entry}") from None


def _error(message: str) -> SdyError:
    hint = "entries are separated by commas, as in f@m1,g@m2/1 or 0@m1"
    return SdyError(Diagnostic("SDY-M010", message, hint=hint))
