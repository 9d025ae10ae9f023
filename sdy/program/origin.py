"""Where a program comes from: its text, and what a JAX function knows that text does not say."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic

from typing_extensions import TypeVar

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.interpreter.arrays.element_types import Array
from sdy.program.signature import Signature

R = TypeVar("R", default=list[Array])
_SOURCE_LINE = re.compile(r".+\.py:\d+")


@dataclass(frozen=True)
class Origin(Generic[R]):
    """The text of a program, and how its arrays are given and taken.

    Of a program that came from JAX, `source_lines` tells, for a line of `text`, the line of the user's Python program
    behind it (`{7: "train.py:12"}`), `argument_names` what the user calls the arguments of the main function
    (`params['w']`), `devices` are JAX's, in the order of their numbers in the program, and `axis_types` are those that
    JAX gives to the axes of the mesh.
    """

    text: str
    signature: Signature[R]
    source_lines: Mapping[int, str] = field(default_factory=dict[int, str])
    argument_names: tuple[str, ...] = ()
    devices: tuple[object, ...] = ()
    axis_types: Mapping[str, object] = field(default_factory=dict[str, object])

    def in_text(self, asked: str) -> list[str]:
        """What `asked` is in terms of the text: names and numbers of lines, unless it is one already.

        Raises: SdyError SDY-T203 where it is a line of the Python program, and no value comes from that.
        """
        if asked in self.argument_names:
            return [f"%arg{self.argument_names.index(asked)}"]  # as JAX prints it
        lines = [str(line) for line, place in self.source_lines.items() if place == asked]
        if lines or not self.source_lines or not _SOURCE_LINE.fullmatch(asked):
            return lines or [asked]
        known = list(dict.fromkeys(self.source_lines.values()))
        hint = f"lines with values: {', '.join(difflib.get_close_matches(asked, known, n=5, cutoff=0.0))}"
        raise SdyError(Diagnostic("SDY-T203", f"no value of the program comes from {asked}", hint=hint))
