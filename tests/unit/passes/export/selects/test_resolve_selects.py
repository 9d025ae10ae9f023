"""Selects that are resolved by device and position compute the same, in random local programs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from sdy.dialects.ir.symbols import main_block
from sdy.dialects.ir.walk import ops_of, pre_order
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.stablehlo.elementwise import SelectOp
from sdy.dialects.stablehlo.slicing import SliceOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.devices.grid import grid_of
from sdy.interpreter.devices.values import stacked
from sdy.interpreter.run import run_spmd
from sdy.passes.export.selects.resolve_selects import ResolveSelectsPass
from sdy.passes.run import run_passes

DEVICES, ROWS = 4, 6


@dataclass
class Text:
    """The lines of a program, and the sizes of its values along dim 0. They have no columns, or two."""

    choice: random.Random
    has_columns: bool
    lines: list[str] = field(default_factory=list[str])
    sizes: dict[str, int] = field(default_factory=lambda: {"%a": ROWS, "%b": ROWS})

    def tensor(self, size: int) -> str:
        """Return the type of a value."""
        return tensor(size) if self.has_columns else f"tensor<{size}xf32>"

    def mask_type(self, size: int) -> str:
        """Return the type of a mask of a value."""
        return self.tensor(size).replace("f32", "i1")

    def along(self, along_rows: object, along_columns: object) -> str:
        """Return one entry for each dim."""
        return f"{along_rows}, {along_columns}" if self.has_columns else f"{along_rows}"

    def add(self, op: str, size: int | None = None) -> str:
        """Add an op and return its result, whose size is known if it can be used as data."""
        name = f"%{len(self.lines)}"
        self.lines.append(f"  {name} = {op}")
        if size is not None:
            self.sizes[name] = size
        return name

    def some(self, size: int | None = None) -> str:
        """Return a value of a size; slice or pad one if there is none."""
        names = [name for name, each in self.sizes.items() if size in (None, each)]
        if names:
            return self.choice.choice(names[-6:])
        assert size is not None
        longer = [name for name, each in self.sizes.items() if each > size]
        return self.slice(self.choice.choice(longer), size) if longer else self.pad(self.some(), size)

    def slice(self, value: str, size: int) -> str:
        """Add a slice of a value, with a step if there is room."""
        whole = self.sizes[value]
        step = self.choice.choice((1, 1, 1, 2)) if 2 * size - 1 <= whole else 1
        length = step * (size - 1) + 1
        start = self.choice.randint(0, whole - length)
        ranges = self.along(f"{start}:{start + length}:{step}", "0:2")
        return self.add(f"stablehlo.slice {value} [{ranges}] : ({self.tensor(whole)}) -> {self.tensor(size)}", size)

    def pad(self, value: str, size: int) -> str:
        """Add a pad of a value with zeros or ones, which may remove elements or insert some between others."""
        whole = self.sizes[value]
        gap = self.choice.choice((0, 0, 0, 1))
        more = size - (whole + gap * (whole - 1))
        low = self.choice.randint(min(0, more), max(0, more))
        filler = self.add(f"stablehlo.constant dense<{self.choice.choice((0.0, 1.0))}> : tensor<f32>")
        edges = f"low = [{self.along(low, 0)}], high = [{self.along(more - low, 0)}], interior = [{self.along(gap, 0)}]"
        types = f"({self.tensor(whole)}, tensor<f32>) -> {self.tensor(size)}"
        return self.add(f"stablehlo.pad {value}, {filler}, {edges} : {types}", size)

    def permute(self, value: str) -> str:
        """Add a permute between some devices."""
        count = self.choice.randint(1, DEVICES)
        sources, targets = (self.choice.sample(range(DEVICES), count) for _ in range(2))
        pairs = [list(pair) for pair in zip(sources, targets, strict=True)]
        size = self.sizes[value]
        return self.add(
            f'"stablehlo.collective_permute"({value}) <{{source_target_pairs = dense<{pairs}> : tensor<{count}x2xi64>,'
            " channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}>"
            f" : ({self.tensor(size)}) -> {self.tensor(size)}",
            size,
        )

    def mask(self, size: int) -> str:
        """Add a mask that depends on the device, or on the position too."""
        number = self.add("stablehlo.partition_id : tensor<ui32>")
        length = self.choice.randint(2, DEVICES + 1)
        kind = self.choice.choice(("device", "position"))
        if kind == "device":
            entries = ", ".join(self.choice.choice(("true", "false")) for _ in range(length))
            table = self.add(f"stablehlo.constant dense<[{entries}]> : tensor<{length}xi1>")
            types = f"(tensor<{length}xi1>, tensor<ui32>) -> tensor<1xi1>"
            entry = self.add(f"stablehlo.dynamic_slice {table}, {number}, sizes = [1] : {types}")
            return self.broadcast(entry, "tensor<1xi1>", size)
        offsets = [self.choice.randint(-3, 9) for _ in range(length)]
        table = self.add(f"stablehlo.constant dense<{offsets}> : tensor<{length}xi8>")
        types = f"(tensor<{length}xi8>, tensor<ui32>) -> tensor<1xi8>"
        entry = self.add(f"stablehlo.dynamic_slice {table}, {number}, sizes = [1] : {types}")
        scalar = self.add(f"stablehlo.reshape {entry} : (tensor<1xi8>) -> tensor<i8>")
        vector = f"tensor<{size}xi8>"
        offset = self.add(f"stablehlo.broadcast_in_dim {scalar}, dims = [] : (tensor<i8>) -> {vector}")
        index = self.add(f"stablehlo.iota dim = 0 : {vector}")
        position = self.add(f"stablehlo.{self.choice.choice(('add', 'subtract'))} {index}, {offset} : {vector}")
        one, other = (self.comparison(position, size) for _ in range(2))
        bits = f"tensor<{size}xi1>"
        joined = self.add(f"stablehlo.{self.choice.choice(('and', 'or', 'xor'))} {one}, {other} : {bits}")
        turned = self.add(f"stablehlo.not {joined} : {bits}")
        return self.broadcast(self.choice.choice((one, joined, turned)), bits, size)

    def comparison(self, position: str, size: int) -> str:
        """Add a comparison of positions with a limit."""
        vector = f"tensor<{size}xi8>"
        limit = self.add(f"stablehlo.constant dense<{self.choice.randint(-2, 9)}> : {vector}")
        operands = self.choice.sample((position, limit), 2)
        direction = self.choice.choice(("EQ", "NE", "GE", "GT", "LE", "LT"))
        types = f"({vector}, {vector}) -> tensor<{size}xi1>"
        return self.add(f"stablehlo.compare {direction}, {', '.join(operands)}, SIGNED : {types}")

    def broadcast(self, value: str, before: str, size: int) -> str:
        """Add a broadcast to the shape of a value, along dim 0 if it has one element there."""
        return self.add(f"stablehlo.broadcast_in_dim {value}, dims = [0] : ({before}) -> {self.mask_type(size)}")

    def step(self) -> None:
        """Add a random op and what it needs."""
        match self.choice.choice(("select", "select", "concatenate", "slice", "permute", "pad")):
            case "select":
                size = self.sizes[self.some()]
                mask, operands = self.mask(size), f"{self.some(size)}, {self.some(size)}"
                types = f"{self.mask_type(size)}, {self.tensor(size)}"
                self.add(f"stablehlo.select {mask}, {operands} : {types}", size)
            case "concatenate":
                parts = [self.some() for _ in range(2)]
                sizes = [self.sizes[each] for each in parts]
                types = f"({', '.join(map(self.tensor, sizes))}) -> {self.tensor(sum(sizes))}"
                self.add(f"stablehlo.concatenate {', '.join(parts)}, dim = 0 : {types}", sum(sizes))
            case "slice":
                value = self.some()
                self.slice(value, self.choice.randint(1, self.sizes[value]))
            case "permute":
                self.permute(self.some())
            case _:
                value = self.some()
                self.pad(value, self.sizes[value] + self.choice.randint(0, 2))


def tensor(size: int) -> str:
    return f"tensor<{size}x2xf32>"


def random_program(seed: int) -> str:
    text = Text(random.Random(seed), has_columns=bool(seed % 2))
    while len(text.lines) < 40:
        text.step()
    results = list(text.sizes)[-3:]
    types = ", ".join(text.tensor(text.sizes[each]) for each in results)
    body = "\n".join(text.lines)
    arguments = f"%a: {text.tensor(ROWS)}, %b: {text.tensor(ROWS)}"
    return f"func.func @main({arguments}) -> ({types}) {{\n{body}\n  return {', '.join(results)} : {types}\n}}"


def assert_equal_on_devices(before: str, after: str) -> None:
    grid = grid_of(partition_count=DEVICES)
    numbers = np.random.default_rng(0)
    modules = [parse_module(text) for text in (before, after)]
    shapes = [shape_of(argument) for argument in main_block(modules[0]).args]
    inputs = [stacked(numbers.normal(size=(DEVICES, *shape)).astype(np.float32), grid) for shape in shapes]
    runs = (run_spmd(module, inputs, grid) for module in modules)
    for expected, found in zip(*runs, strict=True):
        for device in range(DEVICES):
            np.testing.assert_array_equal(found.device_view(device), expected.device_view(device))


def resolved(text: str) -> str:
    module = parse_module(text)
    run_passes(make_context(), module, [ResolveSelectsPass()])
    verify_module(module)
    return print_module(module)


def test_random_programs_compute_the_same() -> None:
    fewer = 0
    for seed in range(60):
        before = random_program(seed)
        after = resolved(before)
        assert_equal_on_devices(before, after)
        counts = [len(ops_of(parse_module(text), SelectOp)) for text in (before, after)]
        fewer += counts[1] < counts[0]
    assert fewer >= 20


def permuted(
    value: str,
    pairs: str,
    size: int,
    handle: str = ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>",
) -> str:
    count = pairs.count("[") - 1
    properties = f"<{{source_target_pairs = dense<{pairs}> : tensor<{count}x2xi64>{handle}}}>"
    return f'"stablehlo.collective_permute"({value}) {properties} : ({tensor(size)}) -> {tensor(size)}'


def by_device(entries: str, kind: str = "partition_id") -> str:
    """Return lines that define a mask `%mask` of one row, which is an entry of a table."""
    length = entries.count(",") + 1
    return f"""
  %number = stablehlo.{kind} : tensor<ui32>
  %table = stablehlo.constant dense<[{entries}]> : tensor<{length}xi1>
  %entry = stablehlo.dynamic_slice %table, %number, sizes = [1] : (tensor<{length}xi1>, tensor<ui32>) -> tensor<1xi1>
  %mask = stablehlo.broadcast_in_dim %entry, dims = [0] : (tensor<1xi1>) -> tensor<1x2xi1>"""


def masked_edge(entries: str, pairs: str, *, kind: str = "partition_id", zero: str = "0.0") -> str:
    """Return a program that selects what is received, or a constant."""
    return f"""
