# The names for users. Each is imported when it is first used (see sdy/lazy_names.py).

from sdy.compile.pipeline import CompiledPipeline as CompiledPipeline
from sdy.evidence.pipelines import PipelineEvidence as PipelineEvidence
from sdy.program.pipeline import Pipeline as Pipeline
from sdy.program.pipeline import load as load

__all__: list[str]
