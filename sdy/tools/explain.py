"""`sdy explain`: explains the sharding of a value, and lists the conflicts of propagation."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping

from sdy.advice.collectives import Collective
from sdy.advice.lint.linter import edits_of_collectives
from sdy.advice.partition_summary import PartitionSummary, cause_text, collectives_json
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.diagnostics.wording import first_names
from sdy.program.program import Program
from sdy.report.explanation.explainer import Explainer
from sdy.report.similar_entries import folded_layers, groups_of_similar, without_names
from sdy.tools.command_line.arguments import add_json_argument, default_machine, print_json
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.loading import (
    VERBOSE_HELP,
    add_compile_arguments,
    with_program,
)
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = """\
Propagate the shardings of a program, and explain the sharding of a value: which annotation each of its axes originates
from, and which ops propagated it, line by line. With --why-not, explain why a dim of the value is not sharded along an
axis: what stopped the axis and where, and an edit that shards it, which was tried. With --conflicts, list the ops at
which an axis of one tensor could not be propagated to another tensor, with the reason. Each of these ops will need a
reshard. With --collectives, list the collectives that each device runs and what causes each: a conflict of propagation,
an annotation, an argument that is stored in shards, a rewrite of the communication optimizer, or the op itself on
shards. If `sdy lint` finds an edit that avoids a collective or makes it cheaper, it is shown with what it saves.

Values have the names of the file; arguments of loops and other regions are named as `sdy-opt FILE` prints them. A name
without a function refers to the main function. A line number refers to all values that are defined on that line. If the
file has locations, values also have the names and lines of the JAX program: params["up"], train.py:20.
"""

EDITS, EDIT_SECONDS = 8, 10.0  # that are tried in passing; `sdy lint` tries more
_DIM_AND_AXIS = re.compile(r"""dim=(?P<dim>-?\d+)[\s,]+axis=["']?(?P<axis>[^"'\s]+)["']?""")


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("explain", DESCRIPTION)
    parser.add_argument("file", help="StableHLO text with sdy shardings; - for standard input")
    parser.add_argument("value", nargs="?", help="%%name, %%name#1, @function:%%name, a line number, or result[1]")
    parser.add_argument(
        "--why-not",
        metavar="DIM_AND_AXIS",
        type=_dim_and_axis,
        help="explain why a dim is not sharded along an axis, and which edit shards it: 'dim=1 axis=\"x\"'",
    )
    parser.add_argument("--conflicts", action="store_true", help="list the conflicts of propagation")
    parser.add_argument("--collectives", action="store_true", help="list the collectives with their causes")
    add_compile_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help=VERBOSE_HELP)
    add_json_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """Explain a value, list the conflicts or the collectives, or several of these."""
    if arguments.value is None and not arguments.conflicts and not arguments.collectives:
        message = "expected a value to explain, --conflicts or --collectives"
        raise SdyError(Diagnostic("SDY-T204", message, hint="see sdy explain --help"))
    if arguments.value is None and arguments.why_not is not None:
        raise SdyError(Diagnostic("SDY-T204", "--why-not requires a value", hint="see sdy explain --help"))
    with_program(arguments, lambda program: _answer(program, arguments))
    return SUCCESS


def _answer(program: Program, arguments: Namespace) -> None:
    """Print the answers to the questions of the command line."""
    origin = program.origin
    explainer = Explainer(program.module, origin, program.options)
    for diagnostic in explainer.diagnostics:
        print(render(diagnostic), file=sys.stderr)
    asks_why_not = arguments.why_not is not None
    names = [] if arguments.value is None or asks_why_not else origin.names_in_text(arguments.value)
    values = [each for name in names for each in explainer.explanations(name)]
    why_not = _why_not_lines(program, arguments) if asks_why_not else None
    facts = program.partition_summary(default_machine()) if arguments.collectives else None
    edits = edits_of_collectives(facts, EDITS, EDIT_SECONDS) if facts is not None and facts.collectives else {}
    if arguments.json:
        print_json(
            {
                "values": [each.to_json() for each in values] if names else None,
                "why_not": why_not,
                "conflicts": [site.to_json() for site in explainer.conflict_sites()] if arguments.conflicts else None,
                "collectives": None if facts is None else _collectives_json(facts, edits),
            }
        )
        return
    lines = [*(why_not or ()), *(line for each in values for line in each.lines())]
    if arguments.conflicts:
        lines += explainer.conflicts(verbose=arguments.verbose)
    if facts is not None:
        lines += _collective_lines(facts, edits, verbose=arguments.verbose)
    print(*lines, sep="\n")


def _why_not_lines(program: Program, arguments: Namespace) -> list[str]:
    dim, axis = arguments.why_not
    return program.why_not(arguments.value, dim=dim, axis=axis).splitlines()


def _collectives_json(facts: PartitionSummary, edits: Mapping[Collective, str]) -> list[dict[str, object]]:
    pairs = zip(facts.collectives, collectives_json(facts), strict=True)
    return [{**found, "edit": edits.get(collective)} for collective, found in pairs]


def _collective_lines(facts: PartitionSummary, edits: Mapping[Collective, str], *, verbose: bool) -> Iterator[str]:
    texts = [
        (each, f"{each}, caused by {cause_text(facts, each)}", facts.causes_of(each)) for each in facts.collectives
    ]
    groups = groups_of_similar(texts, lambda text: without_names("\n".join((text[1], *text[2]))), verbose=verbose)
    for (collective, headline, causes), *others in groups:
        yield headline
        yield from (f"  {line}" for line in causes)
        if collective in edits:
            yield f"  edit: {edits[collective]}"
        if others:
            sources = folded_layers([other.place for other, _, _ in others])
            yield f"  likewise {len(others):,} more, at {first_names(sources)}"
    if not facts.collectives:
        yield "no collectives: the devices do not communicate"


def _dim_and_axis(text: str) -> tuple[int, str]:
    found = _DIM_AND_AXIS.fullmatch(text.strip())
    if found is None:
        raise ArgumentTypeError(f"""expected a dim and an axis such as 'dim=1 axis="x"', got {text!r}""")
    return int(found["dim"]), found["axis"]
