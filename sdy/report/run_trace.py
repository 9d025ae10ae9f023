"""The trace of `sdy-run --trace`: one line per executed op, with its result types and a digest of its results."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation

from sdy.dialects.ir.op_location import span_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.text.ssa_names import name_values
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.kernel import Arrays, KernelContext


class RunTrace:
    """Writes a line such as `file:line: %2 = stablehlo.add tensor<4xf32> 1f3a9c20` for each op.

    Values have the names that MLIR prints. Equal values have equal digests. If several devices run the op, the type is
    the local type, and the digest covers all devices. Ops in the bodies of reductions are omitted.
    """

    def __init__(self, module: ModuleOp, write: Callable[[str], None]) -> None:
        self._names = name_values(module, unique=False)
        self._write = write

    def observe(self, context: KernelContext, op: Operation, results: Arrays) -> None:
        """Write the line of an op."""
        if context.grid is None:
            return
        span = span_of(op)
        location = f"{span.file}:{span.line}: " if span else ""
        head = f"{self._names.results(op)} = {op.name}" if op.results else op.name
        types = [result.type for result in op.results]
        # A tuple or a future is represented by one array per element.
        shown = [None] * len(results) if len(types) != len(results) else types
        values = [_value(context, array, kind) for array, kind in zip(results, shown, strict=True)]
        devices = f" on {context.grid.position_count} devices" if context.batch else ""
        self._write(" ".join([f"{location}{head}", ", ".join(values)]).rstrip() + devices + "\n")


def digest(array: Array) -> str:
    """Return eight hexadecimal digits that depend on the bytes of an array."""
    return blake2b(array.tobytes(), digest_size=4).hexdigest()


def _value(context: KernelContext, array: Array, kind: Attribute | None) -> str:
    tensor = None if kind is None else as_tensor(kind)
    if tensor is None:
        return digest(array)
    return f"{TensorType(tensor.element_type, context.local(array), tensor.encoding)} {digest(array)}"
