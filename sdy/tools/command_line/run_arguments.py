"""The command line of `sdy-run`: a file, and options with one dash or two."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

FLAGS = {
    "split-input-file": "run each program of a file that lines `// -----` divide",
    "interpreter-print-dense": "print results as constants: dense<[1, 2]> : tensor<2xi32>",
    "trace": "write each op that runs to standard error, with its types and a digest of what it gives",
    "devices-table": "also show what each device of the mesh holds of the results",
    "interpret": "accepted and ignored: this tool does nothing else",
    "mlir-disable-threading": "accepted and ignored: there is one thread",
    "help": "print this text, and stop",
}
VALUES = {
    "args": "the inputs of the function: [dense<1> : tensor<2xi32>, ...]",
    "probe-output-dir": "write each value that interpreter.probe sees to a .npy file of this folder",
}


@dataclass(frozen=True)
class RunArguments:
    """What one call of `sdy-run` should do."""

    input: str = "-"
    flags: frozenset[str] = frozenset()
    values: dict[str, str] = field(default_factory=dict[str, str])


def parse_arguments(words: Sequence[str]) -> RunArguments:
    """What the words of a command line ask for.

    Raises: SdyError SDY-T002 where a word is no option, a value is missing, or there are several files.
    """
    files: list[str] = []
    flags: set[str] = set()
    values: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            files.append(word)
            continue
        name, has_value, value = word.lstrip("-").partition("=")
        if name in FLAGS and not has_value:
            flags.add(name)
        elif name in VALUES:
            values[name] = value if has_value else _next_word(name, rest)
        else:
            raise _unknown(word, name)
    if len(files) > 1:
        raise _error(f"one input file, not {len(files)}: {', '.join(files)}", None)
    return RunArguments(*files, flags=frozenset(flags), values=values)


def help_text() -> str:
    """The usage of `sdy-run`."""
    lines = [
        "usage: sdy-run [options] [file]",
        "",
        "Interprets the function @main of a module, or the only function there is, and prints its results.",
        "",
        "options:",
        *(f"  --{name:28} {text}" for name, text in (VALUES | FLAGS).items()),
    ]
    return "\n".join(lines) + "\n"


def _next_word(name: str, rest: Iterator[str]) -> str:
    word = next(rest, None)
    if word is None:
        raise _error(f"--{name} needs a value", VALUES[name])
    return word


def _unknown(word: str, name: str) -> SdyError:
    close = difflib.get_close_matches(name, [*FLAGS, *VALUES], n=1)
    return _error(f"unknown option {word}", f"did you mean --{close[0]}?" if close else "see --help")


def _error(message: str, hint: str | None) -> SdyError:
    return SdyError(Diagnostic("SDY-T002", message, hint=hint))
