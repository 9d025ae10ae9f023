"""Converts programs in other formats of MLIR and XLA to MLIR text: bytecode, portable artifacts, HLO text, protos."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

from jax.interpreters import mlir

# Parts of jaxlib without type stubs.
_HLO: Any = import_module("jaxlib._hlo")
_CONVERSIONS: Any = import_module("jaxlib._jax").mlir
_STABLEHLO: Any = import_module("jaxlib.mlir.dialects.stablehlo")
_XLA_ERROR: Any = import_module("jax.errors").JaxRuntimeError


def bytecode_as_text(raw: bytes) -> str:
    """Return the module in MLIR bytecode or in a portable artifact. Raises: ValueError with MLIR's message."""
    messages: list[str] = []

    def collect(diagnostic: Any) -> bool:
        messages.append(diagnostic.message)
        return True

    make_context: Any = mlir.make_ir_context
    context = make_context()
    with context:
        handler = context.attach_diagnostic_handler(collect)
        try:
            return str(_STABLEHLO.deserialize_portable_artifact(context, raw))
        except ValueError as error:
            raise ValueError(messages[0] if messages else str(error)) from None
        finally:
            handler.detach()


def text_as_bytecode(text: str) -> bytes:
    """Return a module in MLIR text as bytecode. Raises: ValueError with MLIR's message."""
    ir: Any = import_module("jaxlib.mlir.ir")
    make_context: Any = mlir.make_ir_context
    stream = BytesIO()
    with make_context() as context:
        context.allow_unregistered_dialects = True
        try:
            ir.Module.parse(text).operation.write_bytecode(stream)
        except ir.MLIRError as error:
            raise ValueError(str(error)) from None
    return stream.getvalue()


def hlo_text_as_text(hlo: str) -> str:
    """Return HLO text as StableHLO text. Raises: ValueError with XLA's message."""
    try:
        proto = _HLO.hlo_module_from_text(hlo).as_serialized_hlo_module_proto()
    except _XLA_ERROR as error:
        raise ValueError(str(error)) from None
    return hlo_proto_as_text(proto)


def hlo_proto_as_text(raw: bytes) -> str:
    """Return a serialized `HloModuleProto` as StableHLO text. Raises: ValueError with XLA's message."""
    try:
        return bytecode_as_text(_CONVERSIONS.hlo_to_stablehlo(raw))
    except _XLA_ERROR as error:
        raise ValueError(str(error)) from None
