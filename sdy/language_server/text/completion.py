"""Completions of a word: ops, meshes, functions, axes and sub-axes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache

from sdy.dialects.ir.context import load_dialects
from sdy.dialects.module_text import make_context
from sdy.language_server.text.navigation import Axis, Names

_OP = re.compile(r'\s*(?:(?:%[\w$.:-]+\s*,\s*)*%[\w$.:-]+\s*=\s*)?(?P<quote>"?)(?P<word>[A-Za-z_][\w.$]*)?')
_SYMBOL = re.compile(r"(?P<before>.*?)(?P<word>@[\w$.]*)")
_AXIS = re.compile(r'.*[{,(]\s*(?P<word>"[^"\n]*)?')
_SUB_AXIS = re.compile(r'.*"(?P<axis>[^"\n]+)":(?P<word>[()\d]*)')
_SHARDING = re.compile(r"<@[\w$.]+,(?P<inside>[^>]*)|manual_axes\s*=\s*\{(?P<manual>[^}]*)")
_NEEDS_FUNCTION = re.compile(r".*\bcall\s*")
_NEEDS_MESH = re.compile(r".*<\s*")
_SHORT_NAMES = {"func.return": "return", "func.call": "call"}  # as MLIR prints them in a function


class CompletionKind(Enum):
    """The kind of a completion."""

    OP = "op"
    MESH = "mesh"
    FUNCTION = "function"
    AXIS = "axis"


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that may replace the characters from the offset `start` up to `end`."""

    kind: CompletionKind
    text: str
    detail: str
    start: int
    end: int


def completions(names: Names, offset: int) -> list[Completion]:
    """Return what may replace the word that ends at an offset."""
    start = names.document.line_start(offset)
    before = names.document.text[start:offset]
    return list(_symbols(names, before, offset) or _axes(names, before, offset) or _ops(before, offset))


def _symbols(names: Names, before: str, offset: int) -> list[Completion]:
    """Return the meshes after `<@`, the functions after `call @`, or both."""
    match = _SYMBOL.fullmatch(before, max(0, before.rfind("@") - 80))
    if match is None:
        return []
    start = offset - len(match["word"])
    found: list[Completion] = []
    if not _NEEDS_FUNCTION.fullmatch(match["before"]):
        for mesh in names.symbols.meshes.values():
            axes = ", ".join(f'"{axis.name}"={axis.size}' for axis in mesh.axes)
            found.append(Completion(CompletionKind.MESH, f"@{mesh.name}", f"mesh [{axes}]", start, offset))
    if not _NEEDS_MESH.fullmatch(match["before"]):
        functions = names.symbols.functions.values()
        found += [Completion(CompletionKind.FUNCTION, f"@{each.name}", "function", start, offset) for each in functions]
    return found


def _axes(names: Names, before: str, offset: int) -> list[Completion]:
    """Return the axes that the sharding around an offset does not use yet, or the sub-axes of the axis before it."""
    sharding = list(_SHARDING.finditer(before))
    if not sharding or sharding[-1].end() < len(before):
        return []
    mesh = names.symbols.mesh_around(offset)
    if mesh is None:
        return []
    inside = sharding[-1]["inside"] or sharding[-1]["manual"] or ""
    match = _SUB_AXIS.fullmatch(before)
    if match is not None:
        axes = (axis for axis in mesh.axes if axis.name == match["axis"])
        return [each for axis in axes for each in _sub_axes(axis, offset - len(match["word"]), offset)]
    match = _AXIS.fullmatch(before)
    if match is None:
        return []
    word = match["word"] or ""
    end = offset + 1 if word and names.document.text.startswith('"', offset) else offset
    unused = [axis for axis in mesh.axes if f'"{axis.name}"' not in inside]
    return [
        Completion(CompletionKind.AXIS, f'"{axis.name}"', f"{axis.size} devices", offset - len(word), end)
        for axis in unused
    ]


def _sub_axes(axis: Axis, start: int, end: int) -> Iterator[Completion]:
    """Yield the sub-axes `(pre_size)size` of an axis, major ones first."""
    sizes = [size for size in range(1, axis.size + 1) if axis.size % size == 0]
    for pre_size in sizes:
        for size in sizes:
            if 1 < size < axis.size and axis.size % (pre_size * size) == 0:
                detail = f"{size} of the {axis.size} devices"
                yield Completion(CompletionKind.AXIS, f"({pre_size}){size}", detail, start, end)


def _ops(before: str, offset: int) -> list[Completion]:
    """Return the ops, where one may begin."""
    match = _OP.fullmatch(before)
    if match is None or not (match["word"] or match["quote"]):
        return []
    start = offset - len(match["word"] or "")
    found = [Completion(CompletionKind.OP, name, text, start, offset) for name, text in op_summaries().items()]
    if not match["quote"]:
        summaries = op_summaries()
        found += [
            Completion(CompletionKind.OP, short, summaries[name], start, offset) for name, short in _SHORT_NAMES.items()
        ]
    return found


@cache
def op_summaries() -> dict[str, str]:
    """Return the names of all ops that a text may use, with the first sentence about each."""
    context = make_context()
    load_dialects(context)
    ops = {op.name: op for op in context.loaded_ops if "unregistered" not in op.name}
    return {name: (inspect.getdoc(op) or "").partition("\n")[0] for name, op in sorted(ops.items())}
