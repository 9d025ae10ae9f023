"""Parts of shards beside each other, as with halos, by brute force: what is proved is right."""

from __future__ import annotations

import random

import pytest
from support.execution.one_op import is_proved, is_right, placement, small_array
from support.slow_cases import slow_except

from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh, MeshAxis

DEVICES, ROWS = 4, 3
MESH = Mesh((MeshAxis("x", DEVICES),))
GLOBAL, LOCAL = f"tensor<{DEVICES * ROWS}x2xi32>", f"tensor<{ROWS}x2xi32>"

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def shifted(distance: int) -> str:
    """Return a program that moves all rows by a distance, and fills the rows left empty with zeros."""
    low, high = distance, -distance
    return f"""func.func @main(%a: {GLOBAL}) -> {GLOBAL} {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %a, %zero, low = [{low}, 0], high = [{high}, 0], interior = [0, 0]
      : ({GLOBAL}, tensor<i32>) -> {GLOBAL}
  return %0 : {GLOBAL}
}}"""


def local_program(choice: random.Random) -> str:
    """Return a program that takes a window of a shard between rows of its neighbors, or of something like it."""
    before, after = choice.randint(0, 2), choice.randint(0, 2)
    parts = [(-1, ROWS - before, before), (0, 0, ROWS), (1, 0, after)]
    if choice.random() < 0.4:
        choice.shuffle(parts)
    if choice.random() < 0.4:
        parts = [(distance, choice.randint(0, ROWS - size), size) for distance, _, size in parts]
    lines, names, kinds = list[str](), list[str](), list[str]()
    for number, (distance, first, size) in enumerate(each for each in parts if each[2]):
        kind, name = f"tensor<{size}x2xi32>", f"%s{number}"
        lines.append(f"{name} = stablehlo.slice %a [{first}:{first + size}, 0:2] : ({LOCAL}) -> {kind}")
        if distance:
            pairs = [[each, each - distance] for each in range(DEVICES) if 0 <= each - distance < DEVICES]
            if choice.random() < 0.2:
                pairs = [[each, (each - distance) % DEVICES] for each in range(DEVICES)]
            lines.append(
                f'%p{number} = "stablehlo.collective_permute"({name}) <{{{CHANNEL}, '
                f"source_target_pairs = dense<{pairs}> : tensor<{len(pairs)}x2xi64>}}> : ({kind}) -> {kind}"
            )
            name = f"%p{number}"
        names.append(name)
        kinds.append(kind)
    count, start = before + ROWS + after, choice.randint(0, before + after)
    lines += [
        f"%c = stablehlo.concatenate {', '.join(names)}, dim = 0 : ({', '.join(kinds)}) -> tensor<{count}x2xi32>",
        f"%r = stablehlo.slice %c [{start}:{start + ROWS}, 0:2] : (tensor<{count}x2xi32>) -> {LOCAL}",
    ]
    return f"func.func @main(%a: {LOCAL}) -> {LOCAL} {{\n" + "\n".join(lines) + f"\nreturn %r : {LOCAL}\n}}"


@pytest.mark.parametrize("count", slow_except([400], [400, 4000]))
def test_what_is_proved_of_parts_beside_each_other_is_right(count: int) -> None:
    shard = placement((DEVICES * ROWS, 2), (("x",), ()), MESH)
    boundary, choice, proved = ProgramPlacement(MESH, (shard,), (shard,)), random.Random(3), [0, 0, 0]
    for _ in range(count):
        distance = choice.choice([-1, 0, 1])
        local, text = local_program(choice), shifted(distance)
        if is_proved(local, text, boundary):
            proved[distance] += 1
            assert is_right(local, text, boundary, [small_array((DEVICES * ROWS, 2), 0)]), (local, text)
    assert min(proved) > count // 100
