"""Names the values of a program, and finds values by name.

Names are those in the user's text if they precede the op on its line or are in a function header. Other values, such as
arguments of regions, have the names that `sdy-opt` prints. Arguments of a JAX function have their names in JAX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import first_names, similar_name_hint
from sdy.dialects.ir.func_attrs import returned_value, shown_result_name, with_single_quotes
from sdy.dialects.ir.symbols import functions_of, main_function
from sdy.dialects.ir.walk import op_and_nested_ops, pre_order
from sdy.dialects.text.ssa_names import name_values

_NAME = r"%[\w$.-]+"
_RESULTS = re.compile(rf"((?:{_NAME}(?::\d+)?\s*,\s*)*{_NAME}(?::\d+)?)\s*=\s*$")
_RESULT = re.compile(rf"({_NAME})(?::(\d+))?")
_ARGUMENT = re.compile(rf"({_NAME})\s*:")
_QUERY = re.compile(rf"(?:@(?P<func>[\w$.-]+):)?(?P<name>{_NAME}(?:#\d+)?)|(?P<line>\d+)")


class ValueNames:
    """The names of the values of `module`, which was read from `text`."""

    def __init__(self, module: ModuleOp, text: str, argument_names: Sequence[str] = ()) -> None:
        """Name the values; `argument_names` are the names of the arguments of the main function in JAX, if known."""
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
        self._in_text = dict(self._names)
        self._arguments = dict(zip(argument_names, _arguments(main_function(module)), strict=False))
        self._names.update({value: name for name, value in self._arguments.items()})

    def __getitem__(self, value: SSAValue) -> str:
        """Return the name of a value: its name in JAX (`params['up']`), or that in the text, with its `%`."""
        return self._names[value]

    def find(self, query: str) -> list[SSAValue]:
        """Return the values that `query` refers to: a name, a line number, or a name in JAX.

        A name is `%name`, `%name#1` or `@func:%name`; a name in JAX is `params['x']` or `result['x']`. A name without a
        function refers to the main function. Raises: SdyError SDY-T203 if no value has that name.
        """
        argument = self._arguments.get(with_single_quotes(query))
        if argument is not None:
            return [argument]
        returned = returned_value(main_function(self._module), query)
        if returned is not None:
            return [returned]
        match = _QUERY.fullmatch(query)
        if match is None:
            raise _not_found(f"expected a value, got {query!r}", self._hint(with_single_quotes(query)))
        if match["line"]:
            return self._on_line(int(match["line"]))
        func = self._function(match["func"])
        values = list(_values_in(func))
        for names in (self._in_text, self._printed):
            found = [value for value in values if match["name"] in (names[value], names[value].partition("#")[0])]
            if found:
                return found
        hint = similar_name_hint(match["name"], [self._names[value] for value in values])
        otherwise = "values can also be specified by line number"
        raise _not_found(f"@{func.sym_name.data} has no value {match['name']}", hint or otherwise)

    def _hint(self, query: str) -> str:
        """Return a hint on a text that names no value: the leaves of that pytree, or the most similar name."""
        func = main_function(self._module)
        known = [
            *self._arguments,
            *(shown_result_name(func, index) for index in range(len(func.function_type.outputs))),
        ]
        leaves = [name for name in known if name.startswith((f"{query}[", f"{query}."))]
        if leaves:
            return f"values in {query}: {first_names(leaves)}"
        otherwise = "write %name, @func:%name, a line number, or the name of an argument or a result in JAX"
        return similar_name_hint(query, known) or otherwise

    def _function(self, name: str | None) -> FuncOp:
        if name is None:
            return main_function(self._module)
        functions = functions_of(self._module)
        if name not in functions:
            raise _not_found(f"unknown function @{name}", f"functions: {', '.join(f'@{each}' for each in functions)}")
        return functions[name]

    def defined_on(self, line: int) -> list[SSAValue]:
        """Return the values that are defined on a line of the text; those in the header of a function on its line."""
        return self._by_line.get(line, [])

    @cached_property
    def _by_line(self) -> dict[int, list[SSAValue]]:
        found: dict[int, list[SSAValue]] = {}
        for op in pre_order(self._module):
            line = line_of(op)
            if line is not None:
                found.setdefault(line, []).extend(_arguments(op) if isinstance(op, FuncOp) else op.results)
        return found

    def _on_line(self, line: int) -> list[SSAValue]:
        found = self.defined_on(line)
        if not found:
            raise _not_found(f"no value is defined on line {line}", f"the program has {len(self._lines)} lines")
        return found

    def _before(self, op: Operation) -> Iterator[str]:
        """Yield the names before an op on its line, one per result."""
        location = op.location
        if not isinstance(location, FileLineColLoc) or not 0 < location.line.data <= len(self._lines):
            return
        match = _RESULTS.search(self._lines[location.line.data - 1][: location.column.data - 1])
        for name, count in _RESULT.findall(match[1]) if match else ():
            yield from (f"{name}#{index}" for index in range(int(count))) if count else (name,)

    def _in_header(self, func: FuncOp) -> Iterator[str]:
        """Yield the names in the header of a function, one per argument."""
        location = func.location
        if isinstance(location, FileLineColLoc):
            first = location.line.data - 1
            header = "".join(self._lines[first:])[location.column.data - 1 :]
            count = len(func.function_type.inputs)
            yield from (match[1] for match in islice(_ARGUMENT.finditer(header), count))


def line_of(op: Operation) -> int | None:
    """Return the line number of an op, or None if the op was not read from text."""
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
