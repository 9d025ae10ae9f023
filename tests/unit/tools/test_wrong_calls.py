"""Wrong input of three kinds of users, each answered by one diagnostic with a hint, and none by a traceback.

Wrong programs, with the location of each error, are in test_wrong_input.py; wrong files in test_source_text.py.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.execution.run_text import diagnostic_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import sdy
from sdy.tools.main import main
from sdy.tools.sdy_opt import main as sdy_opt
from sdy.tools.sdy_run import main as sdy_run

PROGRAM = """\
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
TWO_MESHES = """\
sdy.mesh @m = <["x"=4]>
sdy.mesh @n = <["z"=3]>
func.func @main(%a: tensor<8x9xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
    %b: tensor<8x9xf32> {sdy.sharding = #sdy.sharding<@n, [{}, {"z"}]>}) -> tensor<8x9xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x9xf32>
  return %0 : tensor<8x9xf32>
}
"""
PASS = '''\
from dataclasses import dataclass

import sdy
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class Failing(ModulePass):
    """Fail."""

    name = "failing-pass"

    def apply(self, ctx, op):
        raise KeyError("oops")


sdy.register_pass(Failing)
'''
FILES = {
    "program.mlir": PROGRAM,
    "two_meshes.mlir": TWO_MESHES,
    "dynamic.mlir": PROGRAM.replace("8x8", "?x8"),
    "custom.mlir": PROGRAM.replace(
        "tanh %a : tensor<8x8xf32>", "custom_call @f(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>"
    ),
    "two_functions.mlir": "func.func @f() {\n  return\n}\nfunc.func @g() {\n  return\n}\n",
    "train.py": "import jax\n",
    "failing_module.py": "value = 1 / 0\n",
    "invalid_module.py": "def f(:\n",
    "failing_pass_module.py": PASS,
    "no_arrays.npz": "text",
}
TOOLS: dict[str, Callable[[list[str]], int]] = {"sdy": main, "sdy-opt": sdy_opt, "sdy-run": sdy_run}


# A command line, with files in braces; its exit code; parts of the message; a part of the hint.
COMMAND_LINES: list[tuple[str, int, str, str]] = [
    # commands and options of `sdy`
    ("sdy verfy {program.mlir}", 2, "unknown command verfy", "did you mean verify?"),
    ("sdy {program.mlir}", 2, "unknown command", "sdy verify"),
    ("sdy --verson", 2, "unknown option --verson", "did you mean --version?"),
    ("sdy verify", 2, "required: file", "sdy verify --help"),
    ("sdy diff {program.mlir} {program.mlir} {program.mlir}", 2, "unexpected argument", "--help"),
    ("sdy verify {program.mlir} --sed 3", 2, "unknown option --sed", "did you mean --seed?"),
    ("sdy verify {program.mlir} --seed many", 2, "invalid int value: 'many'", "--help"),
    ("sdy partition {program.mlir} --stats xml", 2, "'xml'", "--help"),
    ("sdy cost {program.mlir}", 2, "requires --on", "h100"),
    ("sdy cost {program.mlir} --on h10", 2, "unknown hardware h10", "did you mean h100?"),
    ("sdy cost {program.mlir} --on h100 --free-bytes 16XB", 2, "16XB", "--help"),
    ("sdy explain {program.mlir}", 2, "expected a value to explain", "--help"),
    ("sdy explain {program.mlir} %7", 2, "no value %7", "line number"),
    ("sdy explain {program.mlir} 99", 2, "line 99", "5 lines"),
    ("sdy notation P('x')", 2, "requires a mesh", "--mesh x=4"),
    # files
    ("sdy verify {train.py}", 2, "is a Python file", "sdy.from_jax"),
    ("sdy verify {program.mlir} --inputs {no_arrays.npz}", 2, "not an .npz file", "numpy.savez"),
    ("sdy verify {program.mlir} --inputs none.npz", 2, "none.npz: No such file", "numpy.savez"),
    ("sdy verify {two_meshes.mlir}", 2, "all meshes must have the same", "meshes of equal size"),
    ("sdy verify {dynamic.mlir}", 2, "static shape", "concrete sizes"),
    ("sdy-run {custom.mlir} --args=[dense<1.0>:tensor<8x8xf32>]", 1, "custom call @f", "known targets"),
    ("sdy verify {two_functions.mlir}", 2, "expected a function named @main", "@main"),
    # user code
    ("sdy verify {program.mlir} --load", 2, "--load requires a module name", "--load=file.py"),
    ("sdy verify {program.mlir} --load no.such.module", 2, "No module named", "Python path"),
    ("sdy verify {program.mlir} --load none.py", 2, "none.py does not exist", "path"),
    ("sdy verify {program.mlir} --load {failing_module.py}", 2, "ZeroDivisionError: division by zero", "fix the error"),
    ("sdy verify {program.mlir} --load {invalid_module.py}", 2, "SyntaxError: invalid syntax", "fix the error"),
    ("sdy-opt {program.mlir} --load={failing_pass_module.py} --failing-pass", 1, "KeyError: 'oops'", "fix the error"),
    # sdy-opt
    ("sdy-opt {program.mlir} {program.mlir}", 1, "expected one input file, got 2", "--help"),
    ("sdy-opt {program.mlir} --sdy-close-sharding", 1, "--sdy-close-sharding", "did you mean --sdy-close-shardings?"),
    ("sdy-opt {program.mlir} --pass-pipeline=builtin.module(nothing)", 1, "unknown pass nothing", "--list-passes"),
    ("sdy-opt {program.mlir} --pass-pipeline=builtin.module(cse{x=1})", 1, "no option x", "options"),
    # sdy-run
    ("sdy-run {program.mlir}", 1, "expected 1 inputs", "--args='[dense<1.0> : tensor<8x8xf32>]'"),
    ("sdy-run {program.mlir} --args", 1, "--args requires a value", "dense<1>"),
    ("sdy-run {program.mlir} --args=one", 1, "expected a list of constants, got one", "one constant per argument"),
    ("sdy-run {program.mlir} --args=[dense<1.0>:tensor<2xf32>]", 1, "expected tensor<8x8xf32>", "shape [8, 8]"),
    ("sdy-run {program.mlir} --inputs=none.npz", 1, "none.npz: No such file", "numpy.savez"),
]


