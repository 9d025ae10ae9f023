"""Reader and writer of HLO shardings in XLA's syntax, such as `{devices=[2,4]<=[4,2]T(1,0)}`."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import assert_never

from sdy.diagnostics.diagnostic import SdyError
from sdy.grammar.errors import NotationError
from sdy.grammar.parse import parse_sharding
from sdy.model.checks.check_mesh import check_mesh
from sdy.model.checks.check_sharding import check_sharding
from sdy.model.devices.hlo_sharding import (
    HloSharding,
    Maximal,
    SubgroupKind,
    Tiled,
    Untiled,
    canonical_tiling,
    device_digits,
    hlo_of_sharding,
)
from sdy.model.mesh import Mesh

MAX_DEVICES = 1 << 20  # far more than the largest machines have: a larger number is a typing error
_NUMBERS = r"\d+(?:\s*,\s*\d+)*"
_TEXT = re.compile(
    rf"""\s*\{{\s*(?:
        (?P<untiled>replicated|manual|unreduced|unknown)
      | maximal\s+device=(?P<device>\d+)
      | devices=\[(?P<sizes>{_NUMBERS})\]\s*
        (?:<=\[(?P<from>{_NUMBERS})\](?:T\((?P<order>{_NUMBERS})\))?|(?P<devices>{_NUMBERS}))
        (?:\s+(?P<copies>last_tile_dim_replicate)|\s+last_tile_dims=\{{(?P<groups>[\w\s,]*)\}})?
    )\s*\}}\s*""",
    re.VERBOSE,
)
# Since XLA knows axes by their names, they may stand in place of devices; the rest is as in sdy.sharding.
_NAMED = re.compile(r"\{\s*mesh\[(?P<axes>[^]]*)\]\s*,(?P<rest>.*)\}", re.DOTALL)
_HINT = (
    "forms: {replicated}, {maximal device=0}, {devices=[4,2]<=[8]}, {devices=[2,2]0,2,1,3}, "
    "{devices=[2,1,4]<=[2,4]T(1,0) last_tile_dim_replicate}, {mesh['x'=2,'y'=4], [{'x'}, {}]}"
)


def write_hlo_sharding(hlo: HloSharding) -> str:
    """Return the text that XLA prints for the sharding."""
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
    """Parse an HLO sharding.

    Raises: NotationError SDY-P111 if the text does not match the syntax, SDY-P112 if its numbers are inconsistent.
    """
    named = _NAMED.fullmatch(text.strip())
    if named is not None:
        return _read_named(named, text)
    match = _TEXT.fullmatch(text)
    if match is None:
        raise NotationError("SDY-P111", f"expected an HLO sharding, got {text.strip()!r}", 0, len(text), _HINT)
    if match["untiled"]:
        return Untiled(match["untiled"])
    if match["device"]:
        return Maximal(int(match["device"]))
    sizes, groups = _numbers(match["sizes"]), _subgroups(match)
    count = prod(_numbers(match["from"])) if match["from"] else len(_numbers(match["devices"]))
    needed = prod(sizes)
    if count != needed or not 0 < needed <= MAX_DEVICES:
        message = f"sizes {list(sizes)} need {needed} devices, got {count}"
        hint = f"write a sharding of 1 to {MAX_DEVICES} devices"
        raise NotationError("SDY-P112", message, match.start("sizes"), match.end("sizes"), hint)
    devices = _numbers(match["devices"]) if match["devices"] else _iota_devices(match)
    if sorted(devices) != list(range(needed)):
        message = f"sizes {list(sizes)} need each of the devices 0 to {needed - 1} exactly once"
        raise NotationError("SDY-P112", message, match.start("sizes"), match.end("sizes"))
    if len(groups) > len(sizes):
        message = f"expected at most {len(sizes)} subgroups, one per size, got {len(groups)}"
        raise NotationError("SDY-P112", message, match.start("sizes"), match.end("sizes"))
    tiles = sizes[: len(sizes) - len(groups)]
    return canonical_tiling(tiles, tuple(zip(groups, sizes[len(tiles) :], strict=True)), devices)


def _read_named(match: re.Match[str], text: str) -> HloSharding:
    """Return the sharding whose mesh and axes are named, without these names."""
    axes, rest = (match[group].replace("'", '"') for group in ("axes", "rest"))
    try:
        sharding = parse_sharding(f"<mesh<[{axes}]>,{rest}>")
    except SdyError as error:
        raise _malformed(text, error.diagnostics[0].message) from None
    mesh = sharding.mesh
    assert isinstance(mesh, Mesh), "the text has it"
    problem = check_mesh(mesh.axes, mesh.device_ids) or check_sharding(
        sharding, (1,) * sharding.rank, mesh, allow_uneven=True
    )
    if problem is not None or mesh.device_count > MAX_DEVICES:
        raise _malformed(text, problem.message if problem else f"a mesh of {mesh.device_count} devices")
    return hlo_of_sharding(sharding, mesh)


def _malformed(text: str, problem: str) -> NotationError:
    return NotationError("SDY-P111", f"expected an HLO sharding, got {text.strip()!r}: {problem}", 0, len(text), _HINT)


def _iota_devices(match: re.Match[str]) -> tuple[int, ...]:
    """Return the devices of `<=[4,2]T(1,0)`: numbered in a row-major grid whose dims are then transposed."""
    grid = _numbers(match["from"])
    order = _numbers(match["order"]) if match["order"] else tuple(range(len(grid)))
    if sorted(order) != list(range(len(grid))):
        message = f"T({_joined(order)}) must be a permutation of the {len(grid)} dims of [{_joined(grid)}]"
        raise NotationError("SDY-P112", message, match.start("order"), match.end("order"))
    strides = [prod(grid[dim + 1 :]) for dim in range(len(grid))]
    steps = [range(0, grid[dim] * strides[dim], strides[dim]) for dim in order]
    return tuple(sum(offsets) for offsets in product(*steps))


def _subgroups(match: re.Match[str]) -> tuple[SubgroupKind, ...]:
    if match["copies"]:
        return (SubgroupKind.REPLICATED,)
    known = {kind.value: kind for kind in SubgroupKind}
    names = [name.strip() for name in (match["groups"] or "").split(",") if name.strip()]
    for name in names:
        if name not in known:
            hint = f"known subgroups: {', '.join(known)}"
            raise NotationError(
                "SDY-P111", f"unknown subgroup {name}", match.start("groups"), match.end("groups"), hint
            )
    return tuple(known[name] for name in names)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))
