"""HLO shardings as XLA writes them, `{devices=[2,4]<=[4,2]T(1,0)}`: text to value, and back."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import assert_never

from sdy.grammar.errors import NotationError
from sdy.model.devices.hlo_sharding import (
    HloSharding,
    Maximal,
    SubgroupKind,
    Tiled,
    Untiled,
    canonical_tiling,
    device_digits,
)

MAX_DEVICES = 1 << 20  # the largest machines have fewer by far; a larger number is a slip
_NUMBERS = r"\d+(?:\s*,\s*\d+)*"
_TEXT = re.compile(
    rf"""\s*\{{\s*(?:
        (?P<whole>replicated|manual|unreduced|unknown)
      | maximal\s+device=(?P<device>\d+)
      | devices=\[(?P<sizes>{_NUMBERS})\]\s*
        (?:<=\[(?P<from>{_NUMBERS})\](?:T\((?P<order>{_NUMBERS})\))?|(?P<devices>{_NUMBERS}))
        (?:\s+(?P<copies>last_tile_dim_replicate)|\s+last_tile_dims=\{{(?P<groups>[\w\s,]*)\}})?
    )\s*\}}\s*""",
    re.VERBOSE,
)
_HINT = (
    "forms: {replicated}, {maximal device=0}, {devices=[4,2]<=[8]}, {devices=[2,2]0,2,1,3}, "
    "{devices=[2,1,4]<=[2,4]T(1,0) last_tile_dim_replicate}"
)


def write_hlo_sharding(hlo: HloSharding) -> str:
    """The text, as XLA prints it."""
    match hlo:
        case Untiled():
            return f"{{{hlo.value}}}"
        case Maximal(device):
            return f"{{maximal device={device}}}"
        case Tiled():
            return f"{{devices=[{_joined(hlo.sizes)}]{_devices(hlo.devices)}{_groups(hlo)}}}"
        case _:
            assert_never(hlo)


def _devices(devices: tuple[int, ...]) -> str:
    digits = device_digits(devices)
    if digits is None:
        return _joined(devices)
    major_first = sorted(digits, key=lambda digit: -digit.stride)
    order = [major_first.index(digit) for digit in digits]
    transposed = f"T({_joined(order)})" if order != sorted(order) else ""
    return f"<=[{_joined([digit.size for digit in major_first] or [1])}]{transposed}"


def _groups(hlo: Tiled) -> str:
    kinds = [kind for kind, _ in hlo.subgroups]
    if kinds == [SubgroupKind.REPLICATED]:
        return " last_tile_dim_replicate"
    return f" last_tile_dims={{{', '.join(kind.value for kind in kinds)}}}" if kinds else ""


def _joined(numbers: tuple[int, ...] | list[int]) -> str:
    return ",".join(map(str, numbers))


def read_hlo_sharding(text: str) -> HloSharding:
    """The value of a text. Raises: NotationError SDY-P111 where it is none, SDY-P112 where its numbers do not fit."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise NotationError("SDY-P111", f"{text.strip()!r} is no HLO sharding", 0, len(text), _HINT)
    if match["whole"]:
        return Untiled(match["whole"])
    if match["device"]:
        return Maximal(int(match["device"]))
    sizes, groups = _numbers(match["sizes"]), _subgroups(match)
    count = prod(_numbers(match["from"])) if match["from"] else len(_numbers(match["devices"]))
    needed = prod(sizes)
    if count != needed or not 0 < needed <= MAX_DEVICES:
        message = f"the pieces {list(sizes)} need {needed} devices, there are {count}"
        hint = f"a sharding is of 1 to {MAX_DEVICES} devices"
        raise NotationError("SDY-P112", message, match.start("sizes"), match.end("sizes"), hint)
    devices = _numbers(match["devices"]) if match["devices"] else _counted(match)
    if sorted(devices) != list(range(needed)):
        message = f"the pieces {list(sizes)} need each of the devices 0 to {needed - 1} once"
        raise NotationError("SDY-P112", message, match.start("sizes"), match.end("sizes"))
    if len(groups) > len(sizes):
        message = f"there are {len(groups)} subgroups and {len(sizes)} sizes"
        raise NotationError("SDY-P112", message, match.start("sizes"), match.end("sizes"))
    tiles = sizes[: len(sizes) - len(groups)]
    return canonical_tiling(tiles, tuple(zip(groups, sizes[len(tiles) :], strict=True)), devices)


def _counted(match: re.Match[str]) -> tuple[int, ...]:
    """The devices of `<=[4,2]T(1,0)`: numbered in a grid, read with its dims in another order."""
    grid = _numbers(match["from"])
    order = _numbers(match["order"]) if match["order"] else tuple(range(len(grid)))
    if sorted(order) != list(range(len(grid))):
        message = f"T({_joined(order)}) is no order of the {len(grid)} dims of [{_joined(grid)}]"
        raise NotationError("SDY-P112", message, match.start("order"), match.end("order"))
    strides = [prod(grid[place + 1 :]) for place in range(len(grid))]
    steps = [range(0, grid[place] * strides[place], strides[place]) for place in order]
    return tuple(sum(place) for place in product(*steps))


def _subgroups(match: re.Match[str]) -> tuple[SubgroupKind, ...]:
    if match["copies"]:
        return (SubgroupKind.REPLICATED,)
    known = {kind.value: kind for kind in SubgroupKind}
    words = [word.strip() for word in (match["groups"] or "").split(",") if word.strip()]
    for word in words:
        if word not in known:
            hint = f"kinds: {', '.join(known)}"
            raise NotationError("SDY-P111", f"no subgroup is {word}", match.start("groups"), match.end("groups"), hint)
    return tuple(known[word] for word in words)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))
