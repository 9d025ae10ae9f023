"""Run the notebooks in docs/notebooks, and compare their outputs with those that are checked in.

Style sheets and the page inside a frame are not compared, so that a change of colours leaves the notebooks valid.

usage: python -m support.notebooks [--update] [NOTEBOOK ...]     default: all; --update rewrites the outputs
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "docs" / "notebooks"
SECONDS = 120  # for a cell
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_FRAME = re.compile(r'srcdoc="[^"]*"')


def notebooks() -> list[Path]:
    """Return all notebooks."""
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def read(path: Path) -> Any:
    """Return a notebook."""
    return _nbformat().read(path, as_version=4)


def _nbformat() -> Any:
    """Return the module nbformat, which has no types."""
    import nbformat

    return nbformat


def executed(path: Path) -> Any:
    """Return a notebook with the outputs of a run in a new kernel and an empty directory.

    Raises: nbclient.exceptions.CellExecutionError if a cell fails.
    """
    from nbclient import NotebookClient

    notebook = read(path)
    with TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # when each cell ran
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    language = {"name": "python"}
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "name": "python3"}, "language_info": language}
    return notebook


def _joined(outputs: Sequence[Any]) -> list[Any]:
    """Return outputs with consecutive parts of a stream as one: a kernel sends them as it gets to it."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == joined[-1].output_type == "stream" and output.name == joined[-1].name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def differences(shown: Any, found: Any) -> Iterator[str]:
    """Yield a description of each cell whose outputs differ between two notebooks."""
    for index, (old, new) in enumerate(zip(shown.cells, found.cells, strict=True)):
        texts = [list(map(comparable, cell.get("outputs", ()))) for cell in (old, new)]
        if texts[0] != texts[1]:
            outputs = f"has the outputs\n\n{texts[1]}\n\nand the notebook shows\n\n{texts[0]}"
            yield f"cell {index}: this\n\n{old.source}\n\n{outputs}"


def comparable(output: Any) -> dict[str, str]:
    """Return the texts of an output by MIME type, without style sheets and pages in frames."""
    if output["output_type"] == "stream":
        return {output["name"]: output["text"]}
    return {kind: _FRAME.sub("srcdoc", _STYLE.sub("", text)) for kind, text in output["data"].items()}


def main(arguments: Sequence[str]) -> int:
    """Check or update notebooks; return 1 if an output differs."""
    os.environ |= {"COLUMNS": "100", "JAX_PLATFORMS": "cpu"}
    os.environ.pop("XLA_FLAGS", None)
    paths = [Path(argument).resolve() for argument in arguments if argument != "--update"] or notebooks()
    problems: list[str] = []
    for path in paths:
        found = executed(path)
        if "--update" in arguments:
            _nbformat().write(found, path)
        else:
            problems += (f"{path.name}, {each}" for each in differences(read(path), found))
    print(*problems, sep="\n\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
