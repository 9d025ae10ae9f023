"""Shardy in pure Python: sharding notation, propagation, SPMD partitioning, NumPy execution on simulated devices.

The names are listed in __init__.pyi, and imported on first use: `import sdy` is fast and loads neither NumPy nor JAX.
`sdy.extend` is for dialects, passes and strategies of your own, and `sdy.ir` for modules built or read in Python.
"""

from __future__ import annotations

from importlib import import_module

from sdy.lazy_names import lazy_names
from sdy.model.html_repr import register_renderers

# What notebooks and print() show of values whose packages are below those that make HTML and tables.
register_renderers(
    {
        "sdy.compile.compiled.Compiled": "sdy.report.html.values.compiled_html",
        "sdy.compile.propagated.PropagatedProgram": "sdy.report.html.values.propagated_html",
        "sdy.advice.diff.ProgramDiff": "sdy.advice.diff_page.diff_html",
        "sdy.advice.partition_summary.PartitionSummary": "sdy.advice.diff_page.partition_summary_html",
        "sdy.cost.hardware.Hardware": "sdy.report.html.values.hardware_html",
        "sdy.cost.program_cost.ProgramCost": "sdy.report.html.values.cost_html",
        "sdy.cost.program_cost.ProgramCost:text": "sdy.report.tables.cost_tables.cost_text",
        "sdy.cost.statistics.Statistics:text": "sdy.report.tables.program_tables.statistics_text",
        "sdy.cost.statistics.Statistics": "sdy.report.html.values.statistics_html",
        "sdy.model.devices.placement.ProgramPlacement": "sdy.report.html.values.program_placement_html",
        "sdy.model.devices.placement.TensorPlacement": "sdy.report.html.values.tensor_placement_html",
        "sdy.model.mesh.Mesh": "sdy.report.html.values.mesh_html",
        "sdy.model.sharding.TensorSharding": "sdy.report.html.values.sharding_html",
        "sdy.evidence.proof.outcome.Proof": "sdy.evidence.proof_html.proof_html",
        "sdy.report.sweep_points.Sweep": "sdy.report.html.sweep_page.sweep_html",
    }
)

_lazy_name, __dir__ = lazy_names(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        # Imported here: it takes longer to import than the rest of the package.
        return import_module("importlib.metadata").version("sdy")
    return _lazy_name(name)
