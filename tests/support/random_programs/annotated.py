"""Draw ops about shardings: constraints, groups, barriers, custom calls with rules."""

from __future__ import annotations

from collections.abc import Sequence

from support.random_programs.annotations import Shape
from support.random_programs.draft import Block, Tensor, names_of, tensor_type, types_of

POINTWISE = ("mhlo.erf", "MoveToHost", "MoveToDevice", "LayoutConstraint", "X64SplitLow")


def sharding_constraint(block: Block) -> None:
    """Add a sharding constraint."""
    operand = block.pick()
    name = block.draft.name()
    sharding = block.sharding(operand.shape)
    block.lines.append(f"{name} = sdy.sharding_constraint {operand.name} {sharding} : {operand.type}")
    block.add(Tensor(name, operand.shape, operand.element))


def propagation_barrier(block: Block) -> None:
    """Add a propagation barrier."""
    operand = block.pick()
    name, direction = block.draft.name(), block.random.choice(("NONE", "FORWARD", "BACKWARD"))
    head = f"sdy.propagation_barrier {operand.name} allowed_direction={direction}"
    block.lines.append(f"{name} = {head} : {operand.type}")
    block.add(Tensor(name, operand.shape, operand.element))


def sharding_group(block: Block) -> None:
    """Add a value to the sharding group of its shape in this block."""
    member = block.pick(1)
    if member.shape not in block.groups:
        block.draft.groups += 1
        block.groups[member.shape] = block.draft.groups
    block.lines.append(f"sdy.sharding_group {member.name} group_id={block.groups[member.shape]} : {member.type}")


def custom_call(block: Block) -> None:
    """Add a custom call whose target is known, unknown, or has its sharding rule as an attribute."""
    match block.random.randrange(4):
        case 0:
            operand = block.pick(1)
            target = block.random.choice((*POINTWISE, "unheard_of"))
            _call(block, target, [operand], [operand.shape])
        case 1:
            operand = block.pick(1)
            kept = block.random.randint(1, operand.shape[-1])
            _call(block, "mhlo.topk", [operand], [(*operand.shape[:-1], kept)] * 2)
        case 2:
            operand = block.pick(2)
            _call(block, "Qr", [operand], [operand.shape, (*operand.shape[:-2], min(operand.shape[-2:]))])
        case _:
            with_rule(block)


def with_rule(block: Block) -> None:
    """Add a custom call with a sharding rule that connects dims of equal size at random."""
    operands = [block.pick(1, 3) for _ in range(block.random.randint(1, 2))]
    shape = tuple(block.random.choice(block.random.choice(operands).shape) for _ in range(block.random.randint(1, 2)))
    sizes: list[int] = []
    mappings = [_mapping(block, tensor, sizes) for tensor in (*(each.shape for each in operands), shape)]
    letters = [_letter(factor) for factor in range(len(sizes))]
    texts = [f"[{', '.join(letters[factor] for factor in mapping)}]" for mapping in mappings]
    factors = ", ".join(f"{letter}={size}" for letter, size in zip(letters, sizes, strict=True))
    rule = f"<({', '.join(texts[:-1])})->({texts[-1]}) {{{factors}}}{_kinds(block, letters, mappings[-1])}, custom>"
    _call(block, "kernel", operands, [shape], f"sdy.sharding_rule = #sdy.op_sharding_rule{rule}")


def _mapping(block: Block, shape: Shape, sizes: list[int]) -> list[int]:
    """Return a factor per dim; dims of equal size may share one."""
    mapping: list[int] = []
    for size in shape:
        known = [factor for factor, own in enumerate(sizes) if own == size and factor not in mapping]
        if known and block.draft.chance(0.8):
            mapping.append(block.random.choice(known))
        else:
            sizes.append(size)
            mapping.append(len(sizes) - 1)
    return mapping


def _kinds(block: Block, letters: Sequence[str], kept: Sequence[int]) -> str:
    """Return the special factors of the rule. A factor of the result is not a reduction factor."""
    text, left = "", list(letters)
    for kind in ("reduction", "need_replication", "permutation"):
        refused = [letters[factor] for factor in kept] if kind == "reduction" else []
        some = [letter for letter in left if letter not in refused and block.draft.chance(0.12)]
        left = [letter for letter in left if letter not in some]
        text += f" {kind}={{{', '.join(some)}}}" if some else ""
    blocked = [letter for letter in letters if block.draft.chance(0.12)]
    return text + (f" blocked_propagation={{{', '.join(blocked)}}}" if blocked else "")


def _letter(factor: int) -> str:
    return chr(ord("i") + factor)


def _call(block: Block, target: str, operands: Sequence[Tensor], shapes: Sequence[Shape], attributes: str = "") -> None:
    results = ", ".join(tensor_type(shape, block.draft.element) for shape in shapes)
    types = f"({types_of(operands)}) -> {results if len(shapes) == 1 else f'({results})'}"
    kinds = [(shape, block.draft.element) for shape in shapes]
    block.define_all(f"stablehlo.custom_call @{target}({names_of(operands)})", attributes, types, *kinds)
