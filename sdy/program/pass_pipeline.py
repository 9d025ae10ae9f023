"""`sdy.run_passes`: a pipeline, as text, on a module that somebody else built."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.module_text import make_context
from sdy.dialects.verification.verify_module import verify_module
from sdy.passes import run
from sdy.passes.manager.pass_options import build_pass
from sdy.passes.manager.pipeline_text import parse_pipeline


def run_passes(module: ModuleOp, pipeline: str) -> tuple[Diagnostic, ...]:
    """Run passes on a module, in place, and verify it before and after each. Returns what the passes remark.

    `pipeline` is written as for `--pass-pipeline`: `builtin.module(sdy-import-pipeline,sdy-basic-propagate)`.
    Raises: SdyError with the first mistake in the pipeline or the module, or of the pass that fails.
    """
    passes = [build_pass(request) for request in parse_pipeline(pipeline)]
    verify_module(module)
    context = make_context()
    run.run_passes(context, module, passes)
    return tuple(context.diagnostics)
