"""Rewrite the CHECK lines of a file test so that they match what the tools print now: `pytest --update`.

The first CHECK line that does not match is replaced by the text at its position, and so on until all match:

* a run of `CHECK-NEXT` lines by the lines that follow in the output, up to the line that ended the run before;
* `CHECK` and `CHECK-LABEL` by the most similar line that follows;
* `CHECK-SAME` by the rest of the line.

`CHECK-NOT`, `CHECK-DAG` and `CHECK-COUNT` cannot be derived from the output: they stay, and the test still fails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path

from support.file_tests.checks import Mismatch
from support.file_tests.run_lines import first_failure, run_lines

MOST_REPAIRS = 1000
LEAST_SIMILARITY = 0.4

_DIRECTIVE = re.compile(
    r"(?P<lead>\s*//\s*(?P<prefix>[A-Z][A-Z0-9_]*))(?P<kind>-[A-Z]+)?(?P<literal>\{LITERAL\})?:"
    r"(?P<blank>\s*)(?P<pattern>.*)"
)


def update(path: Path, scratch: Path) -> bool:
    """Rewrite the file in place; return whether all its RUN lines pass then."""
    for _ in range(MOST_REPAIRS):
        failure = first_failure(run_lines(path), path, scratch)
        if failure is None:
            return True
        lines = path.read_text().splitlines()
        repaired = None if failure.mismatch is None else repair(lines, _without_folder(failure.mismatch, path))
        if repaired is None or repaired == lines:
            return False
        path.write_text("\n".join(repaired) + "\n")
    return False


def _without_folder(mismatch: Mismatch, path: Path) -> Mismatch:
    """Return the mismatch with the file named as on every machine: diagnostics begin with the path of the test."""
    before, after = mismatch.output[: mismatch.position], mismatch.output[mismatch.position :]
    before, after = (text.replace(str(path), path.name) for text in (before, after))
    return replace(mismatch, output=before + after, position=len(before))


def repair(lines: Sequence[str], mismatch: Mismatch) -> list[str] | None:
    """Return the lines of the test with the directive that failed replaced; None if it cannot be."""
    index = mismatch.line - 1
    found = _DIRECTIVE.fullmatch(lines[index])
    if found is None:
        return None
    printed = mismatch.output[mismatch.position :]
    match found["kind"]:
        case "-NEXT":
            end = _end_of_run(lines, index, found["prefix"], kinds=("-NEXT", "-SAME"))
            return [*lines[:index], *_next_lines(lines[index:end], found, printed), *lines[end:]]
        case "-SAME":
            texts = [printed.partition("\n")[0]]
        case None | "-LABEL":
            texts = _most_similar(found["pattern"], printed.split("\n"))
        case "-EMPTY":
            return [*lines[:index], *lines[index + 1 :]]
        case _:
            return None
    if not texts:
        return None
    end = _end_of_run(lines, index + 1, found["prefix"], kinds=("-SAME",))  # the new text holds all of its line
    return [*lines[:index], *(_directive(found, text) for text in texts), *lines[end:]]


def _end_of_run(lines: Sequence[str], start: int, prefix: str, *, kinds: Sequence[str]) -> int:
    """Return the index after the last of the directives of these kinds that follow one another from `start`."""
    end = start
    while end < len(lines):
        found = _DIRECTIVE.fullmatch(lines[end])
        if found is None or found["prefix"] != prefix or found["kind"] not in kinds:
            break
        end += 1
    return end


def _next_lines(run_of_lines: Sequence[str], first: re.Match[str], printed: str) -> list[str]:
    following = printed.split("\n")[1:]
    while following and not following[-1].strip():
        following.pop()
    last = _DIRECTIVE.fullmatch(run_of_lines[-1])
    assert last is not None
    stripped = [line.strip() for line in following]
    count = min(len(run_of_lines), len(following))
    if last["pattern"] in stripped:
        # The first such line that leaves no fewer lines than the run had, else the first one.
        ends = [index + 1 for index, line in enumerate(stripped) if line == last["pattern"]]
        count = next((end for end in ends if end >= count), ends[0])
    return [_directive(first, line) for line in following[:count]]


def _most_similar(pattern: str, printed: Sequence[str]) -> list[str]:
    scored = [(_similarity(pattern, line.strip()), -index) for index, line in enumerate(printed)]
    best, index = max(scored, default=(0.0, 0))
    return [printed[-index]] if best >= LEAST_SIMILARITY else []


def _similarity(pattern: str, line: str) -> float:
    """Return how much of a pattern is like the line, or like its beginning: 1 where they are equal, 0 at least."""
    return max(SequenceMatcher(None, pattern, text).ratio() for text in (line, line[: len(pattern)]))


def _directive(found: re.Match[str], text: str) -> str:
    text, literal = text.strip(), found["literal"] or ""
    if not literal:
        text = re.sub(r"\[\[|\{\{", lambda brackets: "{{" + re.escape(brackets[0]) + "}}", text)
    return f"{found['lead']}{found['kind'] or ''}{literal}:{found['blank'] or ' '}{text}"
