"""Descriptions of a value, an op, a function, a mesh or an axis, as Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.sharded_types import local_type, static_shape, tensor_bytes
from sdy.grammar.write import write_rule, write_sharding
from sdy.language_server.analysis.analysed_text import AnalysedText
from sdy.language_server.text.value_index import Definition
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import with_closed
from sdy.report.explanation.trace_descriptions import dims_text
from sdy.report.notation import notations
from sdy.rules.all import sharding_rule

MAX_VALUES, MAX_STEPS, MAX_ARGUMENTS = 4, 6, 16


def value_hover(analysis: AnalysedText, definition: Definition) -> str | None:
    """Return the type, the sharding in all notations, the local type and the origin of each axis of a value.

    A name of several values (`%0:2`) gets all of them. Return None if no value is defined there.
    """
    values = analysis.values(definition)
    blocks = [_value_text(analysis, definition[1], value) for value in values[:MAX_VALUES]]
    return "\n\n---\n\n".join(blocks) or None


def _value_text(analysis: AnalysedText, name: str, value: SSAValue) -> str:
    typed = _code(f"{name} : {value.type}", "mlir")
    explainer = analysis.explainer
    if explainer is None:
        return f"{typed}\n\nThe shardings could not be propagated."
    shardings = dict.fromkeys(explainer.values.shardings(value))
    tables = (_sharding_text(analysis, value.type, each) for each in shardings)
    return "\n\n".join((typed, *tables, _code("\n".join(_shortened(explainer.explanation(value).lines())))))


def _sharding_text(analysis: AnalysedText, value_type: Attribute, sharding: TensorSharding | None) -> str:
    mesh = None if sharding is None else resolve_mesh(sharding.mesh, analysis.meshes)
    if sharding is None or mesh is None:
        return f"replicated, {tensor_bytes(value_type):,} bytes per device"
    closed = with_closed(sharding, range(sharding.rank))
    rows = [("sdy", write_sharding(closed))]
    rows += [row for row in notations(closed, mesh, None) if row[0] not in ("sdy", "@mesh")]
    local = local_type(value_type, sharding, mesh)
    if local is not None and static_shape(value_type) is not None:
        rows.append(("global", f"{value_type}, {tensor_bytes(value_type):,} bytes"))
        rows.append(("local", f"{local}, {tensor_bytes(local):,} bytes per device"))
    return _table(rows)


def _shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of an explanation, without the middle of a long chain of steps."""
    for is_step, group in groupby(lines, key=lambda line: line.startswith("    ")):
        chain = list(group)
        if not is_step or len(chain) <= MAX_STEPS:
            yield from chain
            continue
        half = MAX_STEPS // 2
        yield from (*chain[:half], f"    ... {len(chain) - 2 * half} more steps ...", *chain[-half:])


def op_hover(op: Operation) -> str:
    """Return the meaning of an op, and its sharding rule."""
    parts = [f"**{op.name}**", (inspect.getdoc(type(op)) or "").partition("\n\n")[0]]
    rule = sharding_rule(op)
    if rule is not None:
        parts += ["Sharding rule:", _code(write_rule(rule))]
    return "\n\n".join(filter(None, parts))


def symbol_hover(analysis: AnalysedText, name: str) -> str | None:
    """Return the axes of the mesh, or the arguments and results of the function, with this name without `@`."""
    if name in analysis.meshes:
        return mesh_text(name, analysis.meshes[name])
    func = functions_of(analysis.module).get(name)
    return None if func is None else _function_text(analysis, func)


def mesh_text(name: str, mesh: Mesh) -> str:
    """Return the axes of a mesh and the number of its devices."""
    return f"{_code(f'sdy.mesh @{name} = {mesh}', 'mlir')}\n\n{mesh.device_count:,} devices"


def axis_hover(analysis: AnalysedText, axis: str, mesh_name: str | None) -> str | None:
    """Return the size of an axis, on one mesh or on each that has an axis of this name."""
    lines = [
        f'axis `"{axis}"` of `@{name}`: {each.size} of {mesh.device_count:,} devices'
        for name, mesh in analysis.meshes.items()
        for each in mesh.axes
        if each.name == axis and mesh_name in (None, name)
    ]
    return "\n\n".join(lines) or None


def _function_text(analysis: AnalysedText, func: FuncOp) -> str:
    arguments: Sequence[SSAValue] = func.body.blocks[0].args if func.body.blocks else ()
    explainer = analysis.explainer
    rows: list[tuple[str, str]] = []
    for argument in arguments[:MAX_ARGUMENTS]:
        shown = "%?" if explainer is None else explainer.names[argument]
        shardings = [] if explainer is None else explainer.values.shardings(argument)
        texts = dict.fromkeys(dims_text(each) for each in shardings if each is not None)
        rows.append((shown, f"{argument.type}  {' / '.join(texts)}".rstrip()))
    if len(arguments) > MAX_ARGUMENTS:
        rows.append(("...", f"{len(arguments) - MAX_ARGUMENTS} more arguments"))
    results = ", ".join(map(str, func.function_type.outputs.data))
    return f"{_code(f'func.func @{func.sym_name.data} -> ({results})', 'mlir')}\n\n{_table(rows)}"


def _table(rows: Sequence[tuple[str, str]]) -> str:
    width = max((len(label) for label, _ in rows), default=0)
    return _code("\n".join(f"{label:{width}}  {text}" for label, text in rows))


def _code(text: str, language: str = "text") -> str:
    return f"```{language}\n{text}\n```"
