"""`sdy.run_passes`: runs a pass pipeline on a module."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.user_code import require_type
from sdy.dialects.module_text import make_context
from sdy.dialects.verification.recheck import VerifiedModule
from sdy.passes import run
from sdy.passes.manager.pass_options import passes_of


def run_passes(module: ModuleOp, pipeline: str | Sequence[ModulePass]) -> tuple[Diagnostic, ...]:
    """Run passes on a module in place, and return their warnings and remarks.

    `pipeline` is a sequence of passes, or a text like that of `--pass-pipeline`:
    `builtin.module(sdy-import-pipeline,sdy-basic-propagate)`. The module is verified before the first pass and after
    each pass.
    Raises: SdyError if the pipeline is malformed, if the module is invalid, or if a pass fails.
    """
    require_type(module, ModuleOp, "sdy.run_passes: module", "sdy.load(path).module is the module of a program")
    hint = "write builtin.module(pass,pass{option=value}), or give a list of passes"
    require_type(pipeline, (str, Sequence), "sdy.run_passes: pipeline", hint)
    passes = passes_of(pipeline) if isinstance(pipeline, str) else pipeline
    for each in passes:
        require_type(each, ModulePass, "sdy.run_passes: pass", "a text names passes: builtin.module(cse)")
    context = make_context()
    with VerifiedModule(module).listening() as verified:
        run.run_passes(context, module, passes, verify=verified.verify)
    return tuple(context.diagnostics)
