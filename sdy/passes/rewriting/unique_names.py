"""New symbol names for a module. Source: docs/spec/04, 0.5."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr


class UniqueNames:
    """Generates symbol names that the module does not use, with one counter for all of them."""

    def __init__(self, module: ModuleOp) -> None:
        self._used = {
            name.data
            for op in module.ops
            if isinstance(name := op.properties.get("sym_name", op.attributes.get("sym_name")), StringAttr)
        }
        self._counter = 0

    def new(self, name: str) -> str:
        """Return `name`, or `name_N` if it is taken."""
        unique = name
        while unique in self._used:
            unique = f"{name}_{self._counter}"
            self._counter += 1
        self._used.add(unique)
        return unique
