"""Parses the command line of `sdy-opt`: a file, flags, and passes in order."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.passes.manager.all import pass_names
from sdy.passes.manager.pass_options import PassRequest, parse_options
from sdy.passes.manager.pipeline_text import parse_pipeline

FLAGS = {
    "split-input-file": "split the input at the lines `// -----`, and process each part separately",
    "verify-diagnostics": "compare the diagnostics with the comments `// expected-error {{...}}`",
    "allow-unregistered-dialect": "accept ops, attributes and types of unregistered dialects",
    "mlir-print-op-generic": "print every op in generic form",
    "mlir-print-ir-before-all": "print the module to stderr before each pass",
    "mlir-print-ir-after-all": "print the module to stderr after each pass",
    "mlir-print-ir-after-change": "print the module to stderr after each pass that changed it",
    "mlir-print-ir-module-scope": "accepted and ignored: the full module is always printed",
    "mlir-disable-threading": "accepted and ignored: passes run in one thread",
    "verify-each": "verify the module after each pass (default: true)",
    "dump-pass-pipeline": "print the pass pipeline with its options to stderr before running it",
    "show-dialects": "list the registered dialects and exit",
    "list-passes": "list the passes with their descriptions and options and exit",
    "version": "print the version and exit",
    "help": "print this help and exit",
}
VALUES = {
    "o": "output file (default: standard output)",
    "pass-pipeline": "the passes to run: builtin.module(pass,pass{option=value})",
    "mlir-print-ir-before": "print the module to stderr before these passes (comma-separated names)",
    "mlir-print-ir-after": "print the module to stderr after these passes (comma-separated names)",
    "load": "import a Python module or a .py file first, which may register dialects and passes",
    "dump-dir": "write the module after each pass to a file in this directory",
}

SHORT = {"h": "help"}


@dataclass(frozen=True)
class OptArguments:
    """The arguments of one call of `sdy-opt`. `flags` maps each flag on the command line to its value."""

    input: str = "-"
    output: str = "-"
    dump_dir: str | None = None
    shown_before: frozenset[str] = frozenset()
    shown_after: frozenset[str] = frozenset()
    requests: tuple[PassRequest, ...] = ()
    flags: dict[str, bool] = field(default_factory=dict[str, bool])

    def has(self, flag: str, default: bool = False) -> bool:
        """Return the value of a flag, or `default` if it is not on the command line."""
        return self.flags.get(flag, default)


def parse_arguments(args: Sequence[str]) -> OptArguments:
    """Parse the arguments of a command line. Options begin with one dash or two.

    Raises: SdyError if an option is unknown, or if a value is missing or invalid.
    """
    files: list[str] = []
    flags: dict[str, bool] = {}
    values: dict[str, str] = {}
    requests: list[PassRequest] = []
    passes = frozenset(pass_names())
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            files += rest
        elif arg == "-" or not arg.startswith("-"):
            files.append(arg)
        else:
            name, has_value, value = arg.lstrip("-").partition("=")
            name = SHORT.get(name, name)
            if name in passes:
                requests.append(PassRequest(name, parse_options(value)))
            elif name in FLAGS:
                flags[name] = _boolean(name, value) if has_value else True
            elif name in VALUES:
                values[name] = value if has_value else _next_value(name, rest)
            else:
                raise _unknown(arg, name)
    if len(files) > 1:
        raise _error(f"expected one input file, got {len(files)}: {', '.join(files)}", None)
    arguments = OptArguments(files[0] if files else "-", requests=tuple(requests), flags=flags)
    if "pass-pipeline" in values:
        if requests:
            raise _error("passes cannot be specified both as flags and with --pass-pipeline", "use one of the two")
        arguments = replace(arguments, requests=tuple(parse_pipeline(values["pass-pipeline"])))
    return replace(
        arguments,
        output=values.get("o", "-"),
        dump_dir=values.get("dump-dir"),
        shown_before=_pass_names(values.get("mlir-print-ir-before")),
        shown_after=_pass_names(values.get("mlir-print-ir-after")),
    )


def help_text() -> str:
    """Return the text of `sdy-opt --help`."""
    lines = [
        "usage: sdy-opt [options] [file]",
        "",
        "Read MLIR text, run passes on it, and print the result.",
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
        raise _error(f"unknown pass {unknown}", f"did you mean {close[0]}?" if close else "see --list-passes")
    return names


def _boolean(name: str, value: str) -> bool:
    if value not in ("true", "false", "1", "0"):
        raise _error(f"expected true or false for --{name}, got {value!r}", None)
    return value in ("true", "1")


def _next_value(name: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise _error(f"--{name} requires a value", VALUES[name])
    return value


def _unknown(arg: str, name: str) -> SdyError:
    close = difflib.get_close_matches(name, [*FLAGS, *VALUES, *pass_names()], n=1)
    return _error(f"unknown option {arg}", f"did you mean --{close[0]}?" if close else "see --help")


def _error(message: str, hint: str | None) -> SdyError:
    return SdyError(Diagnostic("SDY-T002", message, hint=hint))
