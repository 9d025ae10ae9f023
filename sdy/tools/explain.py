"""`sdy explain`: why is this value sharded as it is, and where did axes compete?"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.render import render
from sdy.dialects.module_text import make_context
from sdy.program.program import Program
from sdy.report.explain import Explainer
from sdy.tools.command_line.loading import with_program_and_text

DESCRIPTION = """\
Propagates the shardings of a program and tells, for a value, which of your annotations each of its axes goes back to,
and through which ops it came, line by line. With --conflicts it lists the places where an axis that cuts one tensor of
an op could not cut another one: what was in the way, and why that won. Each of these will need a reshard.

Values are named as in the file; arguments of loops and other regions as `sdy-opt FILE` prints them. A name alone is one
of the main function. The number of a line stands for all values that are defined there.
"""


def parser() -> ArgumentParser:
    """The arguments of the command."""
    parser = ArgumentParser("sdy explain", description=DESCRIPTION, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("file", help="StableHLO with sdy annotations, as JAX lowers it; - is standard input")
    parser.add_argument("value", nargs="?", help="%%name, %%name#1, @function:%%name, or the number of a line")
    parser.add_argument("--conflicts", action="store_true", help="list where axes were refused")
    return parser


def run(arguments: Namespace) -> int:
    """Explain a value, or list the conflicts, or both."""
    if arguments.value is None and not arguments.conflicts:
        message = "nothing to explain: name a value, or ask for --conflicts"
        raise SdyError(Diagnostic("SDY-T204", message, hint="see sdy explain --help"))
    for line in with_program_and_text(arguments.file, lambda program, text: _lines(program, text, arguments)):
        print(line)
    return 0


def _lines(program: Program, text: str, arguments: Namespace) -> Iterable[str]:
    context = make_context()
    explainer = Explainer(context, program.module, text)
    for diagnostic in context.diagnostics:
        print(render(diagnostic), file=sys.stderr)
    lines = [] if arguments.value is None else list(explainer.value(arguments.value))
    return [*lines, *(explainer.conflicts() if arguments.conflicts else ())]
