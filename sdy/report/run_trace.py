"""The trace of a run: one line per op that ran, with what it gave."""

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
    """Writes `file:line: %2 = stablehlo.add tensor<4xf32> 1f3a9c20` for each op; names are those that MLIR prints.

    The digest is one of the bytes of the result: equal values have equal digests. Where several devices run, the
    type is that of one, and the digest one of all. The bodies of reductions, which run on elements, are left out.
    """

    def __init__(self, module: ModuleOp, write: Callable[[str], None]) -> None:
        self._names = name_values(module, unique=False)
        self._write = write

    def observe(self, context: KernelContext, op: Operation, results: Arrays) -> None:
        """Write what the op gave."""
        if context.grid is None:
            return
        span = span_of(op)
        place = f"{span.file}:{span.line}: " if span else ""
        head = f"{self._names.results(op)} = {op.name}" if op.results else op.name
        types = [result.type for result in op.results]
        # A tuple or a future is as many arrays as it has parts.
        shown = [None] * len(results) if len(types) != len(results) else types
        values = [_value(context, array, kind) for array, kind in zip(results, shown, strict=True)]
        devices = f" on {context.grid.position_count} devices" if context.batch else ""
        self._write(" ".join([f"{place}{head}", ", ".join(values)]).rstrip() + devices + "\n")


def digest(array: Array) -> str:
    """Eight hexadecimal digits that tell arrays of different bytes apart."""
    return blake2b(array.tobytes(), digest_size=4).hexdigest()


def _value(context: KernelContext, array: Array, kind: Attribute | None) -> str:
    tensor = None if kind is None else as_tensor(kind)
    if tensor is None:
        return digest(array)
    return f"{TensorType(tensor.element_type, context.local(array), tensor.encoding)} {digest(array)}"
