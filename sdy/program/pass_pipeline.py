"""`sdy.run_passes`: runs a textual pass pipeline on a module."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from sdy.diagnostics.argument_types import require_type
from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.module_text import make_context
from sdy.dialects.verification.verified_module import VerifiedModule
from sdy.passes import run
from sdy.passes.manager.pass_options import build_pass
from sdy.passes.manager.pipeline_text import parse_pipeline


def run_passes(module: ModuleOp, pipeline: str) -> tuple[Diagnostic, ...]:
    """Run passes on a module in place, and return their warnings and remarks.

    `pipeline` is written like `--pass-pipeline`: `builtin.module(sdy-import-pipeline,sdy-basic-propagate)`. The module
    is verified before the first pass and after each pass.
    Raises: SdyError if the pipeline is malformed, if the module is invalid, or if a pass fails.
    """
    require_type(module, ModuleOp, "sdy.run_passes: module", "sdy.load(path).module is the module of a program")
    require_type(pipeline, str, "sdy.run_passes: pipeline", "write builtin.module(pass,pass{option=value})")
    passes = [build_pass(request) for request in parse_pipeline(pipeline)]
    context = make_context()
    with VerifiedModule(module).listening() as verified:
        run.run_passes(context, module, passes, verify=verified.verify)
    return tuple(context.diagnostics)
