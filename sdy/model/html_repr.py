"""HTML representations, for notebooks, of values whose packages may not import what makes HTML.

The class derives from `HtmlRepr`. A package that may import everything names the function that makes the HTML:

>>> register_renderers({"sdy.model.mesh.Mesh": "sdy.report.html.values.mesh_html"})
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

_RENDERERS: dict[str, str] = {}


def register_renderers(renderers: Mapping[str, str]) -> None:
    """Add functions that make HTML: a map from the full name of a class to that of a function of its instances."""
    _RENDERERS.update(renderers)


class HtmlRepr:
    """Base of classes whose instances notebooks show as HTML."""

    __slots__ = ()

    def _rendered(self, kind: str = "") -> str | None:
        """Return what a registered function makes of the instance; None if none is registered for the kind."""
        home = _RENDERERS.get(f"{type(self).__module__}.{type(self).__qualname__}{kind}")
        if home is None:
            return None
        module, _, function = home.rpartition(".")
        return getattr(import_module(module), function)(self)

    def _repr_html_(self) -> str | None:
        """Return the HTML, or None if no function is registered, so that the notebook shows the `repr`."""
        return self._rendered()


class TextRepr(HtmlRepr):
    """Base of classes whose instances are printed as the tables of a command: a function registered with `:text`."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the tables; without a registered function, the `repr`."""
        return self._rendered(":text") or repr(self)
