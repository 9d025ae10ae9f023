"""Files with the programs of one device, which an editor shows beside the program."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp


class LocalPrograms:
    """A folder with the local programs that an editor shows; it is removed at the end of the session."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def write(self, file: str, text: str) -> str:
        """Write the local program of a file, and return the URI of the file that holds it."""
        if self._folder is None:
            self._folder = Path(mkdtemp(prefix="sdy-lsp-"))
        path = self._folder / f"{Path(file).stem}.local.mlir"
        path.write_text(text, encoding="utf-8")
        return path.as_uri()

    def remove(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            rmtree(self._folder, ignore_errors=True)
            self._folder = None