func.func @main(%a: {tensor(1)}) -> {tensor(1)} {{{by_device(entries, kind)}
  %zero = stablehlo.constant dense<{zero}> : {tensor(1)}
  %received = {permuted("%a", pairs, 1)}
  %result = stablehlo.select %mask, %received, %zero : tensor<1x2xi1>, {tensor(1)}
  return %result : {tensor(1)}
}}"""


SHIFT = "[[0, 1], [1, 2], [2, 3]]"


@pytest.mark.parametrize(
    ("program", "selects"),
    [
        (masked_edge("false, true, true, true", SHIFT), 0),
        (masked_edge("true, true, true, true", SHIFT), 0),
        (masked_edge("false, true", SHIFT), 0),  # the last entry is that of all later devices
        (masked_edge("false, true, false, true", SHIFT), 1),  # device 2 receives something
        (masked_edge("false, true, true, true", SHIFT, zero="1.0"), 1),
        (masked_edge("false, true, true, true", SHIFT, zero="-0.0"), 1),
        (masked_edge("false, true, true, true", SHIFT, kind="replica_id"), 1),  # the permute is between partitions
    ],
)
def test_masks_of_what_is_received(program: str, selects: int) -> None:
    assert len(ops_of(parse_module(resolved(program)), SelectOp)) == selects


def test_what_no_device_sends_is_not_selected() -> None:
    program = f"""
