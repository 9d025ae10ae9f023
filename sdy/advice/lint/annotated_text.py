"""Changes the annotations in the text of a program, and leaves the rest of the text as the user wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.advice.edits import Change, Removal, edited
from sdy.advice.lint.program_text import FunctionText, ProgramText, UnsupportedTextError
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.data_flow import index_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import parse_module, print_module
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.grammar.write import write_sharding
from sdy.report.explanation.value_names import ValueNames

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
