"""Changes the annotations in the text of a program, and leaves the rest of the text as the user wrote it.

Also adds the locations that a text lacks: the lines of Python and the names of arguments of a program from JAX.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, pairwise
from json import dumps
from typing import Any, NamedTuple, TypeVar

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.advice.edits import Change, Removal, edited
from sdy.compile.origin import Origin
from sdy.compile.source_text import read_module
from sdy.compile.written_program import WrittenProgram
from sdy.diagnostics.diagnostic import SdyError, Span
from sdy.dialects.data_flow import index_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import parse_module, print_module
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.grammar.write import write_sharding
from sdy.report.explanation.value_names import ValueNames, line_of

CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|->|[()\[\]{}<>]')
_ATTRIBUTES = re.compile(r"\s*attributes\s*")

_ANNOTATION = re.compile(r"sdy\.sharding\s*=\s*(#sdy\.sharding(?=<)|#[\w$.-]+)")
_PER_VALUE = re.compile(r"#sdy\.sharding_per_value(?=<)")


class Replacement(NamedTuple):
    """A new text for the characters from the offset `start` up to `end`."""

    start: int
    end: int
    text: str


def text_with_changes(text: str, module: ModuleOp, changes: Sequence[Change]) -> str:
    """Return the text of a program with changes to its annotations; see `replacements`."""
    return _replaced(text, replacements(text, module, changes))


def replacements(text: str, module: ModuleOp, changes: Sequence[Change]) -> list[Replacement]:
    """Return the replacements in the text of a program that change its annotations, in order and without overlap.

    `module` was read from the text, and the changes are of its values. A text in a form that is not supported is
    replaced by that of the edited module.
    """
    expected = print_module(edited(module, changes)[0])
    try:
        found = sorted(_AnnotatedText(text, module).replacements(changes))
        if print_module(parse_module(_replaced(text, found))) == expected:
            return found
    except (UnsupportedTextError, SdyError):
        pass
    return [Replacement(0, len(text), expected)]


def text_with_locations(module: ModuleOp, origin: Origin[Any]) -> str:
    """Return the text of a program, in which each op and argument has the location that `origin` knows.

    Each op keeps its line. `module` was read from the text, in which each op ends on the line before the next one.
    """
    text, main = ProgramText(origin.text), main_function(module)
    places: list[tuple[int, str]] = []
    for op in pre_order(module):
        line, last = line_of(op), _last_line(op)
        file, _, number = origin.source_lines.get(line or 0, "").rpartition(":")
        scope = origin.scopes.get(line or 0)
        if number and last is not None:
            place = f"{dumps(file)}:{number}:0"
            name = f"{scope}/{op.name.rpartition('.')[2]}"  # JAX ends the name of an op with that of the primitive
            places.append((text.line_end(last), f"{dumps(name)}({place})" if scope else place))
    ends = [end for _, end in text.function(text.offset(main)).arguments] if origin.argument_names else []
    names = map(partial(dumps, ensure_ascii=False), origin.argument_names)
    places += zip(ends, names, strict=True)
    return _replaced(origin.text, [Replacement(end, end, f" loc({place})") for end, place in sorted(places)])


def _last_line(op: Operation) -> int | None:
    """Return the last line of an op: the one before the next op, or if it is the last one of its block, its own."""
    own, later = line_of(op), op.next_op
    while later is not None and line_of(later) == own:
        later = later.next_op
    if later is None:
        return None if op.regions else own
    following = line_of(later)
    return None if following is None else following - 1


def _replaced(text: str, found: list[Replacement]) -> str:
    if any(first.end > second.start for first, second in pairwise(found)):
        raise UnsupportedTextError
    for start, end, new in reversed(found):
        text = text[:start] + new + text[end:]
    return text


class _AnnotatedText:
    """The text of a module, in which annotations are found by the locations of ops."""

    def __init__(self, text: str, module: ModuleOp) -> None:
        self._text = ProgramText(text)
        self._names = ValueNames(module, text)
        self._main: Operation = main_function(module)

    def replacements(self, changes: Sequence[Change]) -> Iterator[Replacement]:
        """Yield the replacements that make the changes. Raises: UnsupportedTextError in a form of text not expected."""
        for change in changes:
            target = change.target
            if isinstance(change, Removal):
                yield from self._removal(change.target)
                continue
            sharding = write_sharding(change.sharding)
            if isinstance(target, int):
                yield from self._result(target, sharding)
            elif change.is_constraint:
                yield from self._constraint(target, sharding)
            elif isinstance(target.owner, Operation):
                yield from self._op(target.owner, sharding)
            else:
                yield self._argument(target, sharding)

    @property
    def _header(self) -> FunctionText:
        return self._text.function(self._text.offset(self._main))

    def _argument(self, target: SSAValue, sharding: str) -> Replacement:
        start, end = self._header.arguments[index_of(target)]
        return self._annotation(start, end, sharding)

    def _result(self, number: int, sharding: str) -> Iterator[Replacement]:
        header = self._header
        start, end = header.results[number]
        if header.results_are_bare:
            yield Replacement(start, end, f"({self._text.text[start:end]} {{{_attribute(sharding)}}})")
        else:
            yield self._annotation(start, end, sharding)

    def _annotation(self, start: int, end: int, sharding: str) -> Replacement:
        """Return the replacement that annotates the argument or the result at these offsets."""
        text, found = self._text, _ANNOTATION.search(self._text.text, start, end)
        if found is not None:
            last = text.closing(found.end()) if text.text[found.end()] == "<" else found.end()
            return Replacement(found.start(), last, _attribute(sharding))
        attributes = text.find("{", start, end)
        if attributes is None:
            position = text.type_end(start, end)
            return Replacement(position, position, f" {{{_attribute(sharding)}}}")
        is_empty = not text.text[attributes + 1 : text.closing(attributes) - 1].strip()
        return Replacement(attributes + 1, attributes + 1, _attribute(sharding) + ("" if is_empty else ", "))

    def _op(self, op: Operation, sharding: str) -> Iterator[Replacement]:
        """Yield the replacement of the sharding of a constraint, or of another op with one result."""
        text, start = self._text, self._text.offset(op)
        if isinstance(op, ShardingConstraintOp):
            bracket = text.text.index("<", start)
            yield Replacement(bracket, text.closing(bracket), sharding)
            return
        found = _PER_VALUE.search(text.text, start, text.line(start)[1])
        if found is None or len(op.results) != 1:
            raise UnsupportedTextError
        yield Replacement(found.start(), text.closing(found.end()), f"#sdy.sharding_per_value<[{sharding}]>")

    def _constraint(self, target: SSAValue, sharding: str) -> Iterator[Replacement]:
        """Yield the replacements that insert a constraint on the line after a value is defined."""
        text, name, owner = self._text, self._names[target], target.owner
        if isinstance(owner, Operation):
            position = text.line(text.offset(owner))[1]
        elif owner.parent_op() is self._main:
            position = self._header.body
        else:
            raise UnsupportedTextError
        next_line = text.text[position : text.line(position)[1]]
        indent = next_line[: len(next_line) - len(next_line.lstrip())]
        new = self._new_name(name)
        yield Replacement(
            position, position, f"{indent}{new} = sdy.sharding_constraint {name} {sharding} : {target.type}\n"
        )
        yield from self._renamed(name, new, position)

    def _removal(self, target: SSAValue) -> Iterator[Replacement]:
        """Yield the replacements that erase the line of a constraint."""
        constraint = target.owner
        assert isinstance(constraint, ShardingConstraintOp)
        start, end = self._text.line(self._text.offset(constraint))
        yield Replacement(start, end, "")
        yield from self._renamed(self._names[target], self._names[constraint.input], end)

    def _renamed(self, name: str, new: str, start: int) -> Iterator[Replacement]:
        """Yield the replacements of a name from an offset to the end of the main function."""
        for match in re.compile(re.escape(name) + r"(?![\w$.#-])").finditer(self._text.text, start, self._header.end):
            yield Replacement(match.start(), match.end(), new)

    def _new_name(self, name: str) -> str:
        """Return a name for the constraint of a value that the text does not use yet."""
        base = name.replace("#", "_")
        names = (f"{base}_sharded{number or ''}" for number in count())
        if base[1:].isdigit():  # `%3_sharded` is not a valid name, as a number is not followed by letters
            names = (f"%sharded_{base[1:]}{f'_{number}' if number else ''}" for number in count())
        return next(each for each in names if not re.search(re.escape(each) + r"\b", self._text.text))


def _attribute(sharding: str) -> str:
    return f"sdy.sharding = #sdy.sharding{sharding}"


class UnsupportedTextError(Exception):
    """The text has another form than the one that is searched for."""


@dataclass(frozen=True, slots=True)
class FunctionText:
    """The offsets of the header of a function: of each argument, of each result, and of the first line of its body.

    `results_are_bare` means that the only result has no parentheses around it, and thus no attributes.
    """

    arguments: tuple[tuple[int, int], ...]
    results: tuple[tuple[int, int], ...]
    results_are_bare: bool
    body: int
    end: int


class ProgramText:
    """The text of a program, searched by bracket structure. Strings are skipped."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def offset(self, op: Operation) -> int:
        """Return the offset at which the name of an op begins. Raises: UnsupportedTextError if it has no location."""
        location = op.location
        if not isinstance(location, FileLineColLoc) or location.line.data > len(self._line_starts):
            raise UnsupportedTextError
        return self._line_starts[location.line.data - 1] + location.column.data - 1

    def line(self, offset: int) -> tuple[int, int]:
        """Return the start and the end of the line of an offset; the end is that of its newline."""
        index = bisect_left(self._line_starts, offset + 1)
        return self._line_starts[index - 1], self._line_starts[index] if index < len(self._line_starts) else len(
            self.text
        )

    def line_end(self, number: int) -> int:
        """Return the offset of the newline that ends a line, or of the end of the text."""
        return self.line(self._line_starts[number - 1])[1] - (number < len(self._line_starts))

    def span(self, start: int, end: int, file: str) -> Span:
        """Return the location of a part of the text without the blanks around it; it ends with its line."""
        part = self.text[start:end]
        start += len(part) - len(part.lstrip())
        first, last = self.line(start)
        length = max(1, min(len(self.text[start:end].rstrip()), len(self.text[start:last].rstrip())))
        line = bisect_left(self._line_starts, start + 1)
        return Span(file, line, start - first + 1, length)

    def closing(self, start: int) -> int:
        """Return the offset after the bracket that closes the one at `start`."""
        expected: list[str] = []
        for match in _TOKEN.finditer(self.text, start):
            token = match.group()
            if token in CLOSING:
                expected.append(CLOSING[token])
            elif expected and token == expected[-1]:
                expected.pop()
                if not expected:
                    return match.end()
        raise UnsupportedTextError

    def find(self, bracket: str, start: int, end: int) -> int | None:
        """Return the offset of an opening bracket that is not inside of others; None if there is none before `end`."""
        position = start
        while (match := _TOKEN.search(self.text, position, end)) is not None:
            if match.group() == bracket:
                return match.start()
            position = self.closing(match.start()) if match.group() in CLOSING else match.end()
        return None

    def type_end(self, start: int, end: int) -> int:
        """Return the offset after the type that begins at `start` or after blanks, such as `tensor<8xf32>`."""
        bracket = self.find("<", start, end)
        if bracket is None:
            raise UnsupportedTextError
        return self.closing(bracket)

    def function(self, offset: int) -> FunctionText:
        """Return the header of the function that begins at an offset."""
        first = self.text.index("(", offset)
        position = self.closing(first)
        arguments = tuple(self._elements(first, position))
        results: tuple[tuple[int, int], ...] = ()
        is_bare = False
        arrow = re.compile(r"\s*->\s*").match(self.text, position)
        if arrow is not None:
            is_bare = self.text[arrow.end()] != "("
            if is_bare:
                position = self.type_end(arrow.end(), len(self.text))
                results = ((arrow.end(), position),)
            else:
                position = self.closing(arrow.end())
                results = tuple(self._elements(arrow.end(), position))
        attributes = _ATTRIBUTES.match(self.text, position)
        if attributes is not None:
            position = self.closing(attributes.end())
        brace = self.text.index("{", position)
        return FunctionText(arguments, results, is_bare, self.line(brace)[1], self.closing(brace))

    def _elements(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the elements of a list in brackets, which are separated by commas."""
        start = position = first + 1
        while position < last - 1:
            character = self.text[position]
            if character == ",":
                yield start, position
                start = position = position + 1
            elif character == '"' or character in CLOSING:
                match = _TOKEN.match(self.text, position)
                position = self.closing(position) if character in CLOSING else match.end() if match else position + 1
            else:
                position += 1
        if self.text[start:position].strip():
            yield start, position


P = TypeVar("P", bound=WrittenProgram[Any])


def with_changes(program: P, changes: Sequence[Change]) -> P:
    """Return the program with changes to the annotations in its text."""
    text = text_with_changes(program.origin.text, program.module, changes)
    span = span_of(main_function(program.module))
    module = read_module(text, "<text>" if span is None else span.file)
    return replace(program, module=module, origin=program.origin.with_text(text))


def with_module(program: P, module: ModuleOp, changes: Sequence[Change] = ()) -> P:
    """Return the program with another module, and with changes to the annotations of its values."""
    if module is program.module:
        return with_changes(program, changes) if changes else program
    annotated, _ = edited(module, changes)
    return replace(program, module=annotated, origin=program.origin.with_text(print_module(annotated)))
