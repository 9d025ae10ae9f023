"""Program files in other formats than MLIR text: gzip, MLIR bytecode, HLO text and protos; and files that are none."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.execution.run_text import diagnostic_of

import sdy
from sdy.compile.source_text import source_text
from sdy.tools.main import main
from sdy.tools.sdy_opt import main as sdy_opt

jax: Any = pytest.importorskip("jax")

TEXT = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  return %a : tensor<2xf32>\n}\n"


def _jitted() -> Any:
    def function(x: Any) -> Any:
        return jax.numpy.tanh(x) * 2

    return jax.jit(function)


def _lowered() -> Any:
    return _jitted().lower(np.ones(3, np.float32))


def _portable() -> bytes:
    return jax.export.export(_jitted())(np.ones(3, np.float32)).mlir_module_serialized


def _bytecode() -> bytes:
    written = io.BytesIO()
    _lowered().compiler_ir("stablehlo").operation.write_bytecode(written)
    return written.getvalue()


def _hlo_text() -> bytes:
    return _lowered().as_text(dialect="hlo").encode()


def _hlo_module() -> bytes:
    return _lowered().compiler_ir("hlo").as_serialized_hlo_module_proto()


def _hlo_proto() -> bytes:
    module = _hlo_module()
    assert 0x80 <= len(module) < 0x4000
    return bytes([0x0A, len(module) & 0x7F | 0x80, len(module) >> 7]) + module  # field 1, and its length as a varint


FORMATS: dict[str, Callable[[], bytes]] = {
    "portable.mlirbc": _portable,
    "bytecode.mlirbc": _bytecode,
    "dump.txt": _hlo_text,
    "module.pb": _hlo_module,
    "dump.hlo.pb": _hlo_proto,
    "text.mlir.gz": lambda: gzip.compress(_lowered().as_text().encode()),
    "bytecode.gz": lambda: gzip.compress(_bytecode()),
}


@pytest.mark.parametrize("name", FORMATS)
def test_programs_in_other_formats_are_read(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.write_bytes(FORMATS[name]())
    (result,) = sdy.load(path).run(np.array([0, 1, -1], np.float32))
    assert np.allclose(result, 2 * np.tanh([0, 1, -1]), rtol=1e-6)
    assert sdy_opt([str(path)]) == 0
    assert main(["partition", str(path)]) == 0
    assert "stablehlo.tanh" in capsys.readouterr().out


BROKEN: dict[str, tuple[bytes, str, str]] = {
    "cut.mlirbc": (b"ML\xefR\rStableHLO_v1.0.0\0", "is not valid as MLIR bytecode", "again"),
    "dump.txt": (b"HloModule broken\n\nENTRY {", "is not valid as HLO text", "again"),
    "dump.pb": (b"\n\x03abc\0", "is not valid as an HLO proto", "again"),
    "cut.gz": (gzip.compress(TEXT.encode())[:-9], "is damaged", "gzip"),
    "train.py": (b"x = 1\n", "is a Python file", "sdy.from_jax"),
    "script": (b"#!/usr/bin/env python\n# trains\nimport jax\n", "is a Python file", "sdy.from_jax"),
    "f.jaxpr": (b"{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }", "is a jaxpr", ".lower("),
    "data.npz": (b"PK\x03\x04...", "holds arrays", "--inputs"),
    "data.npy": (b"\x93NUMPY\x01\0", "holds arrays", "--inputs"),
    "noise.mlir": (b"\x80\x81", "byte 0x80 is not valid UTF-8", "HLO proto in a file *.pb"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_other_files_are_named_for_what_they_are(name: str) -> None:
    raw, problem, hint = BROKEN[name]
    found = diagnostic_of(lambda: source_text(raw, name))
    assert found.code in ("SDY-T212", "SDY-P008")
    assert problem in found.message
    assert hint in (found.hint or "")


def test_optimized_hlo_is_named_as_such() -> None:
    hlo = _lowered().compile().as_text()
    found = diagnostic_of(lambda: source_text(hlo.encode(), "after_optimizations.txt"))
    assert "was dumped after XLA's optimizations" in found.message
    assert "before_optimizations" in (found.hint or "")


def test_a_binary_format_without_jax_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "sdy.jax.to_stablehlo.serialized", raising=False)
    monkeypatch.setitem(sys.modules, "jax.errors", None)
    found = diagnostic_of(lambda: source_text(b"ML\xefR...", "a.mlirbc"))
    assert found.code == "SDY-T205"
    assert "a.mlirbc is MLIR bytecode" in found.message
    assert found.hint == "pip install 'sdy[jax]'"


def test_text_is_returned_with_unix_line_ends() -> None:
    assert source_text(TEXT.replace("\n", "\r\n").encode(), "a.mlir") == TEXT
    assert source_text(gzip.compress(TEXT.encode()), "a.mlir.gz") == TEXT


def test_text_may_begin_with_a_byte_order_mark() -> None:
    assert source_text(TEXT.encode("utf-8-sig"), "a.mlir") == TEXT


def test_the_main_function_may_have_several_blocks() -> None:
    text = TEXT.replace("}", "^next:\n  return %a : tensor<2xf32>\n}")
    assert sdy.Program.from_text(text).origin.argument_names == ()
