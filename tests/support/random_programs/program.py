"""Draw programs: some ops of any kind in `@main`, functions and meshes."""

from __future__ import annotations

from collections.abc import Callable

from support.random_programs import annotated, gathers, pointwise, regions, shapes, sums
from support.random_programs.annotations import Shape
from support.random_programs.draft import Block, Draft, Options, Tensor, names_of, types_of

Kind = Callable[[Block], None]
RegionKind = Callable[[Block, regions.Fill], None]

# How often each kind of op is chosen.
PLAIN: dict[Kind, int] = {
    pointwise.unary: 3,
    pointwise.binary: 7,
    pointwise.select: 2,
    pointwise.clamp: 1,
    pointwise.convert: 1,
    pointwise.constant: 1,
    shapes.transpose: 3,
    shapes.reshape: 5,
    shapes.broadcast_in_dim: 3,
    shapes.concatenate: 2,
    shapes.pad: 2,
    shapes.slicing: 2,
    shapes.reverse: 1,
    shapes.dynamic_slice: 2,
    shapes.dynamic_update_slice: 2,
    sums.dot_general: 6,
    sums.reduce: 3,
    sums.reduce_window: 2,
    sums.convolution: 2,
    sums.sort: 1,
    gathers.gather: 3,
    gathers.scatter: 3,
    annotated.sharding_constraint: 4,
    annotated.propagation_barrier: 1,
    annotated.sharding_group: 2,
    regions.optimization_barrier: 2,
}
NOT_EXECUTABLE: dict[Kind, int] = {annotated.custom_call: 4}
WITH_REGIONS: dict[RegionKind, int] = {
    regions.while_loop: 3,
    regions.case: 2,
    regions.manual_computation: 4,
}
CALLS: dict[RegionKind, int] = {regions.call: 5}
ONLY_STANDALONE: dict[RegionKind, int] = {regions.named_computation: 4}


def random_program(seed: int, options: Options | None = None) -> str:
    """Return the text of the program of a seed."""
    draft = Draft(seed, options or Options())
    arguments: list[Tensor] = []

    def new_argument(shape: Shape, element: str) -> Tensor:
        arguments.append(Tensor(draft.name("arg"), shape, element))
        block.values.append(arguments[-1])
        return arguments[-1]

    block = Block(draft, [], new_argument=new_argument)
    for _ in range(draft.random.randint(1, 3)):
        new_argument(draft.shape(), draft.element)
    if draft.chance(0.3):
        new_argument((), "i32")
    fill(block, draft.options.ops)
    results = _results(block)
    head = ", ".join(f"{each.name}: {each.type}{regions.boundary_sharding(block, each.shape)}" for each in arguments)
    types = ", ".join(f"{each.type}{regions.boundary_sharding(block, each.shape)}" for each in results)
    main = [f"func.func @main({head}) -> ({types}) {{", *block.lines]
    main += [f"return {names_of(results)} : {types_of(results)}", "}"]
    meshes = [mesh.text() for mesh in draft.annotations.meshes]
    functions = [function.text for function in draft.functions]
    draft.random.shuffle(functions)
    position = draft.random.randint(0, len(functions))
    return "\n".join([*meshes, *functions[:position], *main, *functions[position:], ""])


def fill(block: Block, count: int) -> None:
    """Write up to that many ops, as long as the program may grow."""
    draft = block.draft
    for _ in range(draft.random.randint(max(1, count // 2), count)):
        if draft.left <= 0:
            return
        draft.left -= 1
        _kind(block)(block)


def _kind(block: Block) -> Kind:
    options = block.draft.options
    weights: dict[Kind, int] = dict(PLAIN)
    if not options.executable:
        weights |= NOT_EXECUTABLE
    if block.depth < regions.MAX_DEPTH:
        with_regions = WITH_REGIONS | (CALLS if block.draft.has_calls else {})
        with_regions |= ONLY_STANDALONE if options.standalone else {}
        weights |= {_filled(kind): weight for kind, weight in with_regions.items()}
    return block.random.choices(list(weights), list(weights.values()))[0]


def _filled(kind: RegionKind) -> Kind:
    return lambda block: kind(block, fill)


def _results(block: Block) -> list[Tensor]:
    """Return the results of `@main`: all unused values, so that no op is dead, if none may be dead."""
    left = list(dict.fromkeys(block.unused))
    if block.draft.leaves_dead:
        left = [each for each in left if block.draft.chance(0.6)]
    extra = [each for each in block.values if block.draft.chance(0.08)]
    return list(dict.fromkeys([*left, *extra])) or block.values[:1]
