"""Every pass and pipeline by its name. A class is imported when somebody asks for it."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import cast

from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

PASSES: dict[str, str] = {
    "sdy-drop-sharding-and-mesh": "sdy.passes.export.drop_sharding_and_mesh.DropShardingAndMeshPass",
}


def pass_class(name: str) -> type[ModulePass]:
    """The class of a pass.

    Raises: SdyError SDY-T003 where there is none of that name.
    """
    path = PASSES.get(name)
    if path is None:
        close = difflib.get_close_matches(name, PASSES, n=1)
        hint = f"did you mean {close[0]}?" if close else None
        raise SdyError(Diagnostic("SDY-T003", f"no pass is called {name}", hint=hint))
    module, _, class_name = path.rpartition(".")
    return cast("type[ModulePass]", getattr(import_module(module), class_name))
