"""The findings of `sdy lint` in an editor: the machine of the command overrides that of the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.language_server.analysis.analysed_text import advice

TEXT = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.tanh %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


def test_the_machine_of_the_command_overrides_that_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.sdy.lint]\non = "abacus"\n')
    file = str(tmp_path / "program.mlir")
    assert advice(TEXT, file, "h100") == []
    with pytest.raises(SdyError, match="SDY-T209"):
        advice(TEXT, file, None)
