"""The compiled form of a block: a list of kernels that read and write numbered slots."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from sdy.interpreter.kernel import Kernel

SlotNumbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CompiledOp:
    """One op: its kernel, the slots it reads and writes, and the slots that no later op reads.

    `operands` ends with the slots of the values that the op's regions capture.
    """

    op: Operation
    kernel: Kernel
    operands: SlotNumbers
    results: SlotNumbers
    dead: SlotNumbers


@dataclass(frozen=True, slots=True)
class CompiledBlock:
    """The steps of a block in program order. SlotNumbers start with the arguments, followed by the captured values."""

    argument_count: int
    captured_count: int
    slot_count: int
    steps: tuple[CompiledOp, ...]
    results: SlotNumbers
