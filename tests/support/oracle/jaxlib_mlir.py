"""Real Shardy and real MLIR, as jaxlib carries them: black boxes to compare with."""

from __future__ import annotations

import pytest

jax_mlir = pytest.importorskip("jax._src.interpreters.mlir")
ir = pytest.importorskip("jaxlib.mlir.ir")
passmanager = pytest.importorskip("jaxlib.mlir.passmanager")


def run_pipeline(text: str, pipeline: str) -> str:
    """What the passes make of a module, printed."""
    context = jax_mlir.make_ir_context()
    context.enable_multithreading(False)
    with context:
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
        return str(module)


def generic_text(text: str) -> str:
    """The module in generic form. Raises: jaxlib's MLIRError where MLIR does not accept it."""
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(text)
        return str(module.operation.get_asm(print_generic_op_form=True))


def pretty_text(text: str) -> str:
    """The module as MLIR prints it. Raises: jaxlib's MLIRError where MLIR does not accept it."""
    context = jax_mlir.make_ir_context()
    with context:
        return str(ir.Module.parse(text))
