"""The work that each op of a program adds to the kernels that a compiler makes: bytes, arithmetic and starts.

A kernel reads each value that it needs once and writes its results once; values inside of it move no bytes. The
accounts are per op, so that their sum is that of the kernels: of the ops of a kernel that read a value, the first one
pays for it. What is fused is the same for all sizes, so the accounts hold for the shards of a program too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.cost.allocation.fusion import is_expensive, is_fusible, takes_in_ops
from sdy.cost.hardware import Kernels
from sdy.cost.kernels.attention import AttentionKernel, attention_kernels
from sdy.cost.kernels.fusion_rules import FUSION_RULES, UNFUSED, FusionRules
from sdy.cost.kernels.value_flow import Step, ValueFlow, is_view, value_flow
from sdy.dialects.facts.traits import Generates, has_fact, selects_elements
from sdy.dialects.sharded_types import static_shape, tensor_bytes
from sdy.dialects.stablehlo.collectives import PartitionIdOp
from sdy.dialects.stablehlo.contraction import DotLikeOp
from sdy.dialects.stablehlo.shape import ConstantOp, TransposeOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp, DynamicUpdateSliceOp
from sdy.dialects.stablehlo.window import ConvolutionOp

LARGE_CONSTANT = 4096  # bytes


class Work(NamedTuple):
    """The work of one op: how often each operand is read from memory, and whether each result is written.

    `flops` is the share of the arithmetic that runs: less than 1 if a mask lets a kernel skip blocks. `starts`:
    whether a kernel ends with the op. `attention`: 1 in the forward pass of a flash kernel, 2 in the backward pass.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    flops: float = 1.0
    starts: int = 1
    attention: int = 0


def unfused_work(op: Operation) -> Work:
    """Return the work of an op that is a kernel of its own."""
    return Work((1,) * len(op.operands), (1,) * len(op.results))


class ModuleWork(NamedTuple):
    """The work of the op of each visit of a module; None for ops that move no tensors, such as calls.

    `in_attention` are the scores that kernels of flash attention keep in fast memory, with what depends on no data,
    like masks. There are none if no such kernel runs.
    """

    visits: list[tuple[Step, Work] | None]
    in_attention: frozenset[SSAValue] = frozenset()


def work_of(module: ModuleOp, kernels: Kernels) -> ModuleWork:
    """Return the work of a module in the kernels of a machine.

    Raises: SdyError SDY-T115 if a function calls itself.
    """
    flow, rules = value_flow(module), FUSION_RULES[kernels.fusion]
    works: list[tuple[Step, Work] | None] = [None] * flow.visit_count
    made = _Kernels(flow, rules if any(kernels.attention) else replace(rules, attention=False), kernels.unrolls_loops)
    found = {step: unfused_work(step.op) for step in flow.steps} if rules == UNFUSED else made.work()
    for step, work in found.items():
        works[step.number] = step, work
    return ModuleWork(works, made.values_in_attention())


def work_by_op(module: ModuleOp, kernels: Kernels) -> dict[Operation, Work]:
    """Return the work of each op of a module; of an op that several calls run, the one of the first call."""
    found: dict[Operation, Work] = {}
    for each in work_of(module, kernels).visits:
        if each is not None:
            found.setdefault(each[0].op, each[1])
    return found


