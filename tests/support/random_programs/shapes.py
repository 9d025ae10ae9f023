"""Draw ops that move elements."""

from __future__ import annotations

from math import prod

from support.random_programs.annotations import Shape
from support.random_programs.draft import MAX_ELEMENTS, Block, Tensor, names_of, tensor_type, types_of


def _define(block: Block, head: str, operands: list[Tensor], shape: Shape) -> Tensor:
    element = operands[0].element
    types = f"({types_of(operands)}) -> {tensor_type(shape, element)}"
    return block.define(head, "", types, (shape, element))


def transpose(block: Block) -> None:
    """Add a transpose."""
    operand = block.pick(2)
    order = block.random.sample(range(len(operand.shape)), len(operand.shape))
    shape = tuple(operand.shape[dim] for dim in order)
    _define(block, f"stablehlo.transpose {operand.name}, dims = {order}", [operand], shape)


def reverse(block: Block) -> None:
    """Add a reverse."""
    operand = block.pick(1)
    dims = sorted(block.random.sample(range(len(operand.shape)), block.random.randint(1, len(operand.shape))))
    head = f"stablehlo.reverse {operand.name}, dims = {dims}"
    block.define(head, "", operand.type, (operand.shape, operand.element))


def reshape(block: Block) -> None:
    """Add a reshape that splits and merges dims, and adds and removes dims of size 1."""
    operand = block.pick()
    shape = regrouped(block, operand.shape)
    _define(block, f"stablehlo.reshape {operand.name}", [operand], shape)


def regrouped(block: Block, shape: Shape) -> Shape:
    """Return another shape with the same number of elements."""
    primes = [prime for size in shape for prime in _primes(size)]
    if block.draft.chance(0.3):
        block.random.shuffle(primes)
    sizes: list[int] = []
    while primes:
        count = block.random.choice((1, 1, 2, 2, 3))
        sizes.append(prod(primes[:count]))
        primes = primes[count:]
    if block.draft.chance(0.2):
        sizes.insert(block.random.randint(0, len(sizes)), 1)
    while len(sizes) > 4:
        sizes[:2] = [sizes[0] * sizes[1]]
    return tuple(sizes)


def _primes(size: int) -> list[int]:
    found: list[int] = []
    for prime in (2, 3, 5, 7):
        while size % prime == 0:
            found.append(prime)
            size //= prime
    return [*found, size] if size > 1 else found


def broadcast_in_dim(block: Block) -> None:
    """Add a broadcast_in_dim."""
    operand = block.pick(0, 3)
    rank = len(operand.shape) + block.random.randint(0, 2)
    dims = sorted(block.random.sample(range(rank), len(operand.shape)))
    shape = [block.draft.size() for _ in range(rank)]
    for dim, size in zip(dims, operand.shape, strict=True):
        shape[dim] = size if size > 1 else shape[dim]
    if prod(shape) > MAX_ELEMENTS:
        return reshape(block)
    head = f"stablehlo.broadcast_in_dim {operand.name}, dims = {dims}"
    _define(block, head, [operand], tuple(shape))
    return None


def concatenate(block: Block) -> None:
    """Add a concatenation of two or three tensors, or of slices of one."""
    first = block.pick(1)
    dim = block.random.randrange(len(first.shape))
    parts = [first]
    if block.draft.chance(0.3) and first.shape[dim] > 1:
        middle = block.random.randrange(1, first.shape[dim])
        bounds = [(0, middle), (middle, first.shape[dim])]
        parts = [block.use(_cut(block, first, dim, *bound)) for bound in block.random.sample(bounds, 2)]
    else:
        for _ in range(block.random.randint(1, 2)):
            size = first.shape[dim] if block.draft.chance(0.5) else block.draft.size()
            parts.append(block.alike((*first.shape[:dim], size, *first.shape[dim + 1 :])))
    total = sum(part.shape[dim] for part in parts)
    shape = (*first.shape[:dim], total, *first.shape[dim + 1 :])
    _define(block, f"stablehlo.concatenate {names_of(parts)}, dim = {dim}", parts, shape)


def _cut(block: Block, operand: Tensor, dim: int, start: int, limit: int) -> Tensor:
    ranges = [(start, limit) if each == dim else (0, size) for each, size in enumerate(operand.shape)]
    text = ", ".join(f"{low}:{high}" for low, high in ranges)
    shape = tuple(high - low for low, high in ranges)
    return _define(block, f"stablehlo.slice {operand.name} [{text}]", [operand], shape)


def pad(block: Block) -> None:
    """Add a pad."""
    operand, value = block.pick(1), block.alike(())
    low, high, interior = ([0] * len(operand.shape) for _ in range(3))
    for dim, size in enumerate(operand.shape):
        if block.draft.chance(0.5):
            low[dim], high[dim] = block.random.choice(((1, 1), (0, 2), (2, 0), (0, size), (-1, 1)))
            interior[dim] = block.random.choice((0, 0, 1))
    shape = tuple(
        size + before + after + max(size - 1, 0) * between
        for size, before, after, between in zip(operand.shape, low, high, interior, strict=True)
    )
    head = f"stablehlo.pad {operand.name}, {value.name}, low = {low}, high = {high}, interior = {interior}"
    _define(block, head, [operand, value], shape)


def slicing(block: Block) -> None:
    """Add a slice, at times with strides."""
    operand = block.pick(1)
    ranges: list[tuple[int, int, int]] = []
    for size in operand.shape:
        start = block.random.randrange(size) if block.draft.chance(0.4) else 0
        limit = block.random.randint(start + 1, size) if block.draft.chance(0.4) else size
        ranges.append((start, limit, block.random.choice((1, 1, 1, 2))))
    shape = tuple(-((start - limit) // step) for start, limit, step in ranges)
    text = ", ".join(f"{start}:{limit}:{step}" if step > 1 else f"{start}:{limit}" for start, limit, step in ranges)
    _define(block, f"stablehlo.slice {operand.name} [{text}]", [operand], shape)


def dynamic_slice(block: Block) -> None:
    """Add a dynamic_slice."""
    operand = block.pick(1)
    shape = tuple(_part(block, size) for size in operand.shape)
    starts = [block.alike((), "i32") for _ in shape]
    head = f"stablehlo.dynamic_slice {names_of([operand, *starts])}, sizes = {list(shape)}"
    _define(block, head, [operand, *starts], shape)


def dynamic_update_slice(block: Block) -> None:
    """Add a dynamic_update_slice."""
    operand = block.pick(1)
    update = block.alike(tuple(_part(block, size) for size in operand.shape))
    starts = [block.alike((), "i32") for _ in operand.shape]
    operands = [operand, update, *starts]
    _define(block, f"stablehlo.dynamic_update_slice {names_of(operands)}", operands, operand.shape)


def _part(block: Block, size: int) -> int:
    return size if block.draft.chance(0.5) else block.random.randint(1, size)
