"""Shardy in pure Python: sharding notation, propagation, SPMD partitioning, NumPy execution on simulated devices.

Names are imported on first use, so that `import sdy` is fast and loads neither NumPy nor JAX.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sdy.model.html_repr import register_renderers

if TYPE_CHECKING:
    __version__: str
    from sdy.advice.contract import CollectiveBound as CollectiveBound
    from sdy.advice.contract import Contract as Contract
    from sdy.advice.diff_page import diff_page as diff_page
    from sdy.advice.lint.settings import LintSettings as LintSettings
    from sdy.diagnostics.diagnostic import SdyError as SdyError
    from sdy.evidence.partitioners.compare import compare_partitioners as compare_partitioners
    from sdy.extension import register_custom_call as register_custom_call
    from sdy.extension import register_dialect as register_dialect
    from sdy.extension import register_pass as register_pass
    from sdy.grammar.parse import parse_mesh as parse_mesh
    from sdy.grammar.parse import parse_sharding as parse_sharding
    from sdy.model.mesh import Mesh as Mesh
    from sdy.model.sharding import TensorSharding as TensorSharding
    from sdy.program.execution import interpret as interpret
    from sdy.program.execution import run_spmd as run_spmd
    from sdy.program.from_jax import from_jax as from_jax
    from sdy.program.load import load as load
    from sdy.program.pass_pipeline import run_passes as run_passes
    from sdy.program.program import Program as Program
    from sdy.program.sweep import sweep as sweep
    from sdy.report.progress_line import show_progress as show_progress
    from sdy.report.visualize import visualize_sharding as visualize_sharding
    from sdy.search.tactics import replicate as replicate
    from sdy.search.tactics import search_rest as search_rest
    from sdy.search.tactics import shard as shard

_HOME = {
    "CollectiveBound": "sdy.advice.contract",
    "Contract": "sdy.advice.contract",
    "LintSettings": "sdy.advice.lint.settings",
    "Mesh": "sdy.model.mesh",
    "Program": "sdy.program.program",
    "SdyError": "sdy.diagnostics.diagnostic",
    "TensorSharding": "sdy.model.sharding",
    "compare_partitioners": "sdy.evidence.partitioners.compare",
    "diff_page": "sdy.advice.diff_page",
    "interpret": "sdy.program.execution",
    "from_jax": "sdy.program.from_jax",
    "load": "sdy.program.load",
    "register_custom_call": "sdy.extension",
    "register_dialect": "sdy.extension",
    "register_pass": "sdy.extension",
    "parse_mesh": "sdy.grammar.parse",
    "parse_sharding": "sdy.grammar.parse",
    "replicate": "sdy.search.tactics",
    "run_passes": "sdy.program.pass_pipeline",
    "run_spmd": "sdy.program.execution",
    "search_rest": "sdy.search.tactics",
    "shard": "sdy.search.tactics",
    "show_progress": "sdy.report.progress_line",
    "sweep": "sdy.program.sweep",
    "visualize_sharding": "sdy.report.visualize",
}

# What notebooks show of values whose packages are below those that make HTML.
register_renderers(
    {
        "sdy.compile.compiled.Compiled": "sdy.report.html.summary.compiled_html",
        "sdy.compile.propagated.PropagatedProgram": "sdy.report.html.summary.propagated_html",
        "sdy.advice.diff.ProgramDiff": "sdy.advice.diff_page.diff_html",
        "sdy.advice.partition_summary.PartitionSummary": "sdy.advice.partition_summary_html.partition_summary_html",
        "sdy.cost.hardware.Hardware": "sdy.report.html.values.hardware_html",
        "sdy.cost.program_cost.ProgramCost": "sdy.report.html.values.cost_html",
        "sdy.cost.statistics.Statistics": "sdy.report.html.values.statistics_html",
        "sdy.model.devices.placement.ProgramPlacement": "sdy.report.html.values.program_placement_html",
        "sdy.model.devices.placement.TensorPlacement": "sdy.report.html.values.tensor_placement_html",
        "sdy.model.mesh.Mesh": "sdy.report.html.values.mesh_html",
        "sdy.model.sharding.TensorSharding": "sdy.report.html.values.sharding_html",
        "sdy.evidence.proof.outcome.Proof": "sdy.evidence.proof_html.proof_html",
        "sdy.report.sweep.points.Sweep": "sdy.report.sweep.page.sweep_html",
    }
)

__all__ = [
    "CollectiveBound",
    "Contract",
    "LintSettings",
    "Mesh",
    "Program",
    "SdyError",
    "TensorSharding",
    "compare_partitioners",
    "diff_page",
    "from_jax",
    "interpret",
    "load",
    "parse_mesh",
    "parse_sharding",
    "register_custom_call",
    "register_dialect",
    "register_pass",
    "replicate",
    "run_passes",
    "run_spmd",
    "search_rest",
    "shard",
    "show_progress",
    "sweep",
    "visualize_sharding",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        # Imported here: it takes longer to import than the rest of the package.
        return import_module("importlib.metadata").version("sdy")
    if name not in _HOME:
        raise AttributeError(f"module 'sdy' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
