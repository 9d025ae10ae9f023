"""A small compiler for programs on audio signals, which leaves sharding, partitioning and costs to sdy.

    mesh room=2 time=4
    input mic : 8x256 room time
    quiet = gain mic 0.5
    safe = clip quiet 1.0
    power = energy safe
    output power

A line defines a value by an op of the dialect `sig`. A dim may be sharded along an axis of the mesh where it is input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import FloatAttr, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

import sdy
from sdy.extend import Elementwise, FactorKind, KernelTable, OpShardingRule, OpTable, RuleBuilder, pointwise
from sdy.ir import MeshOp, set_sharding


@irdl_op_definition
class GainOp(IRDLOperation):
    """Multiply every sample by a number."""

    name = "sig.gain"
    signal = operand_def(TensorType)
    factor = prop_def(FloatAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure(), Elementwise())


@irdl_op_definition
class ClipOp(IRDLOperation):
    """Limit every sample to at most a number, and to at least its opposite."""

    name = "sig.clip"
    signal = operand_def(TensorType)
    limit = prop_def(FloatAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure(), Elementwise())


@irdl_op_definition
class EnergyOp(IRDLOperation):
    """Sum the squares of each row."""

    name = "sig.energy"
    signal = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())


RULES = OpTable[OpShardingRule | None]()
KERNELS = KernelTable()


@RULES.of(EnergyOp)
def energy_rule(op: EnergyOp) -> OpShardingRule:
    """Return `([i, j]) -> ([i])`: rows pass through, and samples are summed."""
    rows, samples = op.signal.type.get_shape()
    builder = RuleBuilder((2,), (1,))
    builder.factor(rows, operands=(0,), results=(0,))
    builder.factor(samples, operands=(1,), results=(None,), kind=FactorKind.REDUCTION)
    return builder.build()


@KERNELS.of(GainOp)
def gain(op: GainOp):
    """Return the kernel of `sig.gain`."""
    factor = np.float32(op.factor.value.data)
    return pointwise(lambda signal: signal * factor)


@KERNELS.of(ClipOp)
def clip(op: ClipOp):
    """Return the kernel of `sig.clip`."""
    limit = np.float32(op.limit.value.data)
    return pointwise(lambda signal: np.clip(signal, -limit, limit))


@KERNELS.of(EnergyOp)
def energy(op: EnergyOp):
    """Return the kernel of `sig.energy`."""
    return pointwise(lambda signal: (signal * signal).sum(axis=-1))


sdy.register_dialect(Dialect("sig", [GainOp, ClipOp, EnergyOp]), rules=RULES, kernels=KERNELS)


def _number(text: str) -> FloatAttr:
    return FloatAttr(float(text), f32)


OPS: dict[str, Callable[..., IRDLOperation]] = {
    "gain": lambda x, factor: GainOp(operands=[x], properties={"factor": _number(factor)}, result_types=[x.type]),
    "clip": lambda x, limit: ClipOp(operands=[x], properties={"limit": _number(limit)}, result_types=[x.type]),
    "energy": lambda x: EnergyOp(operands=[x], result_types=[TensorType(f32, x.type.get_shape()[:1])]),
}


OPERANDS = {"gain": 2, "clip": 2, "energy": 1}


@dataclass
class Source:
    """The lines of a program, sorted by what they declare."""

    axes: list[str] = field(default_factory=list)
    inputs: dict[str, tuple[list[int], list[str]]] = field(default_factory=dict)
    lines: list[list[str]] = field(default_factory=list)
    output: str = ""


def read(text: str) -> Source:
    """Return the parsed lines of a program. Raises: ValueError if a line is malformed."""
    source = Source()
    for number, line in enumerate(text.splitlines(), 1):
        match line.partition("#")[0].split():
            case []:
                pass
            case ["mesh", *axes]:
                source.axes = axes
            case ["input", name, ":", shape, *axes]:
                source.inputs[name] = [int(size) for size in shape.split("x")], axes
            case ["output", name]:
                source.output = name
            case [name, "=", op, *operands] if len(operands) == OPERANDS.get(op):
                source.lines.append([name, op, *operands])
            case _:
                raise ValueError(f"line {number}: expected mesh, input, output or NAME = OP ..., got {line.strip()!r}")
    return source


def module_of(source: Source) -> ModuleOp:
    """Return the module of a program: a function of its inputs, with their shardings."""
    types = [TensorType(f32, shape) for shape, _ in source.inputs.values()]
    function = FuncOp("main", (types, []))
    values: dict[str, SSAValue] = dict(zip(source.inputs, function.body.block.args, strict=True))
    with ImplicitBuilder(function.body):
        for name, op, operand, *numbers in source.lines:
            if operand not in values:
                raise ValueError(f"{operand} is used before it is defined")
            values[name] = OPS[op](values[operand], *numbers).results[0]
        if source.output not in values:
            raise ValueError(f"expected the output to be a value of the program, got {source.output or 'none'}")
        ReturnOp(values[source.output])
    function.update_function_type()
    for name, (_, axes) in source.inputs.items():
        dims = ", ".join(f'{{"{axis}"}}' if axis != "-" else "{?}" for axis in axes)
        set_sharding(values[name], sdy.parse_sharding(f"<@mesh, [{dims}]>"))
    sizes = ", ".join(f'"{name}"={size}' for name, _, size in (axis.partition("=") for axis in source.axes))
    return ModuleOp([MeshOp("mesh", sdy.parse_mesh(f"<[{sizes}]>")), function])


def compile_program(text: str) -> sdy.Program:
    """Return a program that sdy can shard, partition, run and cost. Raises: SdyError if its module is invalid."""
    module = module_of(read(text))
    sdy.run_passes(module, "builtin.module()")  # verifies it
    return sdy.Program.from_module(module)


def main() -> int:
    """Compile a file, check the partitioned program, and print it with its cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--on", default="h100", help="the machine of the cost")
    options = parser.parse_args()
    try:
        program = compile_program(options.file.read_text())
        outputs, partitioned, cost = program.verify(), program.partition(), program.cost(options.on)
    except (ValueError, sdy.SdyError) as error:
        print(error, file=sys.stderr)
        return 1
    print(partitioned.local)
    print(f"bytes sent by a device: {sum(each.bytes_sent for each in cost.collectives):.0f}, peak: {cost.peak_bytes}")
    print("agrees" if all(each.agrees for each in outputs) else "differs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
