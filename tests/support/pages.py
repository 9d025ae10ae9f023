"""Run the examples of a Markdown page in order, and compare their output with the page.

    python      all blocks of a page share one namespace; one that begins with `# NAME.py` is a file
    mlir        begins with `// NAME.mlir`, and is a file; or with `// sdy-opt: FLAGS`, and the next block is the output
    sh          commands of sdy, one per line; `!` before one that fails
    console     the same, each after `$ ` and with its output below, which may be left out
    text        the output of the block before it; a block without one prints nothing
    json ...    configurations of editors, which tests/docs/test_editors_guide.py tests

usage: python -m support.pages [--update] [--any-output] [PAGE ...]     default: all pages
    --update rewrites the outputs; --any-output accepts others, so that only errors count
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from support.file_tests.run_lines import TOOLS, call

ROOT = Path(__file__).resolve().parents[2]
PAGES = tuple(
    ROOT / "docs" / name for name in ("tutorials", "guides", "embedding.md", "extending.md", "propagation.md")
)
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?:#|//) ([\w.-]+\.(?:py|mlir))\n")
_FLAGS = re.compile(r"// sdy-opt: (.*)\n")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `start` and `end` are the bounds of its text in the page."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Example:
    """A block that is run, and the block that shows its output."""

    block: Block
    shown: Block | None


@dataclass(frozen=True, slots=True)
class Difference:
    """An example whose output differs from the page."""

    example: Example
    printed: str


def pages() -> list[Path]:
    """Return all pages with examples."""
    return [page for path in PAGES for page in (sorted(path.glob("*.md")) if path.is_dir() else [path])]


def examples(page: str) -> list[Example]:
    """Return the examples of a page. Raises: ValueError if a `text` block does not follow an example."""
    blocks = [Block(match[1], match[2], match.start(2), match.end(2)) for match in _FENCE.finditer(page)]
    shown = {first.start: second for first, second in pairwise(blocks) if _shows(page, first, second)}
    outputs = {block.start for block in shown.values()}
    stray = [block for block in blocks if block.kind == "text" and block.start not in outputs]
    if stray:
        raise ValueError(f"expected an example before the output block: {stray[0].text}")
    return [Example(block, shown.get(block.start)) for block in blocks if block.start not in outputs]


def _shows(page: str, first: Block, second: Block) -> bool:
    """Return whether `second` is the output of `first`: it follows directly and is of the right kind."""
    is_next = not page[first.end + len("```") : second.start].strip().removeprefix(f"```{second.kind}")
    return is_next and second.kind == _kind_of_output(first)


def _kind_of_output(block: Block) -> str:
    return "mlir" if _FLAGS.match(block.text) else "text"


def differences(page: str) -> Iterator[Difference]:
    """Run the examples in a temporary directory, and yield those whose output differs from the page."""
    names: dict[str, object] = {"__name__": "__main__"}
    with TemporaryDirectory() as folder, chdir(folder):
        Path("sdy").mkdir()
        Path("sdy", "examples").symlink_to(ROOT / "sdy" / "examples")
        for example in examples(page):
            printed = _without_blank_ends(_printed(example.block, names))
            if printed != (example.shown.text if example.shown else ""):
                yield Difference(example, printed)


def _printed(block: Block, names: dict[str, object]) -> str:
    """Run a block and return its output; for a `console` block whose output differs, the updated block."""
    file, flags = _FILE.match(block.text), _FLAGS.match(block.text)
    if file is not None:
        Path(file[1]).write_text(block.text)
        return ""
    match block.kind:
        case "python":
            return _run_python(block.text, names)
        case "mlir" if flags is not None:
            return _run_command(f"sdy-opt {flags[1]} -", block.text)
        case "sh":
            return "".join(_run_command(line) for line in block.text.splitlines())
        case "console":
            return _run_session(block.text)
        case "json" | "javascript" | "lua" | "elisp":
            return ""
        case _:
            raise ValueError(f"expected a block that is run or is an output, got a block of {block.kind}: {block.text}")


def _run_python(code: str, names: dict[str, object]) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(code, "example.py", "exec"), names)
    return out.getvalue()


def _run_session(text: str) -> str:
    """Run a session; return it with its actual output, or an empty text if every output is as shown."""
    session: list[str] = []
    differs = False
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        printed = _without_blank_ends(_run_command(command))
        differs |= bool(shown) and printed != shown
        session.append(f"$ {command}\n{printed if shown else ''}")
    return "".join(session) if differs else ""


def _run_command(command: str, stdin: str = "") -> str:
    """Run a command and return its output, including stderr if it must fail.

    Raises: ValueError if it succeeds and must fail, or the reverse."""
    tokens = shlex.split(command)
    must_fail = tokens[0] == "!"
    name, *arguments = tokens[int(must_fail) :]
    is_loading = any(argument.startswith("--load") for argument in arguments)
    code, out, err = (_call_in_new_process if is_loading else call)(name, arguments, stdin)
    if (code != 0) != must_fail:
        raise ValueError(f"$ {command}\nexit code {code}\n{out}{err}")
    return out + (err if must_fail else "")


def _call_in_new_process(name: str, arguments: Sequence[str], stdin: str) -> tuple[int, str, str]:
    """Do the same as `call` in a new process, because modules cannot be unregistered."""
    command = [sys.executable, "-P", "-m", TOOLS[name], *arguments]  # -P: the folder has a `sdy` in it, with examples
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def _without_blank_ends(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


def updated(page: str, found: Sequence[Difference]) -> str:
    """Return the page with the actual output of its examples."""
    for difference in reversed(found):
        block, shown = difference.example.block, difference.example.shown
        if block.kind == "console":
            page = page[: block.start] + difference.printed + page[block.end :]
        elif shown is not None:
            page = page[: shown.start] + difference.printed + page[shown.end :]
        else:
            output = f"\n\n```{_kind_of_output(block)}\n{difference.printed}```"
            page = page[: block.end + len("```")] + output + page[block.end + len("```") :]
    return page


def main(arguments: Sequence[str]) -> int:
    """Check or update pages; return 1 if the output of an example differs from its page."""
    flags = [argument for argument in arguments if argument in ("--update", "--any-output")]
    named = [Path(argument).resolve() for argument in arguments if argument not in flags] or pages()
    if len(named) == 1:
        return _check(named[0], flags)
    command = [sys.executable, "-m", "support.pages", *flags]
    return max(subprocess.run([*command, str(page)], check=False).returncode for page in named)


def _check(path: Path, flags: Sequence[str]) -> int:
    os.environ |= {"COLUMNS": "100", "JAX_PLATFORMS": "cpu"}
    os.environ.pop("XLA_FLAGS", None)  # pages set the number of devices themselves
    page = path.read_text()
    found = list(differences(page))
    if "--update" in flags:
        path.write_text(updated(page, found))
        return 0
    if "--any-output" in flags:
        return 0
    for difference in found:
        shown = difference.example.shown
        print(f"{path.name}: this\n\n{difference.example.block.text}\nprints\n\n{difference.printed}")
        print(f"and the page shows\n\n{shown.text if shown else 'nothing'}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
