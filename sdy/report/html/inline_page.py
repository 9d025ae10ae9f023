"""Shows an HTML page where the user is: inside a notebook, or in a browser."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import NamedTemporaryFile

HEIGHT = 640  # pixels


@dataclass(frozen=True, slots=True)
class InlinePage:
    """A page in a frame, which a notebook shows if it is the value of a cell."""

    html: str
    height: int = HEIGHT

    def __repr__(self) -> str:
        return f"InlinePage(height={self.height})"

    def _repr_html_(self) -> str:
        """Return a frame that contains the page, so that neither affects the style of the other."""
        style = f"width:100%;height:{self.height}px;border:1px solid rgba(128,128,128,.4);border-radius:8px"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}" title="report"></iframe>'


def shown_page(html: str, height: int = HEIGHT) -> InlinePage | Path:
    """Return a page for a notebook to show; outside of a notebook, open it in a browser and return its file."""
    if in_notebook():
        return InlinePage(html, height)
    with NamedTemporaryFile("w", prefix="sdy-", suffix=".html", encoding="utf-8", delete=False) as file:
        file.write(html)
    path = Path(file.name)
    webbrowser.open(path.as_uri())
    return path


def in_notebook() -> bool:
    """Return whether the code runs in a cell of Jupyter, VS Code, Colab or marimo, which show values as HTML."""
    # A notebook has imported its own library, so nothing needs to be imported to find out.
    ipython, marimo = sys.modules.get("IPython"), sys.modules.get("marimo")
    if ipython is not None:
        shell = ipython.get_ipython()
        if getattr(shell, "kernel", None) is not None:
            return True
    return marimo is not None and bool(marimo.running_in_notebook())
