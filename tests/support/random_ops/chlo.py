"""Draw programs of one CHLO op that can be expressed exactly in StableHLO ops."""

from __future__ import annotations

from collections.abc import Sequence

from support.random_ops.draft import COMPLEX, FLOATS, INTEGERS, NUMBERS, Draft, tensor
from support.random_ops.elementwise import BINARY, operands_of

HALF_TO_DOUBLE = ("f16", "bf16", "f32", "f64")


def broadcast(draft: Draft) -> None:
    """Add an op on operands whose shapes differ in dims of size 1 or in leading dims."""
    full = draft.shape(1, 4)
    some = tuple(1 if draft.random.random() < 0.3 else size for size in full)
    last = tuple(1 if draft.random.random() < 0.3 else size for size in full[draft.size(0, len(full) + 1) :])
    shapes = (some, last) if draft.random.random() < 0.5 else (last, some)
    result = _common(some, last)
    name, elements = BROADCAST[int(draft.random.integers(len(BROADCAST)))]
    element = draft.pick(*elements)
    match name:
        case "complex":
            operands = [draft.tensor(shape, element) for shape in shapes]
            _op(draft, name, operands, tensor(result, f"complex<{element}>"))
        case "compare":
            operands = [draft.tensor(shape, element) for shape in shapes]
            direction = draft.pick("EQ", "NE", "LT", "GE")
            text = f"<{{comparison_direction = #chlo<comparison_direction {direction}>}}>"
            _op(draft, name, operands, tensor(result, "i1"), text)
        case "select":
            operands = [draft.tensor(result, "i1"), *(draft.tensor(result, element) for _ in shapes)]
            _op(draft, name, operands, tensor(result, element))
        case "next_after":
            _op(draft, name, [draft.tensor(shape, element) for shape in shapes], tensor(result, element))
        case _:
            _op(draft, name, operands_of(draft, name, element, *shapes), tensor(result, element))


BROADCAST: tuple[tuple[str, Sequence[str]], ...] = (
    *BINARY,
    ("compare", INTEGERS + FLOATS),
    ("complex", ("f32", "f64")),
    ("next_after", HALF_TO_DOUBLE),
    ("select", NUMBERS),
)


def exact(draft: Draft) -> None:
    """Add an exact element-wise op, a constant, or a top_k."""
    shape = draft.shape(1, 4)
    name, elements = EXACT[int(draft.random.integers(len(EXACT)))]
    element = draft.pick(*elements)
    kind = tensor(shape, element)
    match name:
        case "constant":
            draft.op(f"chlo.constant dense<{draft.size(0, 4)}> : {kind}", kind)
        case "constant_like":
            operand, value = draft.tensor(shape, element), f"{draft.size(0, 4)}{'.0' if element in FLOATS else ''}"
            draft.op(f'"chlo.constant_like"({operand}) <{{value = {value} : {element}}}> : ({kind}) -> {kind}', kind)
        case "top_k":
            shape = draft.filled_shape(1, 4)
            count = draft.size(1, shape[-1] + 1)
            results = (tensor((*shape[:-1], count), element), tensor((*shape[:-1], count), "i32"))
            operand = draft.numbers(shape, element)
            text = f"chlo.top_k({operand}, k = {count}) : {tensor(shape, element)} -> ({', '.join(results)})"
            draft.op(text, *results)
        case "mulhi" | "next_after":
            operands = [draft.tensor(shape, element) for _ in range(2)]
            draft.op(f"chlo.{name} {operands[0]}, {operands[1]} : {kind}, {kind} -> {kind}", kind)
        case _:
            draft.ulps = int(name == "square")
            result = tensor(shape, "i1") if name.startswith("is_") else kind
            draft.op(f"chlo.{name} {draft.tensor(shape, element)} : {kind} -> {result}", result)


EXACT: tuple[tuple[str, Sequence[str]], ...] = (
    ("conj", COMPLEX),
    ("constant", INTEGERS),
    ("constant_like", INTEGERS + FLOATS),
    ("is_inf", HALF_TO_DOUBLE),
    ("is_neg_inf", HALF_TO_DOUBLE),
    ("is_pos_inf", HALF_TO_DOUBLE),
    ("mulhi", tuple(name for name in INTEGERS if name.endswith(("8", "16", "32", "64")))),
    ("next_after", HALF_TO_DOUBLE),
    ("square", HALF_TO_DOUBLE + COMPLEX),
    ("top_k", INTEGERS + HALF_TO_DOUBLE),
)


def _op(draft: Draft, name: str, operands: Sequence[str], result: str, properties: str = "") -> None:
    types = ", ".join(draft.types[operand] for operand in operands)
    draft.op(f'"chlo.broadcast_{name}"({", ".join(operands)}) {properties} : ({types}) -> {result}', result)


def _common(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that both are broadcast to; the rank of `right` must not exceed that of `left`."""
    padded = (*left[: len(left) - len(right)], *right)
    return tuple(other if size == 1 else size for size, other in zip(left, padded, strict=True))
