"""A parser of blocks, in which many lines repeat earlier ones except for the names of values.

The op on such a line is a copy: see `line_templates`.
"""

# pyright: reportPrivateUsage=false
# The types of values are read from private fields, as links are in `sdy.dialects.ir.walk`: properties are slow.

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from sdy.dialects.ir.fast_ops import append_new_op, append_op, item_of, make_location
from sdy.dialects.text.func_syntax import DEFAULT_DIALECTS
from sdy.dialects.text.line_templates import Template, make_template, split_line
from sdy.dialects.text.scoped_parser import ScopedParser, column_attr


class RepeatingParser(ScopedParser):
    """A parser that parses equal lines of blocks only once."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        # By default dialect and by pattern of the line.
        self._templates: defaultdict[str, dict[str, Template]] = defaultdict(dict)
        self._locations, self._argument_locations = {}, {}
        super().__init__(context, text, file)

    def _parse_block_body(self, block: Block) -> None:
        templates = self._templates[self._default_dialect()]
        while True:
            if templates:
                self._parse_repeated_lines(block, templates)
            line = self.lines.index_at_begin(self.position())
            outer, self._resolved = self._resolved, []
            op = self.parse_optional_operation()
            if op is not None:
                append_op(block, op)
                if line is not None and self._ends_on(line):
                    self._remember_line(line, op, templates)
            self._resolved = outer
            if op is None:
                return

    def _ends_on(self, line: int) -> bool:
        """Return whether the tokens parsed last end on a line, and are the last ones on it."""
        end = self.lines.starts[line + 1] - 1
        return self.consumed <= end and not self.lexer.input.content[self.consumed : end].strip()

    def _remember_line(self, line: int, op: Operation, templates: dict[str, Template]) -> None:
        """Add the template of a line, whose only op was parsed last."""
        text, start = self.lines.texts[line], self.lines.starts[line]
        template = make_template(text, start, op, self._resolved, self._locations.get(self._offset_of(op)))
        if template is not None:
            templates[split_line(text)[0]] = template

    def _parse_repeated_lines(self, block: Block, templates: Mapping[str, Template]) -> None:
        """Parse the ops on the next lines, up to the first line that repeats no earlier one or that has a problem."""
        index = self.lines.index_at_begin(self.position())
        if index is None:
            return
        texts, defined, undefined, op = self.lines.texts, self.ssa_values, self.forward_ssa_references, None
        while index < len(texts):
            pattern, names = split_line(texts[index])
            template = templates.get(pattern)
            if template is None:
                break
            op_class, expected, result_types, properties, attributes, regions, has_result_name, column, named = template
            operands = self._operands_on_line(names, expected)
            result = names[0] if has_result_name else ""
            if operands is None or result in defined or result in undefined:
                break
            column += len(result)
            location = make_location(self._file, index + 1, column_attr(column))
            op = append_new_op(block, op_class, operands, result_types, properties, attributes, location)
            if regions is not None:
                for region in regions():
                    op.add_region(region)
            if has_result_name:
                defined[result] = op.results
                self._scope.append(result)
            if named is not None:
                self._locations[self.lines.starts[index] + column - 1] = named
            index += 1
        if op is not None:
            self._resume_from(self.lines.starts[index] - 1)
            self._keep_location(self._offset_of(op), self.parse_optional_location())  # it may be on the next line

    def _operands_on_line(
        self, names: Sequence[str], expected: Sequence[tuple[int, Attribute]]
    ) -> list[SSAValue] | None:
        """Return the values with some of the names on a line, or None if one is undefined or has another type."""
        defined = self.ssa_values
        operands: list[SSAValue] = []
        for position, value_type in expected:
            values = defined.get(names[position])
            value = item_of(values, 0) if values else self._result_numbered(names[position])
            if value is None or (value._type is not value_type and value._type != value_type):
                return None
            operands.append(value)
        return operands

    def _result_numbered(self, name: str) -> SSAValue | None:
        """Return the value with a name such as `0#1`, or None if it is not defined."""
        name, _, index = name.partition("#")
        values = self.ssa_values.get(name, ())
        return values[int(index)] if index and int(index) < len(values) else None

    def _offset_of(self, op: Operation) -> int:
        """Return the offset at which the name of a parsed op begins."""
        assert isinstance(op.location, FileLineColLoc)
        return self.lines.starts[op.location.line.data - 1] + op.location.column.data - 1

    def _keep_location(self, start: int, location: LocationAttr | None) -> None:
        if location is not None:
            self._locations[start] = location

    def _default_dialect(self) -> str:
        return DEFAULT_DIALECTS.get(self._enclosing[-1][0], "") if self._enclosing else "builtin"