@pytest.mark.parametrize(("line", "code", "message", "hint"), COMMAND_LINES)
def test_a_wrong_command_line_is_answered_by_one_error_and_a_hint(
    line: str, code: int, message: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        line = line.replace(f"{{{name}}}", str(tmp_path / name))
    tool, *arguments = line.split(" ")
    assert TOOLS[tool](arguments) == code
    text = capsys.readouterr().err
    assert (text.count("error: "), "Traceback" in text) == (1, False)
    assert message in text
    assert hint in text.partition("hint: ")[2]


@dataclass(frozen=True)
class Library:
    """A program and an array with which the tests call the library."""

    program: Any
    array: Any


def lower(fn: Any, *arguments: Any) -> object:
    return sdy.from_jax(fn, *arguments)


# A call of the library, parts of its message and of its hint.
CALLS: dict[str, tuple[Callable[[Library], object], str, str]] = {
    "load nothing": (lambda _: sdy.load(None), "sdy.load: path: expected str or Path, got None", ""),  # pyright: ignore[reportArgumentType]
    "bytes as text": (lambda _: sdy.Program.from_text(b"module"), "expected str, got b'module'", "sdy.load"),  # pyright: ignore[reportArgumentType]
    "text as module": (lambda _: sdy.Program.from_module(PROGRAM), "expected ModuleOp", "from_text"),  # pyright: ignore[reportArgumentType]
    "no inputs": (lambda on: on.program.run(), "expected 1 inputs", ""),
    "two inputs": (lambda on: on.program.run(on.array, on.array), "expected 1 inputs", ""),
    "another dtype": (lambda on: on.program.run(on.array.astype(float)), "float64", "float32"),
    "ragged lists": (lambda on: on.program.run([[1], [1, 2]]), "expected an array for input 0", "nested lists"),
    "keyword": (lambda on: on.program.run(a=on.array), "no keyword arguments", "order"),
    "two results": (lambda on: on.program.verify(on.array, expected=[1, 2]), "2 expected outputs", ""),
    "text as seed": (lambda on: on.program.verify(seed="one"), "Program.verify: seed: expected int", ""),
    "explain a number": (lambda on: on.program.explain(3), "expected str, got 3", "as text"),
    "explain nothing": (lambda on: on.program.explain("x"), "expected a value", "line number"),
    "no machine": (lambda on: on.program.cost(None), "expected str or Path or Hardware, got None", "h100"),
    "another machine": (lambda on: on.program.cost("h10"), "unknown hardware h10", "did you mean h100?"),
    "mesh of a dict": (lambda _: sdy.Mesh({"x": 4}), "expected a tuple of MeshAxis", "sdy.parse_mesh"),  # pyright: ignore[reportArgumentType]
    "parse no mesh": (lambda _: sdy.parse_mesh(4), "expected str, got 4", '<["x"=4'),  # pyright: ignore[reportArgumentType]
    "parse no sharding": (lambda _: sdy.parse_sharding(None), "expected str", "<@mesh"),  # pyright: ignore[reportArgumentType]
    "interpret text": (lambda on: sdy.interpret(PROGRAM, [on.array]), "expected Program or ModuleOp", "sdy.load"),  # pyright: ignore[reportArgumentType]
    "not partitioned": (lambda on: sdy.run_spmd(on.program, [on.array]), "expected Compiled", "partition()"),
    "passes on a program": (lambda on: sdy.run_passes(on.program, "cse"), "expected ModuleOp", ".module"),
    "names of passes": (lambda on: sdy.run_passes(on.program.module, ["cse"]), "expected ModulePass", "builtin.module"),  # pyright: ignore[reportArgumentType]
    "register an object": (lambda _: sdy.register_pass(3), "derived from xdsl.passes.ModulePass", ""),  # pyright: ignore[reportArgumentType]
    "register a name": (lambda _: sdy.register_dialect("mine"), "expected Dialect, got 'mine'", ""),  # pyright: ignore[reportArgumentType]
    "lower a name": (lambda on: lower("f", on.array), "sdy.from_jax: fn: expected a function", "arguments of a call"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_is_answered_by_one_error(name: str) -> None:
    call, message, hint = CALLS[name]
    library = Library(sdy.Program.from_text(PROGRAM, "program.mlir"), np.zeros((8, 8), np.float32))
    found = diagnostic_of(lambda: call(library))
    assert message in found.message
    assert hint in (found.hint or "")


def identity(tree: Any) -> Any:
    return tree


# Calls of a program from JAX, lowered for `{"w": f32[2, 3]}`.
JAX_CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "another structure": (lambda program: program.run(np.zeros((2, 3), np.float32)), "structure"),
    "no argument": (lambda program: program.run(), "structure"),
    "another shape": (lambda program: program.run({"w": np.zeros((3, 3), np.float32)}), "[3, 3]"),
    "another dtype": (lambda program: program.run({"w": np.zeros((2, 3), np.int64)}), "int64"),
    "unknown argument": (lambda program: program.explain("tree['v']"), "tree['v']"),
}


@pytest.mark.parametrize("name", JAX_CALLS)
def test_a_wrong_call_of_a_program_from_jax_is_answered_by_one_error(name: str) -> None:
    pytest.importorskip("jax")
    call, message = JAX_CALLS[name]
    program = sdy.from_jax(identity, {"w": np.zeros((2, 3), np.float32)})
    found = diagnostic_of(lambda: call(program))
    assert message in found.message
    assert found.hint is not None


def test_there_are_sixty_cases() -> None:
    assert len(COMMAND_LINES) + len(CALLS) + len(JAX_CALLS) >= 60


def test_a_failing_pass_is_shown_with_the_line_that_raised() -> None:
    class Failing(ModulePass):
        name = "another-failing-pass"

        def apply(self, ctx: object, op: object) -> None:
            raise ZeroDivisionError

    sdy.register_pass(Failing)
    module = sdy.Program.from_text(PROGRAM).module
    found = diagnostic_of(lambda: sdy.run_passes(module, "builtin.module(another-failing-pass)"))
    assert (found.code, found.message) == ("SDY-T009", "pass another-failing-pass raised ZeroDivisionError")
    assert found.span is not None
    assert found.span.file == __file__
    assert (found.span.text or "").strip() == "raise ZeroDivisionError"


def test_a_mistake_that_a_library_finds_is_shown_at_the_line_of_the_user(caplog: pytest.LogCaptureFixture) -> None:
    class Erasing(ModulePass):
        name = "erasing-pass"

        def apply(self, ctx: object, op: ModuleOp) -> None:
            next(each for each in op.walk() if each.name == "stablehlo.tanh").erase()

    sdy.register_pass(Erasing)
    module = sdy.Program.from_text(PROGRAM).module
    with caplog.at_level(logging.DEBUG, logger="sdy"):
        found = diagnostic_of(lambda: sdy.run_passes(module, "builtin.module(erasing-pass)"))
    assert found.code == "SDY-T009"
    assert found.span is not None
    assert found.span.file == __file__
    assert (found.span.text or "").strip().endswith(".erase()")
    assert "xdsl/ir/core.py" in caplog.text


def test_interrupts_at_the_start_are_quiet() -> None:
    # The interrupt arrives while the modules of the command are imported.
    code = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "sdy.tools.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from sdy.tools.start import sdy
sys.exit(sdy())
"""
    process = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False)
    assert process.returncode == -signal.SIGINT
    assert process.stderr == ""
