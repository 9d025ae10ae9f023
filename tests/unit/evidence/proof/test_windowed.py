"""Windows of shards: whatever is proved of random windows of devices is run and must be right, and so must faults."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from support.execution.one_op import Axes, is_proved, is_right, placement, program, small_array
from support.execution.small_ops import text_of
from support.slow_cases import slow_except

from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh, MeshAxis

DEVICES = 4
MESH = Mesh((MeshAxis("x", DEVICES),))
EDGE = 6  # elements that a device may read before the first and after the last one
ROWS = 2  # of the input: the batch
FEATURES = 2
SUM = """({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  })"""


@dataclass(frozen=True)
class Windows:
    """The windows of an op along a dim of `elements` elements, or of those from `starts` on, on each device."""

    kind: str
    elements: int
    size: int
    stride: int
    step: int
    gap: int
    low: int
    high: int

    @property
    def count(self) -> int:
        span, padded = (self.size - 1) * self.step + 1, (self.elements - 1) * self.gap + 1 + self.low + self.high
        return (padded - span) // self.stride + 1 if padded >= span else 0

    @property
    def result(self) -> tuple[int, ...]:
        return (ROWS, self.count) if self.kind == "pool" else (ROWS, self.count, FEATURES)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the operands."""
        if self.kind == "pool":
            return [(ROWS, self.elements)]
        return [(ROWS, self.elements, FEATURES), (self.size, FEATURES, FEATURES)]

    def text(self, value: str, kernel: str = "%arg1", init: int = 0) -> str:
        """Return the op on a value."""
        types = ", ".join(map(text_of, self.shapes))
        if self.kind == "pool":
            return f"""%i = stablehlo.constant dense<{init}> : tensor<i32>
  %r = "stablehlo.reduce_window"({value}, %i) <{{window_dimensions = array<i64: 1, {self.size}>,
    window_strides = array<i64: 1, {self.stride}>, window_dilations = array<i64: 1, {self.step}>,
    base_dilations = array<i64: 1, {self.gap}>, padding = dense<[[0, 0], [{self.low}, {self.high}]]> : tensor<2x2xi64>
  }}> {SUM} : ({types}, tensor<i32>) -> {text_of(self.result)}"""
        window = f"stride = [{self.stride}], pad = [[{self.low}, {self.high}]]"
        window += f", lhs_dilate = [{self.gap}], rhs_dilate = [{self.step}]"
        return f"""%r = stablehlo.convolution({value}, {kernel}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {{{window}}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : ({types}) -> {text_of(self.result)}"""


def own_part(value: str, shape: tuple[int, ...], dim: int, starts: list[int], count: int, name: str) -> str:
    """Return ops for the elements along a dim from the start of each device on."""
    part = tuple(count if each == dim else size for each, size in enumerate(shape))
    operands = ", ".join(f"%{name}start" if each == dim else "%zero" for each in range(len(shape)))
    types = ", ".join([text_of(shape), *["tensor<i64>"] * len(shape)])
    return f"""%{name}table = stablehlo.constant dense<{starts}> : tensor<{DEVICES}xi64>
  %{name}u = stablehlo.dynamic_slice %{name}table, %number, sizes = [1]
    : (tensor<{DEVICES}xi64>, tensor<i64>) -> tensor<1xi64>
  %{name}start = stablehlo.reshape %{name}u : (tensor<1xi64>) -> tensor<i64>
  %{name} = stablehlo.dynamic_slice {value}, {operands}, sizes = {list(part)} : ({types}) -> {text_of(part)}
  """


NUMBER = """%id = stablehlo.partition_id : tensor<ui32>
  %number = stablehlo.convert %id : (tensor<ui32>) -> tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  """


def local_program(whole: Windows, own: Windows, starts: list[int], filler: int, init: int) -> str:
    """Return a program whose devices have the elements from their start on, of the padded input."""
    shape = whole.shapes[0]
    wide = with_size(shape, shape[1] + 2 * EDGE)
    zeros, edges = [0] * len(shape), [EDGE if dim == 1 else 0 for dim in range(len(shape))]
    body = f"""{NUMBER}%filler = stablehlo.constant dense<{filler}> : tensor<i32>
  %wide = stablehlo.pad %arg0, %filler, low = {edges}, high = {edges}, interior = {zeros}
    : ({text_of(shape)}, tensor<i32>) -> {text_of(wide)}
  {own_part("%wide", wide, 1, [each + EDGE for each in starts], own.elements, "own")}{own.text("%own", init=init)}"""
    return program(body, list(map(text_of, whole.shapes)), text_of(own.result))


def with_size(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return (shape[0], size, *shape[2:])


def random_windows(choice: random.Random, kind: str) -> Windows:
    """Return windows whose number the devices divide."""
    while True:
        size, stride, step, gap = (choice.choice(each) for each in ((1, 2, 3, 4), (1, 1, 2), (1, 1, 2), (1, 1, 2)))
        low, high = choice.randint(-1, 4), choice.randint(-1, 4)
        found = Windows(kind, choice.choice([4, 8, 12, 16]), size, stride, step, gap, low, high)
        if found.count and found.count % DEVICES == 0:
            return found


def boundary_of(windows: Windows, axes: Axes, unreduced: tuple[str, ...] = ()) -> ProgramPlacement:
    operands = tuple(placement(shape, ((),) * len(shape), MESH) for shape in windows.shapes)
    return ProgramPlacement(MESH, operands, (placement(windows.result, axes, MESH, unreduced),))


@pytest.mark.parametrize("count", slow_except([150], [150, 600]))
@pytest.mark.parametrize("kind", ["pool", "convolution"])
def test_what_is_proved_of_windows_is_right(kind: str, count: int) -> None:
    choice, proved, tried = random.Random(3), 0, 0
    while tried < count:
        whole = random_windows(choice, kind)
        results = whole.count // DEVICES
        low = choice.choice([0, 0, whole.low, choice.randint(-1, 2)])
        starts = [(device * results * whole.stride - whole.low + low) // whole.gap for device in range(DEVICES)]
        own = replace(whole, elements=choice.randint(1, 8), low=low, high=choice.choice([0, 0, 1, 2]))
        filler = init = 0
        match choice.randrange(12):
            case 0 | 1:
                starts = [each + 1 for each in starts]
            case 2:
                starts = [each + choice.randint(-1, 1) for each in starts]
            case 3:
                own = replace(own, step=3 - own.step)
            case 4:
                filler = 5
            case 5:
                init = filler = 5 if kind == "pool" else 0
            case 6:
                own = replace(own, stride=3 - own.stride)
            case _:
                pass
        is_in = all(-EDGE <= each <= whole.elements + EDGE - own.elements for each in starts)
        if own.count != results or not is_in:
            continue
        tried += 1
        local = local_program(whole, own, starts, filler, init)
        inputs = [small_array(shape, seed) for seed, shape in enumerate(whole.shapes)]
        boundary = boundary_of(whole, tuple(("x",) if dim == 1 else () for dim in range(len(whole.result))))
        text = program(whole.text("%arg0", init=init if filler == init else 0), *types_of(whole))
        if is_proved(local, text, boundary):
            proved += 1
            assert is_right(local, text, boundary, inputs), (local, text)
    assert count // 10 < proved < count * 5 // 6


def types_of(windows: Windows) -> tuple[list[str], str]:
    return list(map(text_of, windows.shapes)), text_of(windows.result)
