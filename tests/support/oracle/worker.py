"""The child process of `OracleProcess`: one JSON request per line, one JSON answer per line."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from support.oracle import mpmd
from support.oracle.jaxlib_mlir import ir, jax_mlir, passmanager
from support.oracle.process import Answer, MpmdJob


def main() -> None:
    """Answer requests until the input ends.

    MLIR prints to standard output, which is redirected to stderr; answers use a duplicate of the original one."""
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        context = jax_mlir.make_ir_context()
        context.enable_multithreading(False)
        for line in sys.stdin:
            request = json.loads(line)
            with context, ir.Location.unknown():
                answer = _compiled(request) if "phase" in request else _transformed(request)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def _transformed(request: dict[str, Any]) -> Answer:
    try:
        module = ir.Module.parse(request["text"])
        passmanager.PassManager.parse(request["pipeline"]).run(module.operation)
        return {"text": module.operation.get_asm(print_generic_op_form=request["generic"])}
    except ir.MLIRError as error:
        return {"error": str(error)}


def _compiled(job: MpmdJob) -> Answer:
    mpmd.register(ir.Context.current)
    try:
        return {"text": mpmd.compiled(job)}
    except (ir.MLIRError, RuntimeError, ValueError) as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main()
