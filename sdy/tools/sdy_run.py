"""`sdy-run`: reads MLIR text, interprets it, and prints what its function returns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.render import render
from sdy.dialects.module_text import parse_module
from sdy.dialects.symbols import functions_of, main_function
from sdy.dialects.verify import verify_module
from sdy.interpreter.arguments import parse_inputs
from sdy.interpreter.element_types import Array
from sdy.interpreter.host import Host
from sdy.interpreter.printing import dense_text, tensor_text
from sdy.interpreter.single import interpret
from sdy.tools.broken_pipe import ends_with_its_reader
from sdy.tools.extensions import without_extensions
from sdy.tools.files import read_text, write_text
from sdy.tools.run_arguments import RunArguments, help_text, parse_arguments
from sdy.tools.split_file import Chunk, split_file


@ends_with_its_reader
def main(words: Sequence[str] | None = None) -> int:
    """Run the tool on the words of a command line. The exit code: 0, or 1 where something failed."""
    try:
        arguments = parse_arguments(without_extensions(sys.argv[1:] if words is None else words))
        return _run(arguments)
    except SdyError as error:
        _report(error.diagnostics, {})
        return 1


def _run(arguments: RunArguments) -> int:
    if "help" in arguments.flags:
        write_text("-", help_text())
        return 0
    inputs = parse_inputs(arguments.values["args"]) if "args" in arguments.values else []
    text = read_text(arguments.input)
    chunks = split_file(text) if "split-input-file" in arguments.flags else [Chunk(text)]
    succeeded = True
    for chunk in chunks:
        try:
            for line in _results(arguments, chunk, inputs):
                write_text("-", line + "\n")
        except SdyError as error:
            _report(error.diagnostics, {arguments.input: text})
            succeeded = False
    return 0 if succeeded else 1


def _results(arguments: RunArguments, chunk: Chunk, inputs: Sequence[Array]) -> Iterator[str]:
    """The text of each result of one program; a program without functions has none."""
    module = parse_module(chunk.text, arguments.input, first_line=chunk.first_line)
    verify_module(module)
    if not functions_of(module):
        return
    function = main_function(module)
    folder = arguments.values.get("probe-output-dir")
    host = Host(write=_write, probe_folder=None if folder is None else Path(folder))
    show = dense_text if "interpreter-print-dense" in arguments.flags else tensor_text
    results = interpret(module, inputs, function.sym_name.data, host)
    for result, result_type in zip(results, function.function_type.outputs, strict=True):
        yield show(result, result_type)


def _write(text: str) -> None:
    write_text("-", text)


def _report(diagnostics: Sequence[Diagnostic], sources: dict[str, str]) -> None:
    for diagnostic in diagnostics:
        print(render(diagnostic, sources), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
