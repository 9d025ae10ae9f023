"""Tables of the errors of predicted times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from zlib import crc32

from support.measured.pricing import Priced

MEGABYTE = 2**20


def error_groups(found: Sequence[Priced]) -> list[tuple[str, list[Priced]]]:
    """Return the rows of each kind, machine and family that has some, with a name."""
    steps = [each for each in found if each.row.file == "steps.csv"]
    ops = [each for each in found if each.row.file == "rooflines.csv"]
    collectives = [each for each in found if each.row.file == "collectives.csv"]
    groups: list[tuple[str, list[Priced]]] = [
        ("collectives below 1 MiB", [each for each in collectives if _bytes(each) < MEGABYTE]),
        ("collectives of 1 to 16 MiB", [each for each in collectives if MEGABYTE <= _bytes(each) < 16 * MEGABYTE]),
        ("collectives from 16 MiB", [each for each in collectives if _bytes(each) >= 16 * MEGABYTE]),
        ("products", [each for each in ops if each.row["op"] == "matmul"]),
        ("copies and sums", [each for each in ops if each.row["op"] != "matmul"]),
    ]
    groups += [
        (f"steps, {level} confidence", [each for each in steps if each.row["confidence"] == level])
        for level in ("high", "medium", "low")
    ]
    groups += _by("steps on ", steps, lambda each: each.row["machine"])
    groups += _by("steps of ", steps, lambda each: each.row["family"])
    return [(name, rows) for name, rows in groups if rows]


def _bytes(each: Priced) -> int:
    return each.row.count("bytes", 0)


def _by(prefix: str, rows: Sequence[Priced], key: Callable[[Priced], str]) -> Iterable[tuple[str, list[Priced]]]:
    trusted = [each for each in rows if each.row["confidence"] != "low"]
    for name in sorted({key(each) for each in trusted}):
        yield prefix + name, [each for each in trusted if key(each) == name]


def summary(rows: Sequence[Priced]) -> tuple[int, float, float, float]:
    """Return the number of rows, the medians of the error and of its size, and the size that 90 % do not exceed."""
    sizes = sorted(abs(each.error) for each in rows)
    return len(rows), median(each.error for each in rows), median(sizes), sizes[max(0, -(-9 * len(sizes) // 10) - 1)]


def halves(rows: Sequence[Priced]) -> tuple[float, float] | None:
    """Return the median errors of two halves of the rows, divided by a hash; None if a half has fewer than three."""
    parts = [[each.error for each in rows if crc32(each.row["id"].encode()) % 2 == half] for half in (0, 1)]
    return None if min(map(len, parts)) < 3 else (median(parts[0]), median(parts[1]))


def error_table(found: Sequence[Priced]) -> str:
    """Return a table of errors, and the share of pairs of rows whose order is right."""
    lines = [f"{'':40}{'rows':>6}{'median':>9}{'size':>8}{'90 %':>8}"]
    for name, rows in error_groups(found):
        count, middle, size, most = summary(rows)
        lines.append(f"{name:40}{count:6}{middle:+9.1%}{size:8.1%}{most:8.1%}")
    right, pairs = ordered_pairs(found)
    lines.append(f"order of variants: right in {right} of {pairs} pairs")
    lines.append("memory: of {} steps of high confidence, {} fit, {} need up to a tenth more".format(*fitting(found)))
    return "\n".join(lines)


def fitting(found: Sequence[Priced]) -> tuple[int, int, int]:
    """Return how many steps of high confidence there are, how many are predicted to fit, and to need a tenth more."""
    shares = [each.memory for each in found if each.row.file == "steps.csv" and each.row["confidence"] == "high"]
    return len(shares), sum(share <= 1 for share in shares), sum(1 < share <= 1.1 for share in shares)


VARIANT_OF = (
    "model", "machine", "devices", "sequence", "global_batch", "quantization", "remat", "optimizer", "activation_dtype",
)  # fmt: skip
SHARDING = ("data", "fsdp", "fsdp_transpose", "context", "tensor", "expert", "stage", "virtual_stages", "sharding")


def ordered_pairs(found: Sequence[Priced]) -> tuple[int, int]:
    """Return of how many pairs of steps that differ in sharding alone the order is right, and how many there are.

    Pairs whose measured times differ by less than 2 % have no order.
    """
    steps = [each for each in found if each.row.file == "steps.csv"]
    right = pairs = 0
    for index, one in enumerate(steps):
        for other in steps[index + 1 :]:
            is_variant = all(one.row[each] == other.row[each] for each in VARIANT_OF)
            differs = any(one.row[each] != other.row[each] for each in SHARDING)
            if is_variant and differs and abs(one.row.seconds / other.row.seconds - 1) > 0.02:
                pairs += 1
                right += (one.seconds < other.seconds) == (one.row.seconds < other.row.seconds)
    return right, pairs
