"""`sdy examples`: lists the programs that come with sdy, and copies one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from sdy.compile.propagated import summary
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.program.program import Program
from sdy.tools.command_line.arguments import add_json_argument, print_json
from sdy.tools.command_line.exit_codes import SUCCESS
from sdy.tools.command_line.subcommand_parser import SubcommandParser

DESCRIPTION = """\
List the example programs that come with sdy. With a name, copy that program and the arrays for `sdy verify --inputs`.
"""
PROGRAM, ARRAYS = ".mlir", ".npz"


def parser() -> ArgumentParser:
    """Return the argument parser of the command."""
    parser = SubcommandParser("examples", DESCRIPTION)
    parser.add_argument("name", nargs="?", help="the program to copy (default: list all programs)")
    parser.add_argument("-o", "--output", metavar="DIR", help="copy to this directory (default: the current one)")
    add_json_argument(parser)
    return parser


def run(arguments: Namespace) -> int:
    """List the programs, or copy one."""
    known = _programs()
    if arguments.name is None:
        if arguments.output is not None:
            raise SdyError(Diagnostic("SDY-T204", "--output requires the name of a program", hint=_names(known)))
        _list(is_json=arguments.json)
        return SUCCESS
    name = arguments.name.removesuffix(PROGRAM)
    if name not in known:
        hint = similar_name_hint(name, known) or _names(known)
        raise SdyError(Diagnostic("SDY-T231", f"unknown example {name}", hint=hint))
    folder = Path(arguments.output or ".")
    copies = [str(_copy(file, folder)) for file in _files() if Path(file.name).stem == name]
    if arguments.json:
        print_json({"copied": copies})
    else:
        print(*copies, sep="\n")
    return SUCCESS


def example_texts() -> dict[str, str]:
    """Return the text of each program, by name."""
    return {name: file.read_text(encoding="utf-8") for name, file in _programs().items()}


def examples_json() -> list[dict[str, str]]:
    """Return the name and the summary of each program."""
    texts = example_texts().items()
    return [{"name": name, "summary": summary(Program.from_text(text).module)} for name, text in texts]


def _list(*, is_json: bool) -> None:
    """Print the name and the summary of each program."""
    found = examples_json()
    if is_json:
        print_json({"examples": found})
        return
    width = max(len(each["name"]) for each in found)
    for each in found:
        print(f"{each['name']:{width}}  {each['summary']}")


def _programs() -> dict[str, Traversable]:
    return {Path(file.name).stem: file for file in _files() if file.name.endswith(PROGRAM)}


def _files() -> list[Traversable]:
    return sorted(files("sdy").joinpath("examples").iterdir(), key=lambda file: file.name)


def _names(known: dict[str, Traversable]) -> str:
    return f"examples: {', '.join(known)}"


def _copy(file: Traversable, folder: Path) -> Path:
    """Copy a file, and return its path. Raises: SdyError SDY-T001 if it cannot be written, or exists already."""
    target = folder / file.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as copy:
            copy.write(file.read_bytes())
    except OSError as error:
        raise SdyError(Diagnostic("SDY-T001", f"cannot write {target}: {error.strerror}")) from None
    return target
