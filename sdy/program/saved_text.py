"""The text of a program with the locations that it lacks: the lines of Python and the names of arguments of JAX.

%0 = stablehlo.tanh %arg0 : tensor<8xf32>   becomes   %0 = stablehlo.tanh %arg0 : tensor<8xf32> loc("train.py":12:0)
"""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.advice.lint.annotated_text import ProgramText
from sdy.compile.origin import Origin
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.report.explanation.value_names import line_of


def text_with_locations(module: ModuleOp, origin: Origin[Any]) -> str:
    """Return the text of a program, in which each op and argument has the location that `origin` knows.

    Each op keeps its line. `module` was read from the text, which has one line per op, except for ops with regions.
    """
    lines = origin.text.splitlines()
    for op in pre_order(module):
        line, last = line_of(op), _last_line(op)
        source = "" if line is None else origin.source_lines.get(line, "")
        if source and last is not None:
            file, _, number = source.rpartition(":")
            lines[last - 1] += f" loc({dumps(file)}:{number}:0)"
    main = main_function(module)
    for start, name in reversed(list(_argument_ends(ProgramText(origin.text), main, origin.argument_names))):
        line, column = start
        text = lines[line - 1]
        lines[line - 1] = f"{text[:column]} loc({name}){text[column:]}"
    return "\n".join(lines) + "\n"


def _argument_ends(text: ProgramText, main: Operation, names: tuple[str, ...]) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the line and column at which each argument of the main function ends, with its name as MLIR writes it."""
    if names:
        for (start, end), name in zip(text.function(text.offset(main)).arguments, names, strict=True):
            end = start + len(text.text[start:end].rstrip())
            first, _ = text.line(end)
            yield (text.text.count("\n", 0, end) + 1, end - first), dumps(name, ensure_ascii=False)


def _last_line(op: Operation) -> int | None:
    """Return the last line of an op: the one before the next op, or if it is the last one of its block, its own."""
    own, later = line_of(op), op.next_op
    while later is not None and line_of(later) == own:
        later = later.next_op
    if later is None:
        return None if op.regions else own
    following = line_of(later)
    return None if following is None else following - 1
