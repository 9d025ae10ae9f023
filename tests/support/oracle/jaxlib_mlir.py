"""Run Shardy and MLIR as jaxlib ships them, to compare with."""

from __future__ import annotations

import pytest

jax_mlir = pytest.importorskip("jax._src.interpreters.mlir")
ir = pytest.importorskip("jaxlib.mlir.ir")
passmanager = pytest.importorskip("jaxlib.mlir.passmanager")


def run_pipeline(text: str, pipeline: str) -> str:
    """Run passes on a module and return the printed result."""
    context = jax_mlir.make_ir_context()
    context.enable_multithreading(False)
    with context:
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
        return str(module)


def generic_text(text: str) -> str:
    """Return the module in generic form. Raises: jaxlib's MLIRError if MLIR rejects it."""
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(text)
        return str(module.operation.get_asm(print_generic_op_form=True))


def pretty_text(text: str) -> str:
    """Return the module as MLIR prints it. Raises: jaxlib's MLIRError if MLIR rejects it."""
    context = jax_mlir.make_ir_context()
    with context:
        return str(ir.Module.parse(text))


def text_with_locations(text: str, generic: bool = False) -> str:
    """Return the text of a module with the locations of all ops."""
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context:
        module = ir.Module.parse(text)
        return str(module.operation.get_asm(enable_debug_info=True, print_generic_op_form=generic))
