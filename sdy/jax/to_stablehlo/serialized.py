"""Converts programs in other formats of MLIR and XLA to MLIR text: bytecode, portable artifacts, HLO text, protos."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from io import BytesIO
from itertools import cycle
from typing import Any

from jax.interpreters import mlir

# Parts of jaxlib without type stubs.
_HLO: Any = import_module("jaxlib._hlo")
_CONVERSIONS: Any = import_module("jaxlib._jax").mlir
_STABLEHLO: Any = import_module("jaxlib.mlir.dialects.stablehlo")
_IR: Any = import_module("jaxlib.mlir.ir")
_XLA_ERROR: Any = import_module("jax.errors").JaxRuntimeError
# In the header of HLO text: the results whose sharding propagation chooses.
_OPEN_RESULTS = re.compile(r"allow_spmd_sharding_propagation_to_output=\{([a-z, ]*)\}")


def bytecode_as_text(raw: bytes, change: Callable[[Any], None] = lambda _: None) -> str:
    """Return the module in MLIR bytecode or in a portable artifact, after a change of it.

    Raises: ValueError with MLIR's message.
    """
    messages: list[str] = []

    def collect(diagnostic: Any) -> bool:
        messages.append(diagnostic.message)
        return True

    make_context: Any = mlir.make_ir_context
    context = make_context()
    with context:
        handler = context.attach_diagnostic_handler(collect)
        try:
            module: Any = _STABLEHLO.deserialize_portable_artifact(context, raw)
            change(module)
            return str(module)
        except ValueError as error:
            raise ValueError(messages[0] if messages else str(error)) from None
        finally:
            handler.detach()


def text_as_bytecode(text: str) -> bytes:
    """Return a module in MLIR text as bytecode. Raises: ValueError with MLIR's message."""
    make_context: Any = mlir.make_ir_context
    stream = BytesIO()
    with make_context() as context:
        context.allow_unregistered_dialects = True
        try:
            _IR.Module.parse(text).operation.write_bytecode(stream)
        except _IR.MLIRError as error:
            raise ValueError(str(error)) from None
    return stream.getvalue()


def hlo_text_as_text(hlo: str) -> str:
    """Return HLO text as StableHLO text. Raises: ValueError with XLA's message."""
    try:
        proto = _HLO.hlo_module_from_text(hlo).as_serialized_hlo_module_proto()
    except _XLA_ERROR as error:
        raise ValueError(str(error)) from None
    match = _OPEN_RESULTS.search(hlo.partition("\n")[0])
    return hlo_proto_as_text(proto, [] if match is None else match[1].split(","))


def hlo_proto_as_text(raw: bytes, is_open: Sequence[str] = ()) -> str:
    """Return a serialized `HloModuleProto` as StableHLO text.

    `is_open` says for each result, or for all of them, whether its sharding is free ("true"), which a proto does not.
    Raises: ValueError with XLA's message.
    """
    try:
        return bytecode_as_text(
            _CONVERSIONS.hlo_to_stablehlo(raw), lambda module: _open_results(module, cycle(is_open or ("false",)))
        )
    except _XLA_ERROR as error:
        raise ValueError(str(error)) from None


def _open_results(module: Any, is_open: Iterable[str]) -> None:
    """Remove the HLO shardings of free results, which the conversion takes from the op that computes them.

    With the annotations of Shardy, a result has a sharding only by `@xla.sdy.FuncResultSharding`.
    """
    has_shardy = "xla.sdy.meshes" in str(module.operation.attributes)
    for func in module.body:
        if str(func.attributes["sym_name"]) == '"main"' and "res_attrs" in func.attributes:
            entries = [{each.name: each.attr for each in entry} for entry in func.attributes["res_attrs"]]
            for entry, free in zip(entries, is_open, strict=False):
                if has_shardy or free.strip() == "true":
                    entry.pop("mhlo.sharding", None)
            func.attributes["res_attrs"] = _IR.ArrayAttr.get([_IR.DictAttr.get(each) for each in entries])
