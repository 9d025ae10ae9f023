"""What the values of a program are called, and which values a user means.

Names are those in the user's text, where the place of an op tells them; MLIR's own for the rest, as `sdy-opt` prints
them: arguments of regions, and results whose names stand on another line than the op.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.ir.walk import op_and_nested_ops, pre_order
from sdy.dialects.text.ssa_names import name_values

_NAME = r"%[\w$.-]+"
_RESULTS = re.compile(rf"((?:{_NAME}(?::\d+)?\s*,\s*)*{_NAME}(?::\d+)?)\s*=\s*$")
_RESULT = re.compile(rf"({_NAME})(?::(\d+))?")
_ARGUMENT = re.compile(rf"({_NAME})\s*:")
_ASKED = re.compile(rf"(?:@(?P<func>[\w$.-]+):)?(?P<name>{_NAME}(?:#\d+)?)|(?P<line>\d+)")


class ValueNames:
    """The names of the values of `module`, which was read from `text`."""

    def __init__(self, module: ModuleOp, text: str) -> None:
        self._module = module
        self._lines = text.splitlines(keepends=True)
        self._printed = {value: f"%{name}" for value, name in name_values(module, unique=False).names.items()}
        self._names = dict(self._printed)
        for op in pre_order(module):
            if isinstance(op, FuncOp):
                self._names.update(
                    zip(op.body.blocks[0].args if op.body.blocks else (), self._in_header(op), strict=False)
                )
            elif len(names := list(self._before(op))) == len(op.results):
                self._names.update(zip(op.results, names, strict=True))

    def __getitem__(self, value: SSAValue) -> str:
        """The name of a value, with its `%`."""
        return self._names[value]

    def find(self, asked: str) -> list[SSAValue]:
        """The values that are meant by `%name`, `%name#1`, `@func:%name` or the number of a line.

        A name without function is one of the main function. Raises: SdyError SDY-T203 where there is none.
        """
        match = _ASKED.fullmatch(asked)
        if match is None:
            raise _not_found(f"{asked!r} names no value", "write %name, @func:%name, or the number of a line")
        if match["line"]:
            return self._on_line(int(match["line"]))
        func = self._function(match["func"])
        values = list(_values_in(func))
        for names in (self._names, self._printed):
            found = [value for value in values if match["name"] in (names[value], names[value].partition("#")[0])]
            if found:
                return found
        close = difflib.get_close_matches(match["name"], [self._names[value] for value in values], n=1)
        hint = f"did you mean {close[0]}?" if close else "the number of a line does as well"
        raise _not_found(f"@{func.sym_name.data} has no value {match['name']}", hint)

    def _function(self, name: str | None) -> FuncOp:
        if name is None:
            return main_function(self._module)
        functions = functions_of(self._module)
        if name not in functions:
            raise _not_found(
                f"there is no function @{name}", f"functions: {', '.join(f'@{each}' for each in functions)}"
            )
        return functions[name]

    def _on_line(self, line: int) -> list[SSAValue]:
        found: list[SSAValue] = []
        for op in pre_order(self._module):
            if line_of(op) == line:
                found += _arguments(op) if isinstance(op, FuncOp) else op.results
        if not found:
            raise _not_found(f"no value is defined on line {line}", f"the program has {len(self._lines)} lines")
        return found

    def _before(self, op: Operation) -> Iterator[str]:
        """The names that stand before an op, one a result."""
        location = op.location
        if not isinstance(location, FileLineColLoc) or not 0 < location.line.data <= len(self._lines):
            return
        match = _RESULTS.search(self._lines[location.line.data - 1][: location.column.data - 1])
        for name, count in _RESULT.findall(match[1]) if match else ():
            yield from (f"{name}#{index}" for index in range(int(count))) if count else (name,)

    def _in_header(self, func: FuncOp) -> Iterator[str]:
        """The names in the header of a function, one an argument."""
        location = func.location
        if isinstance(location, FileLineColLoc):
            first = location.line.data - 1
            header = "".join(self._lines[first:])[location.column.data - 1 :]
            count = len(func.function_type.inputs)
            yield from (match[1] for match in islice(_ARGUMENT.finditer(header), count))


def line_of(op: Operation) -> int | None:
    """The line on which an op stands; None where it comes from no text."""
    return op.location.line.data if isinstance(op.location, FileLineColLoc) else None


def _arguments(func: FuncOp) -> Sequence[SSAValue]:
    return func.body.blocks[0].args if func.body.blocks else ()


def _values_in(func: FuncOp) -> Iterator[SSAValue]:
    for op in op_and_nested_ops(func):
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


def _not_found(message: str, hint: str) -> SdyError:
    return SdyError(Diagnostic("SDY-T203", message, hint=hint))
