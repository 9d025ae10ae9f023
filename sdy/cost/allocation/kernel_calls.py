"""The calls of functions that a compiler inlines and fuses into one kernel, such as those of `jax.nn.relu`.

Such a function has one result, and all its ops can be fused. A call of it is like one op of the class of the op that
computes the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, OpResult

from sdy.dialects.ir.fast_ops import operands_of


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function that is one kernel: the class of the op that computes its result, and all classes of its ops."""

    kind: type[Operation]
    kinds: frozenset[type[Operation]]


@dataclass(slots=True)
class KernelCalls:
    """Finds the functions that are one kernel, each when first requested.

    `is_fusible` tells whether ops of a class can be fused into others, and `takes_in_ops` whether others can be fused
    into them.
    """

    functions: Mapping[str, FuncOp]
    is_fusible: Callable[[type[Operation]], bool]
    takes_in_ops: Callable[[type[Operation]], bool]
    _known: dict[str, Kernel | None] = field(default_factory=dict[str, Kernel | None])

    def kernel_of(self, op: Operation) -> Kernel | None:
        """Return the kernel of the function that an op calls; None if it does not call one."""
        return self.kernel_named(op.callee.string_value()) if type(op) is CallOp else None

    def kernel_named(self, name: str) -> Kernel | None:
        """Return the kernel of a function, if it is one."""
        if name not in self._known:
            self._known[name] = None  # ends the recursion for a function that calls itself
            self._known[name] = self._kernel(self.functions[name])
        return self._known[name]

    def _kernel(self, func: FuncOp) -> Kernel | None:
        if func.is_declaration:
            return None
        end = func.body.block.last_op
        returned = () if end is None else operands_of(end)
        if len(returned) != 1 or not isinstance(returned[0], OpResult):
            return None
        found: set[type[Operation]] = set()
        for op in func.body.block.ops:
            inner = self.kernel_of(op)
            kind = type(op) if inner is None else inner.kind
            if op is end:
                break
            is_allowed = self.takes_in_ops if op is returned[0].op else self.is_fusible
            if not is_allowed(kind):
                return None
            found |= {kind} if inner is None else inner.kinds
        last = self.kernel_of(returned[0].op)
        return Kernel(type(returned[0].op) if last is None else last.kind, frozenset(found))
