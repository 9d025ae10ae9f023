"""Programs of one product."""

from __future__ import annotations

from collections.abc import Iterator

from sdy.evidence.audit.catalogue.text import generic, program, tensor

Ints = tuple[int, ...]
DOTS: tuple[tuple[Ints, Ints, Ints, Ints, Ints, Ints], ...] = (
    # lhs, rhs, batching dims of both, contracting dims of both
    ((2, 3), (3, 4), (), (), (1,), (0,)),
    ((3, 2), (4, 3), (), (), (0,), (1,)),
    ((2, 4, 3), (2, 3, 2), (0,), (0,), (2,), (1,)),
    ((3, 2, 4), (4, 2, 2), (1,), (1,), (2,), (0,)),
    ((2, 2, 3), (2, 3, 4), (), (), (0, 2), (0, 1)),
    ((2, 3), (2, 4), (0,), (0,), (), ()),
    ((2, 2, 3), (2, 3, 2), (0, 1), (0, 2), (2,), (1,)),
    ((3,), (3,), (), (), (0,), (0,)),
    ((4,), (3,), (), (), (), ()),
)


def programs() -> Iterator[str]:
    """Yield programs of all ops of the family."""
    for lhs, rhs, left_batch, right_batch, left_sum, right_sum in DOTS:
        free = [size for dim, size in enumerate(lhs) if dim not in left_batch + left_sum]
        free += [size for dim, size in enumerate(rhs) if dim not in right_batch + right_sum]
        result = tensor([*(lhs[dim] for dim in left_batch), *free])
        dims = f"batching_dims = {list(left_batch)} x {list(right_batch)}, "
        dims += f"contracting_dims = {list(left_sum)} x {list(right_sum)}"
        types = f"({tensor(lhs)}, {tensor(rhs)}) -> {result}"
        yield program(f"%r = stablehlo.dot_general %a, %b, {dims} : {types}", tensor(lhs), tensor(rhs))
    for lhs, rhs in (((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,))):
        yield generic("stablehlo.dot", [tensor(lhs), tensor(rhs)], [tensor((*lhs[:-1], *rhs[1:]))])


PROGRAMS = (programs,)
