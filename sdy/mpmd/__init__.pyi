# The names for users. Each is imported when it is first used (see sdy/lazy_names.py).

from sdy.compile.pipeline import CompiledPipeline as CompiledPipeline
from sdy.evidence.pipelines import PipelineEvidence as PipelineEvidence
from sdy.jax.named_parts import broadcast as broadcast
from sdy.jax.named_parts import call as call
from sdy.jax.named_parts import enumerated_for as enumerated_for
from sdy.jax.named_parts import fori_loop as fori_loop
from sdy.jax.named_parts import named_computation as named_computation
from sdy.jax.named_parts import named_tensor as named_tensor
from sdy.jax.named_parts import reduce as reduce
from sdy.mpmd.schedules.fragment_info import FragmentInfo as FragmentInfo
from sdy.mpmd.schedules.fragment_info import ScheduleRule as ScheduleRule
from sdy.program.mpmd_jit import Config as Config
from sdy.program.mpmd_jit import Lowered as Lowered
from sdy.program.mpmd_jit import jit as jit
from sdy.program.mpmd_jit import make_config as make_config
from sdy.program.pipeline import Pipeline as Pipeline
from sdy.program.pipeline import load as load

__all__: list[str]
