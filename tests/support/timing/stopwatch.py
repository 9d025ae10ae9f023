"""Time one task in a separate process: `python stopwatch.py TASK FILE` prints seconds of CPU time.

Both sides are single-threaded, and CPU time does not include other work on the machine.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROPAGATION = "sdy-propagation-pipeline"


def seconds(task: Callable[[], object]) -> float:
    """Return the CPU seconds that `task` takes."""
    start = time.process_time()
    task()
    return time.process_time() - start


def ours_parse(text: str) -> float:
    """Time parsing and verification of a module."""
    from sdy.dialects.ir.context import load_dialects
    from sdy.dialects.module_text import make_context, parse_module
    from sdy.dialects.verification.verify_module import verify_module

    load_dialects(make_context())  # as those of jaxlib are
    return seconds(lambda: verify_module(parse_module(text)))


def ours_print(text: str) -> float:
    """Time printing of a module."""
    from sdy.dialects.module_text import parse_module, print_module

    module = parse_module(text)
    return seconds(lambda: print_module(module))


def ours_propagate(text: str) -> float:
    """Time the propagation pipeline and verification of its result."""
    from sdy.dialects.module_text import make_context, parse_module
    from sdy.dialects.verification.verify_module import verify_module
    from sdy.passes.run import run_passes
    from sdy.upstream.pipelines import PropagationPipeline

    module, context = parse_module(text), make_context()

    def task() -> None:
        run_passes(context, module, [PropagationPipeline()], verify_each=False)
        verify_module(module)

    return seconds(task)


def ours_passes(text: str) -> float:
    """Time the propagation pipeline without verification."""
    from sdy.dialects.module_text import make_context, parse_module
    from sdy.passes.run import run_passes
    from sdy.upstream.pipelines import PropagationPipeline

    module, context = parse_module(text), make_context()
    return seconds(lambda: run_passes(context, module, [PropagationPipeline()], verify_each=False))


def ours_passes_verified(text: str) -> float:
    """Time the propagation pipeline, with verification of what each pass changed; edits are noted as they are made."""
    from sdy.dialects.module_text import make_context, parse_module
    from sdy.dialects.verification.recheck import VerifiedModule
    from sdy.passes.run import run_passes
    from sdy.upstream.pipelines import PropagationPipeline

    module, context = parse_module(text), make_context()
    with VerifiedModule(module).listening() as verified:
        return seconds(lambda: run_passes(context, module, [PropagationPipeline()], verify=verified.verify))


def ours_passes_verified_in_full(text: str) -> float:
    """Time the propagation pipeline, with verification of the whole module after each pass."""
    from functools import partial

    from sdy.dialects.module_text import make_context, parse_module
    from sdy.dialects.verification.verify_module import verify_module
    from sdy.passes.run import run_passes
    from sdy.upstream.pipelines import PropagationPipeline

    module, context = parse_module(text), make_context()
    verify = partial(verify_module, module)
    return seconds(lambda: run_passes(context, module, [PropagationPipeline()], verify=verify))


def ours_partition(text: str) -> float:
    """Time partitioning of a propagated module to the local program, and its verification."""
    from sdy.dialects.module_text import make_context, parse_module
    from sdy.dialects.verification.verify_module import verify_module
    from sdy.passes.export.layers.unfold_layers import UnfoldLayersPass
    from sdy.passes.manager.partition_pipelines import LocalPipeline, partitioning
    from sdy.passes.manager.pipelines import Propagation
    from sdy.passes.run import run_passes

    module, context = parse_module(text), make_context()
    run_passes(context, module, Propagation.beyond_shardy().closed(), verify_each=False)

    def task() -> None:
        run_passes(context, module, [*partitioning(), LocalPipeline(keep_layers=True)], verify_each=False)
        verify_module(module)
        run_passes(context, module, [UnfoldLayersPass()], verify_each=False)

    return seconds(task)


def ours_memory(text: str) -> float:
    """Return the memory of a module, in bytes per op."""
    import tracemalloc

    from sdy.dialects.ir.walk import pre_order
    from sdy.dialects.module_text import parse_module

    parse_module(text)  # so that objects shared by all modules do not count
    gc.collect()
    tracemalloc.start()
    module = parse_module(text)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] / len(pre_order(module))


def op_count(text: str) -> float:
    """Return the number of ops of a module."""
    from sdy.dialects.ir.walk import pre_order
    from sdy.dialects.module_text import parse_module

    return len(pre_order(parse_module(text)))


def _jaxlib() -> tuple[Any, Any, Any]:
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager

    context = mlir.make_ir_context()
    context.enable_multithreading(False)
    return context, ir, passmanager


def jaxlib_parse(text: str) -> float:
    """Time parsing and verification of a module."""
    context, ir, _ = _jaxlib()
    with context:
        return seconds(lambda: ir.Module.parse(text))


def jaxlib_print(text: str) -> float:
    """Time printing of a module."""
    context, ir, _ = _jaxlib()
    with context:
        module = ir.Module.parse(text)
        return seconds(lambda: str(module))


def jaxlib_propagate(text: str) -> float:
    """Time the propagation pipeline, with verification after each pass."""
    context, ir, passmanager = _jaxlib()
    with context:
        module = ir.Module.parse(text)
        passes = passmanager.PassManager.parse(f"builtin.module({PROPAGATION})")
        return seconds(lambda: passes.run(module.operation))


def jaxlib_propagate_text(text: str) -> float:
    """Time the propagation pipeline from text to text, like `sdy-opt FILE --sdy-propagation-pipeline`."""
    context, ir, passmanager = _jaxlib()

    def task() -> None:
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({PROPAGATION})").run(module.operation)
        str(module)

    with context:
        return seconds(task)


TASKS: dict[str, Callable[[str], float]] = {
    task.__name__: task
    for task in (
        ours_parse,
        ours_print,
        ours_propagate,
        ours_passes,
        ours_passes_verified,
        ours_passes_verified_in_full,
        ours_partition,
        ours_memory,
        op_count,
        jaxlib_parse,
        jaxlib_print,
        jaxlib_propagate,
        jaxlib_propagate_text,
    )
}

if __name__ == "__main__":
    print(TASKS[sys.argv[1]](Path(sys.argv[2]).read_text()))