func.func @main(%a: {tensor(1)}, %b: {tensor(1)}) -> {tensor(1)} {{{by_device("true, true, true, false")}
  %sent = stablehlo.select %mask, %a, %b : tensor<1x2xi1>, {tensor(1)}
  %result = {permuted("%sent", SHIFT, 1)}
  return %result : {tensor(1)}
}}"""
    module = parse_module(resolved(program))
    (permute,) = ops_of(module, CollectivePermuteOp)
    assert not ops_of(module, SelectOp)
    assert permute.operand is main_block(module).args[0]


def test_a_mask_of_the_user_stays_a_select() -> None:
    """A mask of one value is one op; two slices and a concatenation are three."""
    program = f"""
func.func @main(%a: {tensor(ROWS)}) -> {tensor(ROWS)} {{
  %index = stablehlo.iota dim = 0 : tensor<{ROWS}x2xi32>
  %limit = stablehlo.constant dense<2> : tensor<{ROWS}x2xi32>
  %mask = stablehlo.compare LT, %index, %limit : (tensor<{ROWS}x2xi32>, tensor<{ROWS}x2xi32>) -> tensor<{ROWS}x2xi1>
  %zero = stablehlo.constant dense<0.0> : {tensor(ROWS)}
  %result = stablehlo.select %mask, %a, %zero : tensor<{ROWS}x2xi1>, {tensor(ROWS)}
  return %result : {tensor(ROWS)}
}}"""
    assert resolved(program) == print_module(parse_module(program))


def test_a_dim_may_have_no_elements() -> None:
    masked = "stablehlo.select %mask, %a, %b : tensor<0x2xi1>, tensor<0x2xf32>"
    program = f"""
