"""The modules that commands import: none that only other commands use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
SCRIPT = """import sys
from sdy.tools.start import {tool}
assert {tool}() == 0
print("imported:", *{{name.partition(".")[0] for name in sys.modules}})
"""


@pytest.mark.parametrize(
    "command",
    [
        ("sdy_opt", "{file}"),
        ("sdy_opt", "{file}", "--sdy-propagation-pipeline"),
        ("sdy", "partition", "{file}"),
        ("sdy", "partition", "{file}", "--json"),
    ],
    ids=" ".join,
)
def test_commands_with_plain_output_import_no_packages_for_tables_and_arrays(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    tool, *arguments = (word.format(file=file) for word in command)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(tool=tool), *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    imported = done.stdout.rpartition("imported: ")[2].split()
    assert "xdsl" in imported
    assert not {"rich", "pygments", "numpy", "jax", "lark"}.intersection(imported)


def test_verify_imports_nothing_for_several_meshes_or_proofs() -> None:
    script = "import sys, sdy.tools.verify_runs; print(*(name for name in sys.modules if name.startswith('sdy.')))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=120)
    imported = set(done.stdout.split())
    assert "sdy.evidence.runs.verification" in imported
    assert not {"sdy.program.pipeline", "sdy.mpmd.passes.pipelines", "sdy.evidence.proof.prove"} & imported
