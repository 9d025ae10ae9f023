"""Sets of ops: a fact about ops is a trait of their classes, so a set is the policy of a stage and says why it exists.

Counted are the sets, tuples, lists and dictionaries of op classes or op names that modules define. Not counted are
tables from ops to functions, which are how a stage behaves, the lists of the ops that a module declares, and type
aliases.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from xdsl.ir import Operation

import sdy
from sdy.dialects.chlo.dialect import CHLO
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.dialects.stablehlo.shape import ReverseOp

ROOT = Path(sdy.__file__).parent
MOST_SETS = 70
WITHOUT_IMPORT = {"__main__.py", "lit.cfg.py", "extensions.py"}
PROOF = "evidence/proof/"  # independent of all stages: it has copies of its own of what it needs
OP_NAMES = {op.name for dialect in (STABLEHLO, CHLO, SDY) for op in dialect.operations} | {"func.call", "func.return"}
SHORT_NAMES = {name.partition(".")[2] for name in OP_NAMES}
LEAST_SHORT_NAMES = 3  # fewer may be other words


class OpSet(NamedTuple):
    """A set of ops: the file that defines it, the line, and whether a comment is above it or at its end."""

    file: str
    name: str
    line: int
    has_comment: bool


@cache
def op_sets() -> tuple[OpSet, ...]:
    return tuple(_op_sets())


def _op_sets() -> Iterator[OpSet]:
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if path.name in WITHOUT_IMPORT:
            continue
        text = path.read_text()
        found = list(_assigned(ast.parse(text)))
        if not found:
            continue
        lines = text.splitlines()
        module = import_module(f"sdy.{file}".removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for name, line, last in found:
            if name != "OPS" and _is_op_set(getattr(module, name, None)):
                around = (lines[line - 2], lines[line - 1].partition("#")[1], lines[last - 1].partition("#")[1])
                yield OpSet(file, name, line, any(each.startswith("#") for each in around))


def _assigned(module: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Yield the names that a module assigns, with the first and the last line of each assignment.

    Not those of caches, which are empty at first.
    """
    for statement in module.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else ()
        targets = (statement.target,) if isinstance(statement, ast.AnnAssign) else targets
        for target in targets:
            is_empty = isinstance(value := getattr(statement, "value", None), ast.Dict) and not value.keys
            if isinstance(target, ast.Name) and not is_empty:
                yield target.id, statement.lineno, statement.end_lineno or statement.lineno


def _is_op_set(value: object) -> bool:
    if not isinstance(value, (set, frozenset, tuple, list, dict)):
        return False
    elements = list(cast("list[object]", value))
    if isinstance(value, dict):
        values = list(cast("dict[object, object]", value).values())
        if values and all(callable(each) and not isinstance(each, type) for each in values):
            return False
        elements += values
    short = [each for each in elements if isinstance(each, str) and each in SHORT_NAMES]
    return any(map(_is_op, elements)) or (len(short) >= LEAST_SHORT_NAMES and 2 * len(short) > len(elements))


def _is_op(element: object) -> bool:
    if isinstance(element, str):
        return element in OP_NAMES
    return isinstance(element, type) and issubclass(element, Operation)


def test_facts_are_not_sets_of_ops() -> None:
    found = op_sets()
    listed = "\n".join(f"{each.file}:{each.line}: {each.name}" for each in found)
    assert len(found) <= MOST_SETS, f"state facts as traits in sdy/dialects/facts/traits.py\n{listed}"


def test_a_set_of_ops_says_why_it_is_the_policy_of_a_stage() -> None:
    bare = [
        f"{each.file}:{each.line}: {each.name}"
        for each in op_sets()
        if not each.has_comment and not each.file.startswith(PROOF)
    ]
    assert bare == [], "write a comment above the set\n" + "\n".join(bare)


def test_sets_are_recognized() -> None:
    assert _is_op_set((ReverseOp, None))
    assert _is_op_set({"stablehlo.add": "a reason"})
    assert _is_op_set(("add", "multiply", "maximum"))
    assert not _is_op_set({"stablehlo.add": print})
    assert not _is_op_set(("add", "if"))
