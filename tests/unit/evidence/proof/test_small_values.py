"""The lemma of small values by brute force: codes move like numbers, and what is proved of updates is right."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.execution.one_op import MESHES, is_proved, is_right, placement
from support.execution.proved_faults import check_proof_and_faults
from support.execution.run_text import run_op, type_of
from support.random_ops.draft import region

import sdy
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import parse_module
from sdy.evidence.proof.lemmas import LEMMAS
from sdy.evidence.proof.relations import Elements
from sdy.evidence.proof.rings import as_integers, of_integer
from sdy.evidence.proof.small_values.choices import Choices, Interval
from sdy.evidence.proof.small_values.codes import ElementTable
from sdy.evidence.proof.small_values.follower import evaluated
from sdy.evidence.proof.terms import TermTable
from sdy.evidence.proof.walk import Walk
from sdy.interpreter.arrays.element_types import Array
from sdy.model.devices.placement import ProgramPlacement

VALUE = np.arange(24, dtype=np.int32).reshape(4, 6)
OTHER = np.arange(24, 36, dtype=np.int32).reshape(4, 3)
FILLING = np.array(99, np.int32)
GATHER = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
BATCHED = "operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 0"
MOVED: list[tuple[str, str, dict[str, Array]]] = [
    ("stablehlo.slice %x [1:4:2, 0:6:3] : (tensor<4x6xi32>) -> tensor<2x2xi32>", "tensor<2x2xi32>", {"x": VALUE}),
    ("stablehlo.reverse %x, dims = [1] : tensor<4x6xi32>", "tensor<4x6xi32>", {"x": VALUE}),
    ("stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6xi32>) -> tensor<6x4xi32>", "tensor<6x4xi32>", {"x": VALUE}),
    ("stablehlo.reshape %x : (tensor<4x6xi32>) -> tensor<2x12xi32>", "tensor<2x12xi32>", {"x": VALUE}),
    (
        "stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<4x6xi32>) -> tensor<6x2x4xi32>",
        "tensor<6x2x4xi32>",
        {"x": VALUE},
    ),
    (
        "stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x6xi32>, tensor<4x3xi32>) -> tensor<4x9xi32>",
        "tensor<4x9xi32>",
        {"x": VALUE, "y": OTHER},
    ),
    (
        "stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 4] : (tensor<4x6xi32>, tensor<i32>, tensor<i32>)"
        " -> tensor<2x4xi32>",
        "tensor<2x4xi32>",
        {"x": VALUE, "i": np.array(9, np.int32), "j": np.array(1, np.int32)},
    ),
    (
        f'"stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<{GATHER}>, slice_sizes = array<i64: 1,'
        " 5>}> : (tensor<4x6xi32>, tensor<3x1xi32>) -> tensor<3x5xi32>",
        "tensor<3x5xi32>",
        {"x": VALUE, "i": np.array([[2], [-1], [7]], np.int32)},
    ),
    (
        f'"stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], {BATCHED}>,'
        " slice_sizes = array<i64: 1, 2>}> : (tensor<4x6xi32>, tensor<1x4xi32>) -> tensor<4x2xi32>",
        "tensor<4x2xi32>",
        {"x": VALUE, "i": np.array([[2, 0, 5, 1]], np.int32)},
    ),
]
PADDINGS = [(low, high, interior) for low, high, interior in product((-2, 0, 1), (-1, 0, 2), (0, 1, 2))]


def check_op(line: str, result: str, operands: dict[str, Array]) -> None:
    """Check that an op on codes of integers gives the codes of the integers that it gives in a run."""
    arguments = ", ".join(f"%{name}: {type_of(each)}" for name, each in operands.items())
    module = parse_module(f"func.func @main({arguments}) -> {result} {{\n  %r = {line}\n  return %r : {result}\n}}")
    op = next(each for each in pre_order(module) if each.results)
    terms = TermTable()
    table, code = ElementTable(terms, 1), np.vectorize(of_integer, otypes=[np.int64])
    values = [Elements("i32", code(each)[None]) for each in operands.values()]
    (found,) = evaluated(table, Walk(1, terms, LEMMAS), op, values)
    numbers, are_known = as_integers(found.codes)
    assert are_known.all()
    assert numbers[0].tolist() == run_op(line, result, **operands).tolist()


@pytest.mark.parametrize(("line", "result", "operands"), MOVED)
def test_codes_move_like_numbers(line: str, result: str, operands: dict[str, Array]) -> None:
    check_op(line, result, operands)


@pytest.mark.parametrize(("low", "high", "interior"), PADDINGS)
def test_codes_are_padded_like_numbers(low: int, high: int, interior: int) -> None:
    size = max(0, 6 + low + high + 5 * interior)
    line = (
        f"stablehlo.pad %x, %f, low = [0, {low}], high = [1, {high}], interior = [0, {interior}]"
        f" : (tensor<4x6xi32>, tensor<i32>) -> tensor<5x{size}xi32>"
    )
    check_op(line, f"tensor<5x{size}xi32>", {"x": VALUE, "f": FILLING})


@pytest.mark.parametrize("starts", [(0, 0), (2, 1), (9, -3)])
def test_codes_are_updated_like_numbers(starts: tuple[int, int]) -> None:
    line = (
        "stablehlo.dynamic_update_slice %x, %u, %i, %j"
        " : (tensor<4x6xi32>, tensor<2x3xi32>, tensor<i32>, tensor<i32>) -> tensor<4x6xi32>"
    )
    first, second = (np.array(each, np.int32) for each in starts)
    check_op(line, "tensor<4x6xi32>", {"x": VALUE, "u": OTHER[:2], "i": first, "j": second})


def numbers(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).integers(-9, 10, shape).astype(np.int32)


SCATTERS = {
    "rows": (
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],"
        " index_vector_dim = 1",
        np.array([[2], [0], [2], [5], [-1]], np.int32),
        (5, 6),
    ),
    "blocks": (
        "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1",
        np.array([[2, 1], [0, 0], [5, 1], [3, -1]], np.int32),
        (4, 3, 2),
    ),
    "batches": (
        "update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0],"
        " scatter_dims_to_operand_dims = [1], index_vector_dim = 1",
        np.array([[2], [0], [5], [3]], np.int32),
        (4, 2),
    ),
}


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("body", ["stablehlo.add %a, %b", "stablehlo.maximum %b, %a", "stablehlo.add %b, %z"])
def test_codes_are_scattered_like_numbers(name: str, body: str) -> None:
    attributes, indices, shape = SCATTERS[name]
    combine = region("i32", body.replace("%z", "%b")) if "%z" not in body else REPLACE
    updates = numbers(*shape)
    types = f"(tensor<4x6xi32>, {type_of(indices)}, {type_of(updates)}) -> tensor<4x6xi32>"
    line = (
        f'"stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{attributes}>}}> '
        f"{combine} : {types}"
    )
    check_op(line, "tensor<4x6xi32>", {"x": VALUE, "i": indices, "u": updates})


REPLACE = "({\n    ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n      stablehlo.return %b : tensor<i32>\n  })"


@pytest.mark.parametrize(
    "dims", [("[]", "[]", "[1]", "[0]"), ("[0]", "[1]", "[2, 1]", "[0, 2]"), ("[1]", "[2]", "[]", "[]")]
)
def test_codes_are_contracted_like_numbers(dims: tuple[str, str, str, str]) -> None:
    sizes = dict(zip("bckl", (2, 3, 4, 5), strict=True))
    batching, contracting = f"batching_dims = {dims[0]} x {dims[1]}", f"contracting_dims = {dims[2]} x {dims[3]}"
    shapes = {
        "[]": ((2, 3), (3, 4)),
        "[0]": ((2, sizes["k"], sizes["c"]), (sizes["c"], 2, sizes["k"], sizes["l"])),
        "[1]": ((3, 2, 4), (5, 3, 2)),
    }
    left, right = (numbers(*each) for each in shapes[dims[0]])
    pairs = [list(map(int, each.strip("[]").replace(",", "").split())) for each in dims]
    free = [
        [size for dim, size in enumerate(each.shape) if dim not in pairs[side] + pairs[side + 2]]
        for side, each in enumerate((left, right))
    ]
    result = "x".join(map(str, (*(left.shape[each] for each in pairs[0]), *free[0], *free[1], "i32")))
    line = (
        f"stablehlo.dot_general %x, %y, {batching}, {contracting}"
        f" : ({type_of(left)}, {type_of(right)}) -> tensor<{result}>"
    )
    check_op(line, f"tensor<{result}>", {"x": left, "y": right})


@pytest.mark.parametrize(
    "window", ["", "stride = [2]", "pad = [[1, 2]]", "lhs_dilate = [2]", "rhs_dilate = [2]", "reverse = [true]"]
)
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)])
def test_codes_are_convolved_like_numbers(window: str, groups: tuple[int, int]) -> None:
    features, batches = groups
    positions = {"stride": 3, "pad": 8, "lhs": 11, "rhs": 4}.get(window.partition("_")[0].partition(" ")[0], 6)
    positions = 5 if window in ("", "reverse = [true]") else positions
    left, right = numbers(4, 6, 4), numbers(2, 4 // features, 6)
    result = f"tensor<{4 // batches}x{positions if 'lhs' not in window else 10}x6xi32>"
    attributes = f"{{batch_group_count = {batches} : i64, feature_group_count = {features} : i64}}"
    line = (
        f"stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{{window}}}"
        f" {attributes} : ({type_of(left)}, {type_of(right)}) -> {result}"
    )
    check_op(line, result, {"x": left, "y": right})


@pytest.mark.parametrize("kind", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize(
    "window", ["", "window_strides = array<i64: 1, 2>", "padding = dense<[[0, 0], [2, 1]]> : tensor<2x2xi64>"]
)
def test_codes_of_windows_are_reduced_like_numbers(kind: str, window: str) -> None:
    columns = 2 if "strides" in window else 7 if "padding" in window else 4
    attributes = ", ".join(each for each in ("window_dimensions = array<i64: 2, 3>", window) if each)
    result = f"tensor<3x{columns}xi32>"
    body = region("i32", f"stablehlo.{kind} %a, %b")
    line = f'"stablehlo.reduce_window"(%x, %f) <{{{attributes}}}> {body} : (tensor<4x6xi32>, tensor<i32>) -> {result}'
    check_op(line, result, {"x": numbers(4, 6), "f": np.array(2, np.int32)})


@pytest.mark.parametrize("kind", ["add", "multiply", "maximum", "minimum"])
def test_codes_are_reduced_like_numbers(kind: str) -> None:
    line = (
        f"stablehlo.reduce(%x init: %f) applies stablehlo.{kind} across dimensions = [0]"
        " : (tensor<4x6xi32>, tensor<i32>) -> tensor<6xi32>"
    )
    check_op(line, "tensor<6xi32>", {"x": numbers(4, 6), "f": np.array(2, np.int32)})


def test_ranges_of_long_sums_are_found_at_once() -> None:
    table = ElementTable(TermTable(), 1)
    choices = table.choices
    code, first = table.variable("integer"), table.variable("clamped")
    choices.clamp(first, code, (0, 9), "i32")
    code = first
    for number in range(2000):
        before, code = code, table.variable("sum", number)
        choices.clamp(code, before, (None, None), "i32", 1)
    assert choices.range_of(code) == (2000, 2009)


SIZE = 8  # of a value, in shards of 4
PARTS = {"dynamic_update_slice": 2, "scatter": 1}  # sizes of an update
TABLE = """%t = stablehlo.constant dense<[0, 4]> : tensor<2xi32>
  %p = stablehlo.partition_id : tensor<ui32>
  %q = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
  %o = stablehlo.reshape %q : (tensor<1xi32>) -> tensor<i32>"""


def margins(op: str, margin: int, shift: int, last: int) -> str:
    """Return a program that updates a shard with margins, at a start that is clamped before it is shifted."""
    part = PARTS[op]
    size = SIZE // 2 + 2 * margin
    types = f"(tensor<{size}xi32>, tensor<{part}xi32>, tensor<i32>) -> tensor<{size}xi32>"
    update = f"stablehlo.dynamic_update_slice %padded, %u, %start : {types}"
    if op == "scatter":
        types = f"(tensor<{size}xi32>, tensor<i32>, tensor<{part}xi32>) -> tensor<{size}xi32>"
        update = scatter("%padded, %start, %u", types)
    clamped = "%n = stablehlo.clamp %zero, %i, %last : tensor<i32>" if op != "scatter" else ""
    return f"""func.func @main(%x: tensor<{SIZE // 2}xi32>, %u: tensor<{part}xi32>, %i: tensor<i32>) -> tensor<4xi32> {{
  {TABLE}
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<{last}> : tensor<i32>
  %shift = stablehlo.constant dense<{shift}> : tensor<i32>
  %padded = stablehlo.pad %x, %zero, low = [{margin}], high = [{margin}], interior = [0]
      : (tensor<4xi32>, tensor<i32>) -> tensor<{size}xi32>
  {clamped}
  %own = stablehlo.subtract {"%i" if op == "scatter" else "%n"}, %o : tensor<i32>
  %start = stablehlo.add %own, %shift : tensor<i32>
  %new = {update}
  %r = stablehlo.slice %new [{margin}:{margin + 4}] : (tensor<{size}xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}}"""


def scatter(operands: str, types: str) -> str:
    numbers = "update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 0"
    attributes = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>"
    body = region("i32", "stablehlo.add %a, %b")
    return f'"stablehlo.scatter"({operands}) <{{{attributes}}}> {body} : {types}'


def whole_update(op: str) -> str:
    part, value = PARTS[op], f"tensor<{SIZE}xi32>"
    update = f"stablehlo.dynamic_update_slice %x, %u, %i : ({value}, tensor<{part}xi32>, tensor<i32>) -> {value}"
    if op == "scatter":
        update = scatter("%x, %i, %u", f"({value}, tensor<i32>, tensor<{part}xi32>) -> {value}")
    arguments = f"%x: {value}, %u: tensor<{part}xi32>, %i: tensor<i32>"
    return f"func.func @main({arguments}) -> {value} {{\n  %r = {update}\n  return %r : {value}\n}}"


@pytest.mark.parametrize("op", ["dynamic_update_slice", "scatter"])
def test_what_is_proved_of_an_update_in_margins_is_right(op: str) -> None:
    """Try margins, shifts and bounds, most of them wrong; a program that is proved is run with every start."""
    mesh = MESHES[0]
    places = placement((SIZE,), (("x",),), mesh), placement((PARTS[op],), ((),), mesh), placement((), (), mesh)
    boundary = ProgramPlacement(mesh, places, places[:1])
    whole = whole_update(op)
    starts = [np.array(start, np.int32) for start in range(-6, SIZE + 6)]
    value, part = np.arange(10, 10 + SIZE, dtype=np.int32), np.array([1, 2], np.int32)[: PARTS[op]]
    proved = 0
    for margin, shift, last in product(range(4), range(-1, 4), range(4, 8) if op != "scatter" else (0,)):
        local = margins(op, margin, shift, last)
        if is_proved(local, whole, boundary):
            proved += 1
            for start in starts:
                assert is_right(local, whole, boundary, [value, part, start]), (margin, shift, last, start)
    assert proved


MASKED = """func.func @main(%x: tensor<4xi32>, %i: tensor<1xi32>) -> tensor<i32> {{
  {table}
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<{last}> : tensor<i32>
  %shift = stablehlo.constant dense<{shift}> : tensor<i32>
  %low = stablehlo.constant dense<{low}> : tensor<i32>
  %high = stablehlo.constant dense<{high}> : tensor<i32>
  %n = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>
  %c = stablehlo.clamp %zero, %n, %last : tensor<i32>
  %d = stablehlo.subtract %c, %o : tensor<i32>
  %own = stablehlo.add %d, %shift : tensor<i32>
  %part = stablehlo.dynamic_slice %x, %own, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
  %element = stablehlo.reshape %part : (tensor<1xi32>) -> tensor<i32>
  %above = stablehlo.compare GE, %own, %low : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %below = stablehlo.compare LE, %own, %high : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %mask = stablehlo.and %above, %below : tensor<i1>
  %kept = stablehlo.select %mask, %element, %zero : tensor<i1>, tensor<i32>
  %r = "stablehlo.all_reduce"(%kept) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}}> {body} : (tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}}"""
TAKEN = """func.func @main(%x: tensor<8xi32>, %i: tensor<1xi32>) -> tensor<i32> {
  %n = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>
  %part = stablehlo.dynamic_slice %x, %n, sizes = [1] : (tensor<8xi32>, tensor<i32>) -> tensor<1xi32>
  %r = stablehlo.reshape %part : (tensor<1xi32>) -> tensor<i32>
  return %r : tensor<i32>
}"""


def test_what_is_proved_of_masked_elements_is_right() -> None:
    """Try bounds of clamps and masks, most of them wrong; a program that is proved is run with every start."""
    mesh = MESHES[0]
    places = placement((SIZE,), (("x",),), mesh), placement((1,), ((),), mesh)
    boundary = ProgramPlacement(mesh, places, (placement((), (), mesh),))
    value = np.arange(10, 10 + SIZE, dtype=np.int32)
    body, proved = region("i32", "stablehlo.add %a, %b"), 0
    for last, shift, low, high in product((6, 7, 8), (-1, 0, 1), (-1, 0, 1), (2, 3, 4)):
        local = MASKED.format(table=TABLE, last=last, shift=shift, low=low, high=high, body=body)
        if is_proved(local, TAKEN, boundary):
            proved += 1
            for start in range(-3, SIZE + 3):
                inputs = [value, np.array([start], np.int32)]
                assert is_right(local, TAKEN, boundary, inputs), (last, shift, low, high, start)
    assert proved


PROGRAMS = {
    "roll": """
  %0 = stablehlo.slice %x [5:8, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.slice %x [0:5, 0:4] : (tensor<8x4xf32>) -> tensor<5x4xf32>
  %r = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>""",
    "an update of rows": """
  %u = stablehlo.slice %w [0:3, 0:4] : (tensor<4x4xf32>) -> tensor<3x4xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i, %z
      : (tensor<8x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>""",
    "known rows": """
  %n = stablehlo.constant dense<[[7], [0], [3]]> : tensor<3x1xi32>
  %0 = "stablehlo.gather"(%x, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims =
      [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %r = stablehlo.concatenate %0, %x, dim = 0 : (tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<11x4xf32>""",
    "a convolution in groups": """
  %0 = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<8x1x4xf32>
  %1 = stablehlo.slice %w [0:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
  %3 = stablehlo.convolution(%0, %2) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
      : (tensor<8x1x4xf32>, tensor<1x2x4xf32>) -> tensor<8x1x4xf32>
  %r = stablehlo.reshape %3 : (tensor<8x1x4xf32>) -> tensor<8x4xf32>""",
}
TWO_SUMS = """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<8x4xf32>
  %r:2 = "stablehlo.reduce"(%x, %0, %z, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.add %a, %c : tensor<f32>
      %t = stablehlo.maximum %b, %d : tensor<f32>
      stablehlo.return %s, %t : tensor<f32>, tensor<f32>
  }) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
"""


def text_of(name: str) -> str:
    body = PROGRAMS[name]
    result = body.rsplit("->", maxsplit=1)[1].strip()
    columns = "{}" if "groups" in name else '{"y"}'  # groups of features are unsharded
    return f"""
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {columns}]>}},
    %w: tensor<4x4xf32>, %i: tensor<i32>) -> {result} {{{body}
  return %r : {result}
}}
"""


@pytest.mark.parametrize("text", [*map(text_of, PROGRAMS), TWO_SUMS], ids=[*PROGRAMS, "two sums at once"])
def test_programs_of_small_values_are_proved_and_their_faults_are_not(text: str) -> None:
    check_proof_and_faults(text, faults=12, seeds=4)


def test_an_element_of_many_is_not_followed_by_each_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 64 pairs of indices selects one of 8,192 elements. It would take minutes to test them all."""
    tested: list[int] = []
    of_interval = Choices.of_interval

    def counted(choices: Choices, interval: Interval | bool) -> int:
        tested.append(1)
        return of_interval(choices, interval)

    monkeypatch.setattr(Choices, "of_interval", counted)
    program = sdy.Program.from_text(
        """sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<128x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<64x2xi32>)
    -> tensor<64xf32> {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
      start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}>
      : (tensor<128x64xf32>, tensor<64x2xi32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}"""
    )
    program.prove()
    assert len(tested) < 50_000
