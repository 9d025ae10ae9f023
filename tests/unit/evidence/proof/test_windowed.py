"""Windows of shards: whatever is proved of random windows of devices is run and must be right, and so must faults."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from support.execution.one_op import Axes, is_proved, is_right, placement, program, small_array
from support.execution.proved_faults import check_proof_and_faults
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


@pytest.mark.parametrize("count", slow_except([75], [75, 300]))
def test_what_is_proved_of_parts_of_a_kernel_is_right(count: int) -> None:
    choice, proved, tried = random.Random(5), 0, 0
    while tried < count:
        size = choice.choice([4, 8])
        whole = Windows("convolution", choice.choice([8, 12, 16]), size, 1, 1, choice.choice([1, 1, 2]), 0, 0)
        whole = replace(
            whole, stride=choice.choice([1, 2]), step=choice.choice([1, 2]), low=choice.randint(-1, 3), high=3
        )
        part = size // DEVICES
        low = choice.choice([0, 0, 1, whole.low])
        kernels = [device * part for device in range(DEVICES)]
        starts = [(start * whole.step - whole.low + low) // whole.gap for start in kernels]
        if choice.random() < 0.3:
            starts = [each + choice.randint(-1, 1) for each in starts]
        if choice.random() < 0.1:
            kernels = kernels[::-1]
        own = replace(whole, elements=choice.randint(1, 12), size=part, low=low, high=choice.choice([0, 0, 1, 2]))
        is_in = all(-EDGE <= each <= whole.elements + EDGE - own.elements for each in starts)
        if not 0 < own.count == whole.count or not is_in:
            continue
        tried += 1
        body = own_part("%arg1", whole.shapes[1], 0, kernels, part, "kernel")
        local = local_program(whole, own, starts, 0, 0)
        local = local.replace("%own, %arg1", "%own, %kernel")
        local = local.replace("%r = ", f"{body}%r = ")
        inputs = [small_array(shape, seed) for seed, shape in enumerate(whole.shapes)]
        boundary = boundary_of(whole, ((),) * len(whole.result), ("x",))
        text = program(whole.text("%arg0"), *types_of(whole))
        if is_proved(local, text, boundary):
            proved += 1
            assert is_right(local, text, boundary, inputs), (local, text)
    assert count // 15 < proved < count * 14 // 15


def tiles_text(elements: int, windows: int, size: int, stride: int, value: str, source: str) -> str:
    """Return ops that add the elements of a source to the largest ones of windows of a value."""
    whole, part = text_of((ROWS, elements)), text_of((ROWS, windows))
    return f"""%i = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.select_and_scatter"({value}, {source}, %i) <{{window_dimensions = array<i64: 1, {size}>,
    window_strides = array<i64: 1, {stride}>}}> ({{
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.compare GE, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }}, {{
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }}) : ({whole}, {part}, tensor<i32>) -> {whole}"""


@pytest.mark.parametrize("most", slow_except([45], [45, 150]))
def test_what_is_proved_of_tiles_is_right(most: int) -> None:
    choice, proved, tried = random.Random(7), 0, 0
    while tried < most:
        size, stride, shard = choice.choice([1, 2, 3]), choice.choice([1, 2, 3]), choice.choice([1, 2, 3])
        count, parts = shard * DEVICES, shard * stride
        elements = count * stride + choice.choice([0, 0, 1])
        if (elements - size) // stride + 1 != count or (parts - size) // stride + 1 != shard or parts < size:
            continue
        places = list(range(DEVICES))
        starts, firsts = [each * parts for each in places], [each * shard for each in places]
        match choice.randrange(6):
            case 0:
                firsts = firsts[::-1]
            case 1:
                starts, firsts = starts[::-1], firsts[::-1]
            case 2:
                starts = [max(0, each - 1) for each in starts]
            case _:
                pass
        tried += 1
        shapes = [(ROWS, elements), (ROWS, count)]
        body = own_part("%arg0", shapes[0], 1, starts, parts, "own")
        body += own_part("%arg1", shapes[1], 1, firsts, shard, "given")
        body += tiles_text(parts, shard, size, stride, "%own", "%given")
        operands = tuple(placement(shape, ((), ()), MESH) for shape in shapes)
        result = (ROWS, parts * DEVICES)
        if result != shapes[0]:
            continue
        boundary = ProgramPlacement(MESH, operands, (placement(result, ((), ("x",)), MESH),))
        local = program(NUMBER + body, list(map(text_of, shapes)), text_of((ROWS, parts)))
        text = program(
            tiles_text(elements, count, size, stride, "%arg0", "%arg1"), list(map(text_of, shapes)), text_of(result)
        )
        if is_proved(local, text, boundary):
            proved += 1
            assert is_right(local, text, boundary, [small_array(each, n) for n, each in enumerate(shapes)]), local
    assert most * 2 // 15 < proved < most * 4 // 5


IMAGE, KERNEL, BOTH = "tensor<2x8x12x3xf32>", "tensor<3x3x3x3xf32>", '[{}, {"x"}, {"y"}, {}]'
DIMS = "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
GROUPS = "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
ADD = SUM.replace("i32", "f32")
ZERO = "%c = stablehlo.constant dense<0.0> : tensor<f32>"
PADDED = (
    f"%0 = stablehlo.pad %a, %c, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : ({IMAGE}, "
    "tensor<f32>) -> tensor<2x10x14x3xf32>"
)
GAPS = (
    f"%0 = stablehlo.pad %a, %c, low = [0, 2, 0, 0], high = [0, 1, 0, 0], interior = [0, 1, 0, 0] : ({IMAGE}, "
    "tensor<f32>) -> tensor<2x18x12x3xf32>"
)
BODIES = {
    "a convolution of rows and columns": f"""%r = stablehlo.convolution(%a, %k) {DIMS},
    window = {{pad = [[1, 1], [1, 1]]}} {GROUPS} : ({IMAGE}, {KERNEL}) -> {IMAGE}""",
    "every other position": f"""%r = stablehlo.convolution(%a, %k) {DIMS},
    window = {{stride = [2, 1], pad = [[0, 1], [1, 1]]}} {GROUPS} : ({IMAGE}, {KERNEL}) -> tensor<2x4x12x3xf32>""",
    "a padded image": f"""{ZERO}\n  {PADDED}
  %r = stablehlo.convolution(%0, %k) {DIMS}, window = {{}} {GROUPS} : (tensor<2x10x14x3xf32>, {KERNEL}) -> {IMAGE}""",
    "the largest elements": f"""%c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %c) <{{window_dimensions = array<i64: 1, 3, 3, 1>,
    padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>}}> {ADD.replace("add", "maximum")}
    : ({IMAGE}, tensor<f32>) -> {IMAGE}""",
    "sums with gaps": f"""{ZERO}\n  {GAPS}
  %r = "stablehlo.reduce_window"(%0, %c) <{{window_dimensions = array<i64: 1, 3, 1, 1>}}> {ADD}
    : (tensor<2x18x12x3xf32>, tensor<f32>) -> tensor<2x16x12x3xf32>""",
    "sums from another value": f"""%c = stablehlo.constant dense<2.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %c) <{{window_dimensions = array<i64: 1, 2, 1, 1>,
    padding = dense<[[0, 0], [1, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>}}> {ADD} : ({IMAGE}, tensor<f32>) -> {IMAGE}""",
    "the gradient of largest elements": f"""%y = stablehlo.constant dense<1.5> : tensor<2x4x12x3xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%a, %y, %c) <{{window_dimensions = array<i64: 1, 2, 1, 1>,
    window_strides = array<i64: 1, 2, 1, 1>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }}, {ADD[1:]} : ({IMAGE}, tensor<2x4x12x3xf32>, tensor<f32>) -> {IMAGE}""",
    "one channel": f"""%0 = stablehlo.slice %a [0:2, 0:8, 0:12, 1:2] : ({IMAGE}) -> tensor<2x8x12x1xf32>
  %1 = stablehlo.slice %k [0:3, 0:3, 0:1, 0:3] : ({KERNEL}) -> tensor<3x3x1x3xf32>
  %r = stablehlo.convolution(%0, %1) {DIMS}, window = {{pad = [[1, 1], [1, 1]]}} {GROUPS}
    : (tensor<2x8x12x1xf32>, tensor<3x3x1x3xf32>) -> {IMAGE}""",
    "an image that is repeated along rows and columns": f"""%0 = stablehlo.negate %a : {IMAGE}
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 3, 4] : ({IMAGE}) -> tensor<2x8x2x12x3xf32>
  %2 = stablehlo.reshape %1 : (tensor<2x8x2x12x3xf32>) -> tensor<2x16x12x3xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 4] : (tensor<2x16x12x3xf32>) -> tensor<2x16x12x2x3xf32>
  %4 = stablehlo.reshape %3 : (tensor<2x16x12x2x3xf32>) -> tensor<2x16x24x3xf32>
  %5 = stablehlo.sine %4 : tensor<2x16x24x3xf32>
  %r = stablehlo.convolution(%5, %k) {DIMS}, window = {{stride = [2, 2], pad = [[0, 1], [1, 0]]}} {GROUPS}
    : (tensor<2x16x24x3xf32>, {KERNEL}) -> {IMAGE}""",
    "the gradient of a kernel for each feature": f"""%g = stablehlo.tanh %a : {IMAGE}
  %r = stablehlo.convolution(%a, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
    window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 3 : i64, feature_group_count = 1 : i64}}
    : ({IMAGE}, {IMAGE}) -> tensor<3x3x1x3xf32>""",
    "the gradient of a kernel": f"""%g = stablehlo.tanh %a : {IMAGE}
  %r = stablehlo.convolution(%a, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
    window = {{pad = [[1, 1], [1, 1]]}} {GROUPS} : ({IMAGE}, {IMAGE}) -> {KERNEL}""",
}


CHANNELS, OF_CHANNELS = "tensor<2x16x32xf32>", '[{"y"}, {}, {"x"}]'
BY_CHANNEL = f"""
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: {CHANNELS} {{sdy.sharding = #sdy.sharding<@m, {OF_CHANNELS}>}},
    %k: tensor<4x1x32xf32> {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{}}, {{"x"}}]>}})
    -> ({CHANNELS} {{sdy.sharding = #sdy.sharding<@m, {OF_CHANNELS}>}}, tensor<4x1x32xf32>) {{
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{pad = [[3, 0]]}}
    {{batch_group_count = 1 : i64, feature_group_count = 32 : i64}} : ({CHANNELS}, tensor<4x1x32xf32>) -> {CHANNELS}
  %1 = stablehlo.tanh %0 : {CHANNELS}
  %2 = stablehlo.convolution(%a, %1) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {{pad = [[3, 0]]}}
    {{batch_group_count = 32 : i64, feature_group_count = 1 : i64}} : ({CHANNELS}, {CHANNELS}) -> tensor<4x1x32xf32>
  return %1, %2 : {CHANNELS}, tensor<4x1x32xf32>
}}"""


def test_sharded_channels_that_are_convolved_alone_are_proved() -> None:
    """As in Mamba, and its gradient."""
    check_proof_and_faults(BY_CHANNEL, faults=40, seeds=2)


@pytest.mark.parametrize("name", BODIES)
def test_windows_of_images_are_proved_and_faults_are_not(name: str) -> None:
    body = BODIES[name]
    result = body.rsplit("-> ", 1)[1]
    check_proof_and_faults(
        f"""
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: {IMAGE} {{sdy.sharding = #sdy.sharding<@m, {BOTH}>}}, %k: {KERNEL})
    -> ({result}{"" if result.startswith("tensor<3x3") else f" {{sdy.sharding = #sdy.sharding<@m, {BOTH}>}}"}) {{
  {body}
  return %r : {result}
}}""",
        faults=40,
        seeds=2,
    )
