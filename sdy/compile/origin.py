"""The source of a program: its text, and the facts about a JAX function that the text does not contain."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic

from typing_extensions import TypeVar
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

from sdy.compile.signature import ProgramSignature
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, with_sources
from sdy.diagnostics.wording import first_names
from sdy.dialects.ir.func_attrs import with_single_quotes
from sdy.dialects.ir.symbols import MAIN
from sdy.dialects.verification.op_checks import OpChecks

if TYPE_CHECKING:
    from sdy.interpreter.arrays.element_types import Array
    from sdy.interpreter.host import Host

R = TypeVar("R", default="list[Array]")
_SOURCE_LINE = re.compile(r"[^@%].*:\d+")


@dataclass(frozen=True)
class Origin(Generic[R]):
    """The text of a program and the signature by which it is called.

    The other fields are filled in for programs from JAX. `source_lines` maps a line of `text` to the Python line that
    it was traced from (`{7: "train.py:12"}`). `argument_names` are the names of the arguments of the main function as
    the user wrote them (`params['w']`). `scopes` maps a line of `text` to the scope in which it was traced
    (`blocks.0/mlp`). `devices` are JAX devices, in the order of their numbers in the program.
    `axis_types` are the JAX axis types of the mesh axes, by name. `callbacks` are the Python functions that the program
    calls, by number or key. `warnings` are about annotations in the text that are ignored. `checks` remembers which ops
    were found valid, so that later copies of the module are verified faster.
    """

    text: str
    signature: ProgramSignature[R]
    source_lines: Mapping[int, str] = field(default_factory=dict[int, str])
    argument_names: tuple[str, ...] = ()
    devices: tuple[object, ...] = ()
    axis_types: Mapping[str, object] = field(default_factory=dict[str, object])
    callbacks: Mapping[str, Callable[..., Sequence[Array]]] = field(
        default_factory=dict[str, "Callable[..., Sequence[Array]]"]
    )
    warnings: tuple[Diagnostic, ...] = ()
    scopes: Mapping[int, str] = field(default_factory=dict[int, str])
    checks: OpChecks = field(default_factory=OpChecks, compare=False, repr=False)

    def host(self) -> Host:
        """Return the host side of a new run of the program."""
        from sdy.interpreter.host import Host  # only the commands that run a program need it

        return Host(callbacks=self.callbacks)

    def source(self, line: int | None) -> str:
        """Return the line that a line of the text comes from (`train.py:12`), or `line 7`; empty for None."""
        return "" if line is None else self.source_lines.get(line, f"line {line}")

    def place(self, line: int | None) -> str:
        """Return the source of a line and its scope: `train.py:12 in blocks.0/mlp`."""
        scope = self.scopes.get(line or 0)
        return self.source(line) + (f" in {scope}" if scope else "")

    def place_of_reshard(self, line: int | None, arguments: Sequence[BlockArgument]) -> str:
        """Return the names of the arguments of the main function that are resharded on a line, or its place."""
        names = self.names_of(arguments)
        return first_names(names, 1) if names else self.place(line)

    def names_of(self, arguments: Sequence[BlockArgument]) -> tuple[str, ...]:
        """Return the names of arguments of the main function; empty if they have none, or are of another function."""
        func = arguments[0].block.parent_op() if arguments else None
        if not self.argument_names or not isinstance(func, FuncOp) or func.sym_name.data != MAIN:
            return ()
        return tuple(self.argument_names[each.index] for each in arguments)

    def python_line(self, line: int | None) -> str:
        """Return the line of Python (`train.py:12`) of a line of the text; empty if that is not from JAX."""
        return self.source_lines.get(line, "") if line is not None and self.argument_names else ""

    def with_text(self, text: str) -> Origin[R]:
        """Return the origin of a program with another text; lines that did not change keep their source lines."""
        lines = self.text.splitlines(), text.splitlines()
        moved = {
            block.a + offset + 1: block.b + offset + 1
            for block in difflib.SequenceMatcher(None, *lines, autojunk=False).get_matching_blocks()
            for offset in range(block.size)
        }
        source_lines, scopes = (
            {moved[line]: found for line, found in each.items() if line in moved}
            for each in (self.source_lines, self.scopes)
        )
        return replace(self, text=text, source_lines=source_lines, scopes=scopes)

    @contextmanager
    def named_lines(self) -> Generator[None]:
        """Add the Python lines to the locations of the errors that are raised in this context."""
        try:
            yield
        except SdyError as error:
            if not self.source_lines:
                raise
            raise SdyError(*(with_sources(each, self.source_lines) for each in error.diagnostics)) from error

    def names_in_text(self, query: str) -> list[str]:
        """Return `query` as value names or line numbers of the text.

        An argument name, with single or double quotes, or a Python line is translated; anything else is returned
        unchanged.
        Raises: SdyError SDY-T203 if `query` is a Python line from which no value was traced.
        """
        name = with_single_quotes(query)
        if name in self.argument_names:
            return [f"%arg{self.argument_names.index(name)}"]  # the name that JAX prints
        lines = [str(line) for line, source in self.source_lines.items() if source == query]
        if lines or not self.source_lines or not _SOURCE_LINE.fullmatch(query):
            return lines or [query]
        known = list(dict.fromkeys(self.source_lines.values()))
        hint = f"lines with values: {', '.join(difflib.get_close_matches(query, known, n=5, cutoff=0.0))}"
        raise SdyError(Diagnostic("SDY-T203", f"no value of the program was traced from {query}", hint=hint))
