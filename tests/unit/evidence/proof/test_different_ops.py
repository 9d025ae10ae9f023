"""No op is proved to be another one: pairs of similar ops, on all shardings; what is proved is run, and is right.

In the tests of each lemma, devices run the same op as the global program, and only the shardings are wrong.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, product

import pytest
from support.execution.one_op import (
    MESHES,
    Counts,
    Shape,
    is_proved,
    is_right,
    local_shape,
    operand_choices,
    placement,
    program,
    small_array,
)
from support.execution.similar_ops import FAMILIES, Family
from support.execution.small_ops import text_of

from sdy.model.devices.placement import ProgramPlacement

MESH = MESHES[0]
CASES = [(name, shapes) for name, (_, every) in FAMILIES.items() for shapes in every]


def candidates(family: Family, shapes: list[Shape]) -> Iterator[tuple[str, list[str], ProgramPlacement]]:
    """Yield each program of one op, with all ops of the same family on its shards, on all shardings."""
    wholes = [(program(text, [*map(text_of, shapes)], text_of(shape)), shape) for text, shape in family(shapes)]
    for chosen in product(*(operand_choices(shape, MESH) for shape in shapes)):
        given = [local_shape(shape, axes) for shape, (axes, _) in zip(shapes, chosen, strict=True)]
        operands = tuple(placement(shape, axes, MESH, free) for shape, (axes, free) in zip(shapes, chosen, strict=True))
        locals_of: dict[Shape, list[str]] = {}
        for text, shape in family(given):
            locals_of.setdefault(shape, []).append(program(text, [*map(text_of, given)], text_of(shape)))
        for whole, shape in wholes:
            for axes, free in operand_choices(shape, MESH):
                boundary = ProgramPlacement(MESH, operands, (placement(shape, axes, MESH, free),))
                yield whole, locals_of.get(local_shape(shape, axes), []), boundary


def try_candidates(name: str, shapes: list[Shape], most: int | None) -> Counts:
    """Try to prove up to `most` candidates, or all; each that is proved must be right."""
    inputs = [small_array(shape, seed + 1) for seed, shape in enumerate(shapes)]
    found = list(candidates(FAMILIES[name][0], shapes))
    ends = list(accumulate(len(choices) for _, choices, _ in found))
    tried: Sequence[int] = range(ends[-1])
    if most is not None and len(tried) > most:
        tried = random.Random(0).sample(tried, most)
    proved = 0
    for number in tried:
        whole, choices, boundary = found[at := bisect_right(ends, number)]
        local = choices[number - ends[at]]
        if is_proved(local, whole, boundary):
            proved += 1
            assert is_right(local, whole, boundary, inputs), (whole, local, boundary)
    return Counts(len(tried), proved)


@pytest.mark.parametrize(("name", "shapes"), CASES, ids=str)
def test_no_op_is_proved_to_be_another_one(name: str, shapes: list[Shape]) -> None:
    counts = try_candidates(name, shapes, 40)
    assert counts.proved < counts.tried


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shapes"), CASES, ids=str)
def test_of_all_pairs_no_op_is_proved_to_be_another_one(name: str, shapes: list[Shape]) -> None:
    counts = try_candidates(name, shapes, None)
    assert 0 < counts.proved < counts.tried


SUM = (
    "%c = stablehlo.constant dense<0> : tensor<i32>\n  %r = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add "
    "across dimensions = [{}] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>"
)
PAD = (
    "%c = stablehlo.constant dense<0> : tensor<i32>\n  %r = stablehlo.pad %arg0, %c, low = [{}], high = [0], "
    "interior = [0] : (tensor<1xi32>, tensor<i32>) -> tensor<1xi32>"
)


@pytest.mark.parametrize(
    ("text", "given", "result", "one", "other"),
    [
        pytest.param(SUM, (2, 2), (2,), "0", "1", id="a sum of rows and one of columns"),
        pytest.param(PAD.replace("[0], interior", "[{}], interior"), (1,), (1,), "-1", "0", id="no padding"),
    ],
)
def test_two_ops_differ(text: str, given: Shape, result: Shape, one: str, other: str) -> None:
    places = [placement(shape, ((),) * len(shape), MESH) for shape in (given, result)]
    boundary = ProgramPlacement(MESH, tuple(places[:1]), tuple(places[1:]))
    ops = [text.format(number, number.lstrip("-")) for number in (one, other)]
    first, second = (program(each, [text_of(given)], text_of(result)) for each in ops)
    assert is_proved(first, first, boundary)
    assert not is_proved(first, second, boundary)
    assert not is_proved(second, first, boundary)