func.func @main(%a: tensor<0x2xf32>, %b: tensor<0x2xf32>) -> tensor<0x2xf32> {{
  %index = stablehlo.iota dim = 0 : tensor<0x2xi32>
  %limit = stablehlo.constant dense<2> : tensor<0x2xi32>
  %mask = stablehlo.compare LT, %index, %limit : (tensor<0x2xi32>, tensor<0x2xi32>) -> tensor<0x2xi1>
  %0 = {masked}
  %result = {masked.replace("%a", "%0")}
  return %result : tensor<0x2xf32>
}}"""
    assert_equal_on_devices(program, resolved(program))


def test_positions_that_wrap_around_are_not_known() -> None:
    program = f"""
func.func @main(%a: {tensor(ROWS)}, %b: {tensor(ROWS)}) -> {tensor(1)} {{
  %index = stablehlo.iota dim = 0 : tensor<{ROWS}x2xi8>
  %offset = stablehlo.constant dense<125> : tensor<{ROWS}x2xi8>
  %position = stablehlo.add %index, %offset : tensor<{ROWS}x2xi8>
  %limit = stablehlo.constant dense<0> : tensor<{ROWS}x2xi8>
  %mask = stablehlo.compare LT, %position, %limit : (tensor<{ROWS}x2xi8>, tensor<{ROWS}x2xi8>) -> tensor<{ROWS}x2xi1>
  %both = stablehlo.select %mask, %a, %b : tensor<{ROWS}x2xi1>, {tensor(ROWS)}
  %result = stablehlo.slice %both [5:6, 0:2] : ({tensor(ROWS)}) -> {tensor(1)}
  return %result : {tensor(1)}
}}"""
    after = resolved(program)
    assert_equal_on_devices(program, after)
    assert ops_of(parse_module(after), SelectOp)


@pytest.mark.parametrize("depth", [10, 3000])
def test_long_chains_end(depth: int) -> None:
    """A chain that is longer than what is followed stays as it is, and raises no error."""
    first = f"  %0 = stablehlo.slice %a [0:1, 0:2] : ({tensor(ROWS)}) -> {tensor(1)}"
    types = f"tensor<1x2xi1>, {tensor(1)}"
    rest = [f"  %{index} = stablehlo.select %mask, %{index - 1}, %b : {types}" for index in range(1, depth)]
    body = "\n".join([first, *rest])
    program = f"""
func.func @main(%a: {tensor(ROWS)}, %b: {tensor(1)}) -> {tensor(1)} {{{by_device("true, false")}
{body}
  return %{depth - 1} : {tensor(1)}
}}"""
    after = parse_module(resolved(program))
    assert len(ops_of(after, SelectOp)) <= depth
    assert len(ops_of(after, SliceOp)) == 1
    assert len(pre_order(after)) <= len(pre_order(parse_module(program)))
