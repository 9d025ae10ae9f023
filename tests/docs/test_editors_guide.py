"""The configurations of editors in docs/guides/editors.md, in these editors where they are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sdy.language_server.server import SHOW_LOCAL_PROGRAM

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "editors.md").read_text()
SECONDS = 60
PROGRAM = """sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.tanh %a : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
"""
NEOVIM = """
local function client() return vim.lsp.get_clients({ name = "sdy" })[1] end
vim.wait(20000, function() return client() ~= nil and client().initialized end, 50)
local hover
vim.wait(20000, function()
  local document = vim.lsp.util.make_text_document_params()
  local params = { textDocument = document, position = { line = 2, character = 3 } }
  local answer = client():request_sync("textDocument/hover", params, 10000, 0)
  hover = answer and answer.result
  return hover ~= nil and hover ~= vim.NIL
end, 50)
print(hover.contents.value)
vim.wait(10000, function() return #vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0 end, 50)
print("hints: " .. #vim.lsp.inlay_hint.get({ bufnr = 0 }))
vim.api.nvim_buf_set_lines(0, 2, 3, false, { "  %0 = stablehlo.ta" })
vim.wait(10000, function() return #vim.diagnostic.get(0) > 0 and vim.diagnostic.get(0)[1].code == "SDY-P002" end, 50)
print("error: " .. vim.diagnostic.get(0)[1].code)
vim.cmd("quitall!")
"""
EMACS = """
(find-file "program.mlir")
(run-hooks 'post-command-hook)
(let ((deadline (+ (float-time) 40)) hover)
  (while (and (< (float-time) deadline) (not (eglot-current-server)))
    (accept-process-output nil 0.1))
  (while (and (< (float-time) deadline) (not hover))
    (setq hover (jsonrpc-request (eglot-current-server) :textDocument/hover
                                 (list :textDocument (list :uri (concat "file://" (buffer-file-name)))
                                       :position (list :line 2 :character 3))))
    (accept-process-output nil 0.1))
  (message "%s" (plist-get (plist-get hover :contents) :value))
  (sdy-show-local-program)
  (message "%s" (buffer-string)))
"""


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def printed(command: list[str], folder: Path) -> str:
    """Return what an editor prints, with the `sdy` of this environment first on its path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "HOME": str(folder)}
    (folder / "program.mlir").write_text(PROGRAM)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return done.stdout + done.stderr


def neovim_version() -> tuple[int, ...]:
    """Return the version of Neovim; (0,) without it."""
    if shutil.which("nvim") is None:
        return (0,)
    text = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", text.partition("\n")[0])[:2]))


@pytest.mark.skipif(neovim_version() < (0, 11), reason="Neovim 0.11 is not installed")
def test_neovim(tmp_path: Path) -> None:
    (configuration,) = blocks("lua")
    (tmp_path / "init.lua").write_text(configuration)
    (tmp_path / "check.lua").write_text(NEOVIM)
    script = ["nvim", "--clean", "--headless", "-u", "init.lua", "program.mlir", "-c", "luafile check.lua"]
    text = printed(script, tmp_path)
    assert "local          tensor<2x16xf32>, 128 bytes per device" in text
    assert "hints: 1" in text
    assert "error: SDY-P002" in text


@pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed")
def test_emacs(tmp_path: Path) -> None:
    if "found" not in printed(
        ["emacs", "--batch", "--eval", '(when (require \'eglot nil t) (message "found"))'], tmp_path
    ):
        pytest.skip("Emacs has no eglot")
    (tmp_path / "init.el").write_text("".join(blocks("elisp")))
    (tmp_path / "check.el").write_text(EMACS)
    text = printed(["emacs", "--batch", "-l", "init.el", "-l", "check.el"], tmp_path)
    assert "local          tensor<2x16xf32>, 128 bytes per device" in text
    assert "stablehlo.tanh %arg0 : tensor<2x16xf32>" in text


def test_the_extension_of_vs_code_is_well_formed(tmp_path: Path) -> None:
    (manifest,), (script,) = blocks("json"), blocks("javascript")
    contributed = json.loads(manifest)["contributes"]
    assert contributed["languages"][0]["extensions"] == [".mlir"]
    assert all(f'"{each["command"]}"' in script for each in contributed["commands"])
    assert f'"{SHOW_LOCAL_PROGRAM}"' in script
    if shutil.which("node") is not None:
        (tmp_path / "extension.js").write_text(script)
        subprocess.run(["node", "--check", "extension.js"], cwd=tmp_path, check=True)
