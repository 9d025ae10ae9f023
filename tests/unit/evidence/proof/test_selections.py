"""Ops that select one of many elements: on shards of the dim they are proved, and what is proved of them is right."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from support.execution.one_op import MESHES, is_proved, is_right, placement, program
from support.execution.proved_faults import check_proof_and_faults
from xdsl.ir import Region

import sdy
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import parse_module
from sdy.evidence.proof.selections import is_selection
from sdy.interpreter.run import interpret
from sdy.model.devices.placement import ProgramPlacement

ARGMAX = """%1 = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %2 = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %3 = stablehlo.or %1, %2 : tensor<i1>
  %4 = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %5 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %6 = stablehlo.and %4, %5 : tensor<i1>
  %7 = stablehlo.or %3, %6 : tensor<i1>
  %8 = stablehlo.select %3, %p, %q : tensor<i1>, tensor<f32>
  %9 = stablehlo.select %7, %i, %j : tensor<i1>, tensor<i32>
  stablehlo.return %8, %9 : tensor<f32>, tensor<i32>"""
LAST = """%1 = stablehlo.compare GE, %q, %p : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %8 = stablehlo.select %1, %q, %p : tensor<i1>, tensor<f32>
  %9 = stablehlo.select %1, %j, %i : tensor<i1>, tensor<i32>
  stablehlo.return %8, %9 : tensor<f32>, tensor<i32>"""


def reduction(reducer: str, value: str, places: str, sizes: tuple[int, ...], names: str = "%r") -> str:
    """Return a reduction along the last dim of pairs of a float and an integer."""
    whole, kept = ("".join(f"{size}x" for size in each) for each in (sizes, sizes[:-1]))
    return f"""%c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  {names}:2 = stablehlo.reduce({value} init: %c), ({places} init: %z) across dimensions = [{len(sizes) - 1}]
    : (tensor<{whole}f32>, tensor<{whole}i32>, tensor<f32>, tensor<i32>) -> (tensor<{kept}f32>, tensor<{kept}i32>)
  reducer(%p: tensor<f32>, %q: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {{
  {reducer}
  }}"""


def argmax(sizes: tuple[int, ...], mesh: str, axes: str) -> str:
    """Return an argmax along the last dim, which may be sharded."""
    whole, kept = ("".join(f"{size}x" for size in each) for each in (sizes, sizes[:-1]))
    return f"""sdy.mesh @m = <[{mesh}]>
func.func @main(%a: tensor<{whole}f32> {{sdy.sharding = #sdy.sharding<@m, [{axes}]>}}) -> tensor<{kept}i32> {{
  %n = stablehlo.iota dim = {len(sizes) - 1} : tensor<{whole}i32>
  {reduction(ARGMAX, "%a", "%n", sizes)}
  return %r#1 : tensor<{kept}i32>
}}"""


def top_k(sizes: tuple[int, ...], count: int, mesh: str, axes: str, returned: str) -> str:
    """Return the values (%v) or indices (%i), or both, of a top_k along the last dim, which may be sharded."""
    whole, kept = ("".join(f"{size}x" for size in each) for each in (sizes, (*sizes[:-1], count)))
    types = ", ".join(f"tensor<{kept}{'f32' if name == '%v' else 'i32'}>" for name in returned.split(", "))
    return f"""sdy.mesh @m = <[{mesh}]>
func.func @main(%a: tensor<{whole}f32> {{sdy.sharding = #sdy.sharding<@m, [{axes}]>}}) -> ({types}) {{
  %v, %i = chlo.top_k(%a, k = {count}) : tensor<{whole}f32> -> (tensor<{kept}f32>, tensor<{kept}i32>)
  return {returned} : {types}
}}"""


SQUARE = '"x"=2, "y"=2'
PROGRAMS = {
    "argmax": argmax((8, 16), '"x"=4, "y"=2', '{}, {"x"}'),
    "argmax of a vector on two axes": argmax((16,), SQUARE, '{"x", "y"}'),
    "argmax on axes in another order": argmax((4, 16), SQUARE, '{}, {"y", "x"}'),
    "argmax of sharded rows": argmax((4, 16), SQUARE, '{"x"}, {"y"}'),
    "largest values": top_k((8, 16), 2, '"x"=4, "y"=2', '{}, {"x"}', "%v"),
    "indices of the largest values": top_k((16,), 2, SQUARE, '{"x", "y"}', "%i"),
    "largest values and their indices": top_k((4, 16), 4, SQUARE, '{}, {"y", "x"}', "%v, %i"),
    "largest value of sharded rows": top_k((4, 16), 1, SQUARE, '{"x"}, {"y"}', "%v, %i"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_our_partition_is_proved_and_faults_are_not(name: str) -> None:
    check_proof_and_faults(PROGRAMS[name], faults=40, seeds=3)


@pytest.mark.parametrize(("added", "expected"), [("0.0", False), ("0.5", False), (None, True)])
def test_candidates_that_are_changed_are_not_proved(added: str | None, expected: bool) -> None:
    largest = "chlo.top_k({}, k = 2) : tensor<{}xf32> -> (tensor<2xf32>, tensor<2xi32>)".format
    types = ["tensor<8xf32>", "tensor<2xf32>"]
    whole = program(f"%r, %i = {largest('%arg0', 8)}", types[:1], types[1])
    change = f"""%c = stablehlo.constant dense<{added}> : tensor<2xf32>
  %w = stablehlo.add %v, %c : tensor<2xf32>"""
    body = f"""%v, %i = {largest("%arg0", 4)}
  {change if added else ""}
  %all = "stablehlo.all_gather"({"%w" if added else "%v"}) <{{all_gather_dim = 0 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}}> : (tensor<2xf32>) -> tensor<4xf32>
  %r, %j = {largest("%all", 4)}"""
    local = program(body, ["tensor<4xf32>"], types[1])
    boundary = ProgramPlacement(
        MESHES[0], (placement((8,), (("x",),), MESHES[0]),), (placement((2,), ((),), MESHES[0]),)
    )
    assert is_proved(local, whole, boundary) == expected


def test_large_values_are_proved() -> None:
    tokens = argmax((64, 128256), '"data"=8, "model"=16', '{"data"}, {"model"}')
    candidates = top_k((64, 128256), 50, '"data"=8, "model"=16', '{"data"}, {"model"}', "%v, %i")
    for text in (tokens, candidates):
        proof = sdy.Program.from_text(text).prove()
        assert proof.is_proved, proof.failures


REDUCERS = {
    "argmax": (ARGMAX, True),
    "argmin": (ARGMAX.replace("GT", "LT"), True),
    "argmax with the last index of equal ones": (ARGMAX.replace("LT, %i", "GT, %i"), True),
    "the first pair": ("stablehlo.return %p, %i : tensor<f32>, tensor<i32>", True),
    "of equal ones, the last": (LAST, False),  # which the initial values might be
    "the last pair": ("stablehlo.return %q, %j : tensor<f32>, tensor<i32>", False),
    "without a test of NaN": (ARGMAX.replace("%3, %p, %q", "%1, %p, %q"), False),
    "a sum of the indices": (
        ARGMAX.replace("stablehlo.select %7, %i, %j : tensor<i1>,", "stablehlo.add %i, %j :"),
        False,
    ),
    "the order of bits": (ARGMAX.replace("FLOAT", "TOTALORDER"), False),
    "a comparison with a constant": (
        f"%k = stablehlo.constant dense<7> : tensor<i32>\n  {ARGMAX.replace('LT, %i, %j', 'LT, %i, %k')}",
        False,
    ),
}


@pytest.mark.parametrize("name", REDUCERS)
def test_reducers_that_select_are_told_from_others(name: str) -> None:
    reducer, expected = REDUCERS[name]
    assert is_selection(_region(reducer)) == expected


def _region(reducer: str) -> Region:
    module = parse_module(_reduction_of_arguments(reducer, 4))
    return next(op for op in pre_order(module) if op.name == "stablehlo.reduce").regions[0]


def _reduction_of_arguments(reducer: str, size: int) -> str:
    return f"""func.func @main(%a: tensor<{size}xf32>, %n: tensor<{size}xi32>) -> (tensor<f32>, tensor<i32>) {{
  {reduction(reducer, "%a", "%n", (size,))}
  return %r#0, %r#1 : tensor<f32>, tensor<i32>
}}"""


def test_random_reducers_that_select_may_reduce_shards_first() -> None:
    random, selections = Random(3), 0
    for _ in range(200):
        reducer = _random_reducer(random)
        if not is_selection(_region(reducer)):
            continue
        selections += 1
        whole, part, last = (parse_module(_reduction_of_arguments(reducer, size)) for size in (12, 4, 3))
        for _ in range(8):
            values = np.array(random.choices([-np.inf, -1, 0, 1, np.nan], k=12), np.float32)
            places = np.array(random.choices(range(-1, 4), k=12), np.int32)
            expected = interpret(whole, (values, places))
            shards = [interpret(part, each) for each in zip(values.reshape(3, 4), places.reshape(3, 4), strict=True)]
            found = interpret(last, [np.stack(each) for each in zip(*shards, strict=True)])
            for one, other in zip(expected, found, strict=True):
                assert np.array_equal(one, other, equal_nan=True), reducer
    assert selections >= 20


def _random_reducer(random: Random) -> str:
    """Return a reducer that compares pairs of a float and an integer, and selects from them."""
    lines: list[str] = []
    pairs = {"f32": ["%p", "%q"], "i32": ["%i", "%j"]}
    for number in range(random.randint(1, 3)):
        kind = random.choice(["f32", "i32"])
        one, other = random.choices(pairs[kind], k=2)
        direction = random.choice(["EQ", "NE", "GT", "GE", "LT", "LE"])
        types = f"(tensor<{kind}>, tensor<{kind}>) -> tensor<i1>"
        lines.append(f"%c{number} = stablehlo.compare {direction}, {one}, {other} : {types}")
        if number:
            logic = random.choice(["and", "or", "xor"])
            lines.append(f"%m{number} = stablehlo.{logic} %{random.choice('cm')}{number - 1}, %c{number} : tensor<i1>")
        else:
            lines.append("%m0 = stablehlo.not %c0 : tensor<i1>")
    masks = [line.split()[0] for line in lines]
    for name, (kind, pair) in zip(("v", "w"), pairs.items(), strict=True):
        one, other = random.choices(pair, weights=[3, 2], k=2)
        lines.append(f"%{name} = stablehlo.select {random.choice(masks)}, {one}, {other} : tensor<i1>, tensor<{kind}>")
    lines.append("stablehlo.return %v, %w : tensor<f32>, tensor<i32>")
    return "\n  ".join(lines)


MESH = MESHES[1]
GROUPS = ("[[0, 1, 2, 3]]", "[[3, 2, 1, 0]]", "[[0, 2, 1, 3]]", "[[0, 1], [2, 3]]", "[[0, 3], [1, 2]]")
KINDS = {"add": "0", "maximum": "-2147483648", "minimum": "2147483647"}


def test_contributions_in_a_row_are_combined_as_the_program_does() -> None:
    proved = 0
    inputs = [np.array([5, -3, 7, 2, -8, 7, 1, 4], np.int32)]
    ends = [*KINDS.items(), ("add", "9"), ("maximum", "9")]
    for axes, groups, kind, first, last in product((("x", "y"), ("x",)), GROUPS, KINDS, KINDS, ends):
        whole = program(_combined("%r", kind, "%arg0", 8, KINDS[kind]), ["tensor<8xi32>"], "tensor<i32>")
        size, count = 8 // 2 ** len(axes), _group_size(groups)
        body = f"""{_combined("%part", first, "%arg0", size, KINDS[first])}
  %row = stablehlo.reshape %part : (tensor<i32>) -> tensor<1xi32>
  {_gathered("%all", ["%row"], groups, "i32")}
  {_combined("%r", last[0], "%all", count, last[1])}"""
        local = program(body, [f"tensor<{size}xi32>"], "tensor<i32>")
        boundary = ProgramPlacement(MESH, (placement((8,), (axes,), MESH),), (placement((), (), MESH),))
        if is_proved(local, whole, boundary):
            proved += 1
            assert is_right(local, whole, boundary, inputs), local
    assert proved == 9 + 3 + 6  # shards on all devices, on pairs of copies, and all copies of a maximum or minimum


@pytest.mark.parametrize(
    ("axes", "proved"),
    [
        (("x", "y"), ["[[0, 1, 2, 3]]"]),
        (("y", "x"), ["[[0, 2, 1, 3]]"]),
        (("x",), ["[[0, 1, 2, 3]]", "[[0, 2, 1, 3]]", "[[0, 3], [1, 2]]"]),  # copies that are met again change nothing
    ],
)
def test_shards_of_a_selection_are_combined_in_their_order(axes: tuple[str, ...], proved: list[str]) -> None:
    types = ["tensor<8xf32>", "tensor<8xi32>"]
    whole = program(f"{reduction(ARGMAX, '%arg0', '%arg1', (8,), '%s')}\n  {RETURNED}", types, "tensor<i32>")
    size = 8 // 2 ** len(axes)
    arguments = [f"tensor<{size}xf32>", f"tensor<{size}xi32>"]
    place = placement((8,), (axes,), MESH)
    boundary = ProgramPlacement(MESH, (place, place), (placement((), (), MESH),))
    inputs = [np.array([5, np.nan, 7, 2, -8, np.nan, 9, np.nan], np.float32), np.arange(8, dtype=np.int32)]
    for groups in GROUPS:
        body = f"""{reduction(ARGMAX, "%arg0", "%arg1", (size,), "%part")}
  %one = stablehlo.reshape %part#0 : (tensor<f32>) -> tensor<1xf32>
  %other = stablehlo.reshape %part#1 : (tensor<i32>) -> tensor<1xi32>
  {_gathered("%all", ["%one", "%other"], groups, "f32", "i32")}
  {reduction(ARGMAX, "%all#0", "%all#1", (_group_size(groups),), "%s").replace("%c", "%d").replace("%z", "%w")}
  {RETURNED}"""
        local = program(body, arguments, "tensor<i32>")
        assert is_proved(local, whole, boundary) == (groups in proved)
        assert is_right(local, whole, boundary, inputs) or groups not in proved


RETURNED = "%r = stablehlo.add %s#1, %s#1 : tensor<i32>"


def _group_size(groups: str) -> int:
    return len(groups[2:].split("]")[0].split(","))


def _combined(name: str, kind: str, value: str, size: int, first: str) -> str:
    return f"""{name}c = stablehlo.constant dense<{first}> : tensor<i32>
  {name} = stablehlo.reduce({value} init: {name}c) applies stablehlo.{kind} across dimensions = [0]
    : (tensor<{size}xi32>, tensor<i32>) -> tensor<i32>"""


def _gathered(name: str, values: list[str], groups: str, *elements: str) -> str:
    count = _group_size(groups)
    operands, shape = ", ".join(values), f"{4 // count}x{count}"
    one, all_of = (", ".join(f"tensor<{size}x{each}>" for each in elements) for size in (1, count))
    number = f":{len(values)}" if len(values) > 1 else ""
    return f"""{name}{number} = "stablehlo.all_gather"({operands}) <{{all_gather_dim = 0 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
    replica_groups = dense<{groups}> : tensor<{shape}xi64>, use_global_device_ids}}> : ({one}) -> ({all_of})"""
