"""Match the output of a tool against the CHECK lines of a file, and report the first mismatch."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

CONTEXT_LINES = 20  # of output, before and after the position of a mismatch

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"[^\n]*?:(?P<line>\d+):(?:\d+)? (?:error: )?(?P<reason>[^\n]*)")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first CHECK line that does not match.

    `line` counts the lines of the test from 1, `position` the characters of `output` before the end of the last match.
    """

    line: int
    directive: str
    reason: str
    output: str
    position: int

    @property
    def output_line(self) -> int:
        """The line of the output, from 1, that holds the position."""
        return self.output.count("\n", 0, self.position) + 1

    def excerpt(self) -> str:
        """Return the numbered lines of output around the position, which a `>` marks."""
        lines = self.output.splitlines() or ["(no output)"]
        first = max(0, self.output_line - 1 - CONTEXT_LINES)
        shown = enumerate(lines[first : self.output_line + CONTEXT_LINES], start=first + 1)
        return "\n".join(f"{'>' if n == self.output_line else ' '}{n:5} | {line}" for n, line in shown)


def first_mismatch(arguments: Sequence[str], output: str) -> Mismatch | None:
    """Run FileCheck with these command-line arguments; return None if every CHECK line matches."""
    options = parse_argv_options(["filecheck", "--enable-var-scope", *arguments])
    source = FInput("-", output.replace("\r\n", "\n"))
    errors = io.StringIO()
    with redirect_stderr(errors):
        matcher = Matcher(options, source, Parser.from_opts(options))
        code = matcher.run()
    if code == 0:
        return None
    text = _ANSI.sub("", errors.getvalue())
    found = _ERROR.match(text)
    if found is None:
        return Mismatch(1, "", text.strip(), source.content, 0)
    line = int(found["line"])
    with open(options.match_filename, encoding="utf-8") as file:
        directive = file.read().splitlines()[line - 1].strip()
    mismatch = Mismatch(line, directive, found["reason"], source.content, 0)
    return replace(mismatch, position=min(source.range.start, len(source.content)))
