"""The compiled form of a program: blocks as lists of kernels on numbered slots, which every executor runs."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from sdy.interpreter.kernel import Kernel

Slots = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One op: its kernel, where its arrays come from and go to, and the slots that nothing reads after it.

    `operands` ends with the outer values that the regions of the op use.
    """

    op: Operation
    kernel: Kernel
    operands: Slots
    results: Slots
    dead: Slots


@dataclass(frozen=True, slots=True)
class CompiledBlock:
    """The steps of a block in order. Its arguments come first among the slots, then what it captures from outside."""

    argument_count: int
    captured_count: int
    slot_count: int
    steps: tuple[Step, ...]
    results: Slots
