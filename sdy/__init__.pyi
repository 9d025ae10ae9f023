from sdy import extend as extend
from sdy import ir as ir
from sdy import mpmd as mpmd
from sdy.advice.contract import CollectiveBound as CollectiveBound
from sdy.advice.contract import Contract as Contract
from sdy.advice.diff_page import diff_page as diff_page
from sdy.advice.lint.settings import LintSettings as LintSettings
from sdy.compile.signature import Call as Call
from sdy.diagnostics.diagnostic import Diagnostic as Diagnostic
from sdy.diagnostics.diagnostic import SdyError as SdyError
from sdy.evidence.partitioners.compare import compare_partitioners as compare_partitioners
from sdy.extension import register_custom_call as register_custom_call
from sdy.extension import register_dialect as register_dialect
from sdy.extension import register_pass as register_pass
from sdy.grammar.parse import parse_mesh as parse_mesh
from sdy.grammar.parse import parse_sharding as parse_sharding
from sdy.model.devices.reshard_plan import ReshardPlan as ReshardPlan
from sdy.model.devices.reshard_plan import reshard_plan as reshard_plan
from sdy.model.mesh import Mesh as Mesh
from sdy.model.sharding import TensorSharding as TensorSharding
from sdy.program.execution import interpret as interpret
from sdy.program.execution import run_spmd as run_spmd
from sdy.program.pass_pipeline import run_passes as run_passes
from sdy.program.program import Program as Program
from sdy.program.sources import from_jax as from_jax
from sdy.program.sources import load as load
from sdy.program.sweep import sweep as sweep
from sdy.report.progress_line import show_progress as show_progress
from sdy.report.visualize import visualize_sharding as visualize_sharding
from sdy.search.tactics import replicate as replicate
from sdy.search.tactics import search_rest as search_rest
from sdy.search.tactics import shard as shard

__all__: list[str]
__version__: str
