"""The answers of the commands of `sdy` for programs of several meshes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence

from rich.console import Console
from xdsl.dialects.builtin import ModuleOp

from sdy.compile.compiled import Compiled
from sdy.compile.pipeline import CompiledPipeline
from sdy.compile.pipeline_cost import PipelineCost
from sdy.cost.hardware import Hardware
from sdy.cost.machines.file import resolve_hardware
from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.diagnostics.wording import counted
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import print_module
from sdy.evidence.pipelines import FragmentEvidence, PipelineEvidence, prove_pipeline, verify_pipeline
from sdy.evidence.proof.outcome import Proof
from sdy.evidence.runs.against import check_same_types
from sdy.evidence.runs.arrays import arrays_of_file
from sdy.evidence.runs.verification import Verification, outcome_text
from sdy.mpmd.schedules.builtin import SCHEDULES, TOTAL_ORDERS
from sdy.program.pipeline import Pipeline
from sdy.report.html.pipeline_page import pipeline_page
from sdy.report.run_progress import terminal_progress
from sdy.report.tables.fitted_table import FittedTable, fitted_table, print_tables
from sdy.report.tables.pipeline_tables import chart, pipeline_tables, schedules_table
from sdy.tools.command_line.arguments import check_not_given, print_json
from sdy.tools.command_line.console import console_of
from sdy.tools.command_line.exit_codes import NO, SUCCESS
from sdy.tools.command_line.files import read_text, write_text
from sdy.tools.command_line.loading import with_lines, with_program


def verify(arguments: Namespace, pipeline: Pipeline) -> int:
    """Verify or prove a program of several meshes, print the outcome, and return the exit code.

    Raises: SdyError SDY-V007 if another program is given that has other arguments or results.
    """
    program, text = pipeline.partition(), pipeline.origin.text
    if arguments.local:
        return verify_local(arguments, program)
    if not arguments.against:
        return _verify(arguments, program, text)
    reference = with_program(
        arguments, lambda plain: plain.module, arguments.against, lambda found: found.partition().written
    )
    check_same_types(reference, program.written)
    return _verify(arguments, program, text, reference)


def verify_local(arguments: Namespace, original: Compiled) -> int:
    """Verify the program of several meshes in `arguments.local` against another one, as `verify`."""
    text = read_text(arguments.local)
    program = Pipeline.from_text(text, arguments.local).partition()
    check_same_types(original.written, program.written)
    return _verify(arguments, program, text, original.written)


def _verify(arguments: Namespace, program: CompiledPipeline, text: str, original: ModuleOp | None = None) -> int:
    if arguments.output:
        write_text(arguments.output, print_module(program.local))
    found = _evidence(arguments, program, original)
    if arguments.json:
        print_json(found.to_json())
    else:
        console = console_of(arguments)
        print_tables(console, meshes_table(program))
        if isinstance(found, Verification):
            _print_runs(console, found)
        else:
            _print_fragments(console, found, arguments.local or arguments.file, text.splitlines())
    return SUCCESS if found.agrees else NO


def _evidence(
    arguments: Namespace, program: CompiledPipeline, original: ModuleOp | None
) -> Verification | PipelineEvidence:
    if arguments.prove:
        return prove_pipeline(program, original, terminal_progress)
    inputs, outputs = arrays_of_file(arguments.inputs, main_function(program.written))
    reduced = True if arguments.reduced else False if arguments.full else None
    return verify_pipeline(
        program,
        arguments.seed or 0,
        inputs,
        outputs,
        original=original,
        reduced=reduced,
        special=arguments.adversarial,
        watch=terminal_progress,
    )


def cost(arguments: Namespace, pipeline: Pipeline) -> int:
    """Print the cost of a program of several meshes, or of several schedules of it."""
    hardware = resolve_hardware(arguments.on)
    names = (arguments.schedule or "").split(",")
    if names == ["all"]:
        names = [*SCHEDULES, *TOTAL_ORDERS]
    if len(names) > 1:
        found = {name: _cost_or_problem(pipeline, name, hardware) for name in names}
        if arguments.json:
            costs = {
                name: {"problem": each} if isinstance(each, str) else each.to_json() for name, each in found.items()
            }
            print_json(costs)
        else:
            print_tables(console_of(arguments), schedules_table(found))
        return SUCCESS
    program = pipeline.scheduled(names[0]) if names[0] else pipeline
    if arguments.json:
        print_json(program.cost(hardware).to_json())
    else:
        print_cost(console_of(arguments), program.cost(hardware))
    return SUCCESS


def _cost_or_problem(pipeline: Pipeline, schedule: str, hardware: Hardware) -> PipelineCost | str:
    try:
        return pipeline.scheduled(schedule).cost(hardware)
    except SdyError as error:
        found = error.diagnostics[0]
        if found.code not in DOES_NOT_FIT:
            raise
        return found.message


DOES_NOT_FIT = ("SDY-M010", "SDY-M402")  # the codes of a schedule that does not fit the program


def print_cost(console: Console, found: PipelineCost) -> None:
    """Print the tables of the cost, and the chart."""
    print_tables(console, *pipeline_tables(found))
    console.print("schedule", style="bold")
    console.print(chart(found, console.width), no_wrap=True, overflow="ignore", crop=False)


def report(arguments: Namespace, pipeline: Pipeline) -> int:
    """Print the meshes and the cost of a program of several meshes, or write its page."""
    check_not_given(arguments, "cannot be given for a program of several meshes", "others")
    found = pipeline.cost(resolve_hardware(arguments.on))
    if arguments.html is not None:
        write_text(arguments.html, pipeline_page(found, pipeline.name))
    elif arguments.json:
        print_json(found.to_json())
    else:
        console = console_of(arguments)
        print_tables(console, meshes_table(pipeline.partition()))
        print_cost(console, found)
    return SUCCESS


def meshes_table(program: CompiledPipeline) -> FittedTable:
    """Return a table of the meshes: axes, devices, and how many fragments run there."""
    runs = [call.mesh for call in program.runs]
    rows = (
        (
            named.name,
            named.mesh.axes_text(),
            _range_text(program.layout.devices[named.name]),
            str(runs.count(named.name)),
        )
        for named in program.layout.topology.data
        if named.name in program.layout.devices
    )
    return fitted_table("meshes", ("mesh", "axes", "devices", "fragments"), rows, right=(3,))


def _range_text(devices: Sequence[int]) -> str:
    is_range = list(devices) == list(range(devices[0], devices[0] + len(devices)))
    return f"{devices[0]} to {devices[-1]}" if is_range and len(devices) > 1 else ", ".join(map(str, devices))


def _print_runs(console: Console, found: Verification) -> None:
    color = "green" if found.agrees else "red"
    console.print(f"[{color}]{outcome_text(found)}[/{color}]")
    for each in found.comparisons:
        if not each.agrees:
            console.print(f"output {each.index}: {each.problem}", markup=False)
    for each in found.not_reached:
        console.print(f"not reached: {each}", markup=False)


def _print_fragments(console: Console, found: PipelineEvidence, path: str, lines: list[str]) -> None:
    rows = ((each.name, each.mesh, str(each.runs), _text(each)) for each in found.fragments)
    print_tables(console, fitted_table("fragments", ("fragment", "mesh", "runs", "outcome"), rows, right=(2,)))
    for diagnostic in (*found.failures, *_failures(found.fragments)):
        console.print(render(with_lines(diagnostic, path, lines)), markup=False)
    wrong = len(found.failures) + sum(not each.agrees for each in found.fragments)
    everything = f"{counted(len(found.fragments), 'fragment')} and {counted(found.transfers, 'transfer')}"
    if wrong:
        console.print(f"[red]differs[/red]: {wrong} of {everything}")
    else:
        console.print(f"[green]the same function[/green] as the program without meshes: {everything} hold")


def _text(evidence: FragmentEvidence) -> str:
    if isinstance(evidence.found, Proof):
        return f"{'proved' if evidence.agrees else 'not proved'}, {evidence.found.proved} of {evidence.found.ops} ops"
    return outcome_text(evidence.found)


def _failures(fragments: Sequence[FragmentEvidence]) -> Iterator[Diagnostic]:
    return (failure for each in fragments if isinstance(each.found, Proof) for failure in each.found.failures)