@dataclass
class _Kernels:
    """The kernels of the steps of a program. Steps are added after their readers."""

    flow: ValueFlow
    rules: FusionRules
    unrolls_loops: bool
    fused: set[Step] = field(default_factory=set[Step])
    _kernels: dict[Step, frozenset[Step]] = field(default_factory=dict[Step, frozenset[Step]])
    _unstored: set[int] = field(default_factory=set[int])  # values that no kernel writes
    _inside: set[tuple[int, Step]] = field(default_factory=set[tuple[int, Step]])  # values that a kernel has computed
    _with_product: set[Step] = field(default_factory=set[Step])  # the kernels that a product was fused into
    _attention: dict[Step, AttentionKernel] = field(default_factory=dict[Step, AttentionKernel])
    _free: set[int] = field(default_factory=set[int])  # values that depend on no data

    def work(self) -> dict[Step, Work]:
        """Return the work of each step."""
        self._free = _free_values(self.flow)
        self._unstored |= self._free
        if self.rules.attention:
            for kernel in attention_kernels(self.flow, self._free):
                self._attention.update(dict.fromkeys(kernel.steps, kernel))
                self._unstored |= kernel.scores
        for step in reversed(self.flow.steps):
            self._add(step)
        return self._accounts()

    def values_in_attention(self) -> frozenset[SSAValue]:
        """Return the values that kernels of attention do not store; none without such kernels."""
        kernels = self._attention.values()
        return self.flow.values_with(self._free.union(*(each.scores for each in kernels))) if kernels else frozenset()

    def _add(self, step: Step) -> None:
        attention = self._attention.get(step)
        readers = [reader for result in step.results for reader in self.flow.readers.get(result, ())]
        if attention is not None:
            self._kernels[step] = frozenset((attention.first,))
        elif is_view(step.op):
            self._kernels[step] = frozenset()
        elif self.unrolls_loops and step.frame and _is_element_of_stack(step.op):
            step.is_boundary = isinstance(step.op, DynamicUpdateSliceOp)
            self._kernels[step] = frozenset()
        elif self._is_read_in_place(step, readers):
            operand, result = self.flow.memory(step.operands[0]), step.results[0]
            self.flow.memory_of[result] = operand
            others = self.flow.readers[operand]
            others.remove(step)
            others.extend(reader for reader in readers if reader not in others)
            self._kernels[step] = frozenset()
        elif readers and self._is_fused(step, readers):
            self.fused.add(step)
            self._unstored.update(step.results)
            self._kernels[step] = self._kernels_of(readers)
        else:
            self._kernels[step] = self._kernel_with_results(step, readers) or frozenset((step,))

    def _kernels_of(self, steps: Sequence[Step]) -> frozenset[Step]:
        return frozenset[Step]().union(*(self._kernels[step] for step in steps))

    def _is_read_in_place(self, step: Step, readers: Sequence[Step]) -> bool:
        """Return whether a transposition moves nothing: products read and write their tensors in any layout."""
        if type(step.op) is not TransposeOp or not readers:
            return False
        operand = self.flow.memory(step.operands[0])
        producer = self.flow.producers.get(operand)
        is_written_so = producer is not None and isinstance(producer.op, DotLikeOp) and producer.frame == step.frame
        if is_written_so and self.flow.readers[operand] == [step]:
            return True
        return all(isinstance(each.op, DotLikeOp) for each in readers)

    def _is_fused(self, step: Step, readers: Sequence[Step]) -> bool:
        """Return whether readers of the results compute them from the operands."""
        if not self.rules.loops or any(reader.is_boundary or reader.frame != step.frame for reader in readers):
            return False
        if isinstance(step.op, DotLikeOp | ConvolutionOp):
            return self.rules.product_results and self._is_fused_into_result(step, readers)
        if not is_fusible(type(step.op)):
            return False
        if not all(self._takes_in(reader) for reader in readers):
            return False
        count = len(self._kernels_of(readers))
        if count <= 1:
            return True
        if is_expensive(type(step.op)) and not self.rules.repeats_functions:
            return False
        # Computed once, it is read by each kernel; computed in each kernel, its operands are.
        read = sum(self._bytes_read(step, operand) for operand in set(step.operands))
        return count * read <= read + (1 + count) * sum(map(self.flow.bytes_of, step.results))

    def _bytes_read(self, step: Step, operand: int) -> int:
        if operand in self._unstored:
            return 0
        size = self.flow.bytes_of(operand)
        return min(size, self.flow.bytes_of(step.results[0])) if selects_elements(type(step.op)) else size

    def _takes_in(self, reader: Step) -> bool:
        if reader in self._attention:
            return True
        if isinstance(reader.op, DotLikeOp | ConvolutionOp):
            return self.rules.product_operands
        return takes_in_ops(type(reader.op))

    def _is_fused_into_result(self, step: Step, readers: Sequence[Step]) -> bool:
        """Return whether a product is computed by the kernel of the ops that read it, which has no other product."""
        kernel = self._kernel_alike(step, readers)
        if kernel is None or kernel in self._with_product or not all(is_fusible(type(each.op)) for each in readers):
            return False
        self._with_product.add(kernel)
        return True

    def _kernel_alike(self, step: Step, readers: Sequence[Step]) -> Step | None:
        """Return the kernel that all readers are in, if fusible ops alone compute as many elements there."""
        kernel, *others = self._kernels_of(readers) or (None,)
        if kernel is None or others or kernel in self._attention or not is_fusible(type(kernel.op)):
            return None
        size = self.flow.elements_of(step.results[0])
        return kernel if all(self.flow.elements_of(result) == size for result in kernel.results) else None

    def _kernel_with_results(self, step: Step, readers: Sequence[Step]) -> frozenset[Step] | None:
        """Return the kernel that computes the results of a step beside its own, as one more output.

        All ops that read the results are in the kernel, or end the region.
        """
        if not self.rules.outputs or not is_fusible(type(step.op)):
            return None
        inside = [reader for reader in readers if not (reader.is_boundary and not reader.results)]
        if not inside or any(reader.frame != step.frame or not self._takes_in(reader) for reader in inside):
            return None
        kernel = self._kernel_alike(step, inside)
        if kernel is None:
            return None
        self._inside.update((result, kernel) for result in step.results)
        return frozenset((kernel,))

    def _accounts(self) -> dict[Step, Work]:
        """Divide what the kernels read among their steps."""
        read: set[tuple[int, Step]] = set(self._inside)
        found: dict[Step, Work] = {}
        for step in self.flow.steps:
            kernels = self._kernels[step]
            if step.is_boundary or not kernels or self._free.issuperset(step.results):
                found[step] = Work((0,) * len(step.op.operands), (0,) * len(step.op.results), starts=0)
                continue
            attention = self._attention.get(step)
            reads: list[int] = []
            for operand in map(self.flow.memory, step.operands):
                new = () if operand in self._unstored else [each for each in kernels if (operand, each) not in read]
                read.update((operand, each) for each in new)
                reads.append(len(new))
            writes = tuple(int(result not in self._unstored) for result in step.results)
            starts = int(step in kernels)
            share, direction = (1.0, 0) if attention is None else (attention.share, attention.direction)
            found[step] = Work(tuple(reads), writes, share, starts, direction)
        return found


def _is_element_of_stack(op: Operation) -> bool:
    """Return whether an op reads or replaces one element along the first dim of a tensor."""
    if not isinstance(op, DynamicSliceOp | DynamicUpdateSliceOp):
        return False
    part = op.result if isinstance(op, DynamicSliceOp) else op.update
    sizes, stack = static_shape(part.type), static_shape(op.operand.type)
    return bool(sizes) and sizes == (1, *(stack or ())[1:])


def _free_values(flow: ValueFlow) -> set[int]:
    """Return the values that depend on no data, such as masks of positions: each reader computes them anew."""
    free: set[int] = set()
    for step in flow.steps:
        is_computed = is_fusible(type(step.op)) or is_view(step.op)
        if _is_generated(step.op) or (step.operands and is_computed and free.issuperset(step.operands)):
            free.update(step.results)
    return free


def _is_generated(op: Operation) -> bool:
    """Return whether an op computes its result from nothing. The elements of large constants are read from memory."""
    if isinstance(op, ConstantOp):
        return op.value.is_splat or tensor_bytes(op.output.type) <= LARGE_CONSTANT
    return has_fact(type(op), Generates) or isinstance(op, PartitionIdOp)
