"""Names that a module offers and imports on first use, so that importing it is fast and loads neither NumPy nor JAX.

The stub beside the module lists them, for type checkers and at run time: `from sdy.model.mesh import Mesh as Mesh`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module


def lazy_names(module: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module in `file`, whose stub lists its names; `__all__` has them too."""

    @cache
    def homes() -> dict[str, str]:
        with open(f"{file}i", encoding="utf-8") as stub:
            lines = [line.split() for line in stub if line.startswith("from ")]
        return {name: home for _, home, _, _, _, name in (line for line in lines if len(line) == 6)}

    def get(name: str) -> object:
        if name == "__all__":
            return directory()
        if name not in homes():
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = homes()[name]
        return import_module(f"{home}.{name}") if home == module else getattr(import_module(home), name)

    def directory() -> list[str]:
        return sorted(homes())

    return get, directory
