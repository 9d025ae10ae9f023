"""Codes of programs on several meshes: their ops (M0xx), and the passes that import, propagate and export them."""

from __future__ import annotations

from sdy.diagnostics.code_tables.code import Code

MPMD: dict[str, Code] = {
    "SDY-M001": Code(
        "An op names a mesh that the topology of its function does not have, or the function has no topology.",
        "Add the mesh to the attribute `topology` of the function.",
    ),
    "SDY-M002": Code(
        "An op of the dialect `mpmd` has values, attributes or a place that it does not allow.",
        "Write the op as its documentation shows.",
    ),
    "SDY-M003": Code(
        "A call of the dialect `mpmd` and the function that it calls do not fit together.",
        "Use the types and the mesh of the function; a called function with a topology is private.",
    ),
}
