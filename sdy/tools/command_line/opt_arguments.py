"""The command line of `sdy-opt`: files, flags, and passes in the order given."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.passes.manager.all import pass_names
from sdy.passes.manager.pass_options import PassRequest, parse_options
from sdy.passes.manager.pipeline_text import parse_pipeline

FLAGS = {
    "split-input-file": "run each program of a file that lines `// -----` divide",
    "verify-diagnostics": "compare what is reported with the comments `// expected-error {{...}}`",
    "allow-unregistered-dialect": "accept ops, attributes and types of dialects that are not known",
    "mlir-print-op-generic": "print every op in generic form",
    "mlir-print-ir-before-all": "print the module to stderr before each pass",
    "mlir-print-ir-after-all": "print the module to stderr after each pass",
    "mlir-print-ir-after-change": "print the module to stderr after each pass that changed it",
    "mlir-print-ir-module-scope": "accepted and ignored: it is always the module that is printed",
    "mlir-disable-threading": "accepted and ignored: there is one thread",
    "verify-each": "verify the module after each pass; true unless =false",
    "dump-pass-pipeline": "print the passes with their options to stderr, and run them",
    "show-dialects": "list the dialects, and stop",
    "list-passes": "list the passes with what they do and their options, and stop",
    "help": "print this text, and stop",
}
VALUES = {
    "o": "the file to write; standard output where it is missing or -",
    "pass-pipeline": "passes as text: builtin.module(pass,pass{option=value})",
    "mlir-print-ir-before": "print the module to stderr before the passes of these names, divided by commas",
    "mlir-print-ir-after": "print the module to stderr after the passes of these names",
    "load": "import a Python module first, or a .py file, which may register dialects and passes",
    "dump-dir": "write the module after each pass to a file of this folder",
}


@dataclass(frozen=True)
class OptArguments:
    """What one call of `sdy-opt` should do. `flags` says of each flag given whether it is true."""

    input: str = "-"
    output: str = "-"
    dump_dir: str | None = None
    shown_before: frozenset[str] = frozenset()
    shown_after: frozenset[str] = frozenset()
    requests: tuple[PassRequest, ...] = ()
    flags: dict[str, bool] = field(default_factory=dict[str, bool])

    def has(self, flag: str, default: bool = False) -> bool:
        """Whether a flag is given and not false."""
        return self.flags.get(flag, default)


def parse_arguments(words: Sequence[str]) -> OptArguments:
    """What the words of a command line ask for. Options begin with one dash or two.

    Raises: SdyError where a word is no option, or a value is missing or wrong.
    """
    files: list[str] = []
    flags: dict[str, bool] = {}
    values: dict[str, str] = {}
    requests: list[PassRequest] = []
    passes = frozenset(pass_names())
    rest = iter(words)
    for word in rest:
        if word == "--":
            files += rest
        elif word == "-" or not word.startswith("-"):
            files.append(word)
        else:
            name, has_value, value = word.lstrip("-").partition("=")
            if name in passes:
                requests.append(PassRequest(name, parse_options(value)))
            elif name in FLAGS:
                flags[name] = _boolean(name, value) if has_value else True
            elif name in VALUES:
                values[name] = value if has_value else _next_word(name, rest)
            else:
                raise _unknown(word, name)
    if len(files) > 1:
        raise _error(f"one input file, not {len(files)}: {', '.join(files)}", None)
    arguments = OptArguments(files[0] if files else "-", requests=tuple(requests), flags=flags)
    if "pass-pipeline" in values:
        if requests:
            raise _error("passes are given both as flags and as --pass-pipeline", "use one of the two")
        arguments = replace(arguments, requests=tuple(parse_pipeline(values["pass-pipeline"])))
    return replace(
        arguments,
        output=values.get("o", "-"),
        dump_dir=values.get("dump-dir"),
        shown_before=_pass_names(values.get("mlir-print-ir-before")),
        shown_after=_pass_names(values.get("mlir-print-ir-after")),
    )


def help_text() -> str:
    """The usage of `sdy-opt`."""
    lines = [
        "usage: sdy-opt [options] [file]",
        "",
        "Reads MLIR text, runs passes on it, and prints it.",
        "",
        "options:",
    ]
    lines += [f"  --{name:28} {text}" for name, text in (VALUES | FLAGS).items()]
    lines += ["", "passes, with options as --pass='a=b c=d':", *(f"  --{name}" for name in pass_names())]
    return "\n".join(lines) + "\n"


def _pass_names(value: str | None) -> frozenset[str]:
    names = frozenset(value.split(",")) if value else frozenset[str]()
    unknown = next((name for name in sorted(names) if name not in pass_names()), None)
    if unknown is not None:
        close = difflib.get_close_matches(unknown, pass_names(), n=1)
        raise _error(f"no pass is called {unknown}", f"did you mean {close[0]}?" if close else "see --list-passes")
    return names


def _boolean(name: str, value: str) -> bool:
    if value not in ("true", "false", "1", "0"):
        raise _error(f"--{name} is true or false, not {value!r}", None)
    return value in ("true", "1")


def _next_word(name: str, rest: Iterator[str]) -> str:
    word = next(rest, None)
    if word is None:
        raise _error(f"--{name} needs a value", VALUES[name])
    return word


def _unknown(word: str, name: str) -> SdyError:
    close = difflib.get_close_matches(name, [*FLAGS, *VALUES, *pass_names()], n=1)
    return _error(f"unknown option {word}", f"did you mean --{close[0]}?" if close else "see --help")


def _error(message: str, hint: str | None) -> SdyError:
    return SdyError(Diagnostic("SDY-T002", message, hint=hint))
