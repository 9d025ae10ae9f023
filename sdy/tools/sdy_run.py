"""`sdy-run`: reads MLIR text, interprets it, and prints what its function returns."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

import sdy
from sdy.compile.origin import Origin
from sdy.compile.pipeline import CompiledPipeline, compiled_pipeline
from sdy.compile.propagated import boundary_of
from sdy.compile.signature import FlatSignature
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of, main_block, main_function
from sdy.dialects.module_text import parse_module
from sdy.dialects.unregistered import allow_unregistered_dialects
from sdy.dialects.verification.verify_module import verify_module
from sdy.evidence.runs.arrays import load_arrays
from sdy.evidence.runs.run_estimate import check_memory, estimate_of_run
from sdy.interpreter.arrays.element_types import Array, dtype_of_type, is_bool, is_complex, is_float
from sdy.interpreter.arrays.literals import dense_text, tensor_text
from sdy.interpreter.executor import OpObserver
from sdy.interpreter.host import Host
from sdy.interpreter.kernel import Arrays, KernelContext
from sdy.interpreter.run import RunSettings, check_inputs, interpret, parse_inputs
from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh
from sdy.mpmd.dialect.types import mesh_type
from sdy.mpmd.execution.without_meshes import first_on_mesh, remove_meshes
from sdy.report.run_output import RunTrace, ShardedResult, devices_table
from sdy.report.run_progress import terminal_progress
from sdy.report.tables.fitted_table import FittedTable, print_tables
from sdy.tools.command_line.environment import configure_logging
from sdy.tools.command_line.exit_codes import NO, SUCCESS, print_diagnostics, quiet_on_broken_pipe, status_of
from sdy.tools.command_line.extensions import LOAD_HELP, UNREGISTERED_HELP, load_extensions
from sdy.tools.command_line.files import Chunk, read_text, split_file, write_text
from sdy.tools.command_line.options import ToolArguments, ToolOptions, parse_arguments, print_help

FLAGS = {
    "split-input-file": "split the input at the lines `// -----`, and run each part separately",
    "allow-unregistered-dialect": UNREGISTERED_HELP,
    "interpreter-print-dense": "print results as constants: dense<[1, 2]> : tensor<2xi32>",
    "trace": "print each executed op to standard error, with its result types and a digest of its results",
    "devices-table": "also print the shard of each result on each device of the mesh",
    "interpret": "accepted and ignored: this tool always interprets",
    "mlir-disable-threading": "accepted and ignored: the interpreter runs in one thread",
    "version": "print the version and exit",
    "help": "print this help and exit",
}
VALUES = {
    "args": "the inputs of the function: [dense<1> : tensor<2xi32>, ...]",
    "inputs": "a .npz file with the inputs arg0, arg1, ... of the function",
    "load": LOAD_HELP,
    "probe-output-dir": "write each value observed by interpreter.probe to a .npy file in this directory",
}
TOOL = ToolOptions(
    "usage: sdy-run [options] [file]\n\n"
    "Interpret the function @main of a module, or its only function, and print the results.",
    FLAGS,
    VALUES,
)
MOST_CONSTANTS = 4  # in a hint


@quiet_on_broken_pipe
def main(args: Sequence[str] | None = None) -> int:
    """Run the tool with command-line arguments, and return its exit code: 0, 1 for a failure, or 130 after Ctrl-C."""
    return status_of(lambda: _run(sys.argv[1:] if args is None else args), failure=NO)


def _run(args: Sequence[str]) -> int:
    configure_logging()
    arguments = parse_arguments(TOOL, load_extensions(args)[1])
    if arguments.has("help"):
        print_help(TOOL)
        return SUCCESS
    if arguments.has("version"):
        write_text("-", f"sdy {sdy.__version__}\n")
        return SUCCESS
    inputs = _inputs(arguments)
    allow_unregistered_dialects(arguments.has("allow-unregistered-dialect"))
    text = read_text(arguments.file)
    chunks = split_file(text) if arguments.has("split-input-file") else [Chunk(text)]
    succeeded = True
    for chunk in chunks:
        try:
            for line in _results(arguments, chunk, inputs):
                write_text("-", line + "\n")
        except SdyError as error:
            print_diagnostics(error.diagnostics, {arguments.file: text})
            succeeded = False
    return SUCCESS if succeeded else NO


def _inputs(arguments: ToolArguments) -> Sequence[Array]:
    if "args" in arguments.values:
        return parse_inputs(arguments.values["args"])
    return load_arrays(arguments.values["inputs"]).inputs if "inputs" in arguments.values else []


def _results(arguments: ToolArguments, chunk: Chunk, inputs: Sequence[Array]) -> Iterator[str]:
    """Return the text of each result of one program; a program without functions has no results.

    A program of several meshes runs on the devices of its meshes.
    """
    module = parse_module(chunk.text, arguments.file, first_line=chunk.first_line)
    verify_module(module)
    if not functions_of(module):
        return
    pipeline = None
    if first_on_mesh(module) is not None:
        pipeline = compiled_pipeline(module, Origin(chunk.text, FlatSignature()))
        module = pipeline.written
    remove_meshes(module)  # names of computations remain in a program that was not imported
    function = main_function(module)
    if main_block(module).args and not inputs:
        raise _no_inputs(function)
    results = _interpreted(arguments, module, function, inputs, pipeline)
    show = dense_text if arguments.has("interpreter-print-dense") else tensor_text
    for result, result_type in zip(results, function.function_type.outputs, strict=True):
        yield show(result, result_type)
    if arguments.has("devices-table"):
        yield _devices_text(boundary_of(module), results) if pipeline is None else _meshes_text(pipeline, results)


def _no_inputs(function: FuncOp) -> SdyError:
    """Return the error for missing inputs, with an option that can be pasted."""
    types = [argument.type for argument in function.body.block.args]
    message = f"expected {len(types)} inputs for the arguments of @{function.sym_name.data}, got 0"
    constants = ", ".join(f"dense<{_one(each)}> : {each}" for each in types[:MOST_CONSTANTS])
    constants += ", ..." * (len(types) > MOST_CONSTANTS)
    hint = f"--inputs=FILE.npz with arrays arg0, arg1, ...; or --args='[{constants}]'"
    return SdyError(Diagnostic("SDY-X006", message, span_of(function), hint=hint))


def _one(value_type: Attribute) -> str:
    """Return the text of a constant 1 of the element type of a tensor."""
    dtype = dtype_of_type(value_type)
    if is_bool(dtype):
        return "true"
    if is_complex(dtype):
        return "(1.0, 0.0)"
    return "1.0" if is_float(dtype) else "1"


def _interpreted(
    arguments: ToolArguments,
    module: ModuleOp,
    function: FuncOp,
    inputs: Sequence[Array],
    pipeline: CompiledPipeline | None,
) -> list[Array]:
    folder = arguments.values.get("probe-output-dir")
    host = Host(write=_write, probe_folder=None if folder is None else Path(folder))
    observers: list[OpObserver] = []
    if arguments.has("trace"):
        observers.append(RunTrace(module if pipeline is None else pipeline.local, _write_error).observe)
    hint = "run the program in smaller sizes; `sdy verify --reduced` chooses them"
    check_memory(estimate_of_run(module), module, hint)
    with terminal_progress("", function) as observer:
        if observer is not None:
            observers.append(observer)
        settings = RunSettings(_combined_observer(observers), host=host)
        if pipeline is not None:
            check_inputs(function, [(array.shape, array.dtype) for array in inputs])
            return pipeline.global_results(pipeline.run_on_devices(inputs, settings))
        return interpret(module, inputs, function.sym_name.data, settings=settings)


def _combined_observer(observers: Sequence[OpObserver]) -> OpObserver | None:
    if not observers:
        return None

    def observe(context: KernelContext, op: Operation, results: Arrays) -> None:
        for observer in observers:
            observer(context, op, results)

    return observe


def _devices_text(boundary: ProgramPlacement, results: Sequence[Array]) -> str:
    sharded = [
        ShardedResult(array, placement.sharding, placement.mesh)
        for array, placement in zip(results, boundary.results, strict=True)
    ]
    return _table_text(devices_table(boundary.mesh, sharded))


def _meshes_text(pipeline: CompiledPipeline, results: Sequence[Array]) -> str:
    """Return a table for each mesh that holds results; its title has the numbers of these."""
    names = [mesh_type(each.type).mesh for each in terminator_of(main_function(pipeline.folded).body).operands]
    tables: list[str] = []
    for name in dict.fromkeys(names):
        numbers = [number for number, each in enumerate(names) if each == name]
        placements = [pipeline.boundary.results[number] for number in numbers]
        sharded = [
            ShardedResult(results[number], placement.sharding, placement.mesh)
            for number, placement in zip(numbers, placements, strict=True)
        ]
        table = devices_table(Mesh(placements[0].mesh.axes, pipeline.layout.devices[name]), sharded)
        columns = (*table.columns[:2], *(f"result {number}" for number in numbers))
        tables.append(_table_text(replace(table, title=f"devices of {name}", columns=columns)))
    return "\n".join(tables)


def _table_text(table: FittedTable) -> str:
    console = Console(file=StringIO(), width=shutil.get_terminal_size().columns, highlight=False)
    with console.capture() as capture:
        print_tables(console, table)
    return capture.get().rstrip("\n")


def _write(text: str) -> None:
    write_text("-", text)


def _write_error(text: str) -> None:
    sys.stderr.write(text)


if __name__ == "__main__":
    sys.exit(main())
