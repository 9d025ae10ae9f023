"""Draw gathers and scatters with batching, indexed and full dims."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from support.random_programs.annotations import Shape
from support.random_programs.draft import MAX_ELEMENTS, Block, Tensor, array, tensor_type


@dataclass(frozen=True, slots=True)
class Layout:
    """The correspondence of the dims of operand, indices and slices."""

    slice_sizes: tuple[int, ...]
    offset_dims: tuple[int, ...]
    collapsed: tuple[int, ...]
    batching: tuple[int, ...]
    indices_batching: tuple[int, ...]
    index_map: tuple[int, ...]
    indices_shape: Shape
    vector_dim: int
    slices_shape: Shape


def random_layout(block: Block, operand: Shape) -> Layout:
    """Draw a layout for an operand of that shape; each dim is one of five kinds."""
    kinds = [block.random.choice(("batch", "collapsed", "window", "full", "full")) for _ in operand]
    if not {"collapsed", "window"} & set(kinds):
        kinds[block.random.randrange(len(kinds))] = "collapsed"
    batching = [dim for dim, kind in enumerate(kinds) if kind == "batch"]
    indexed = [dim for dim, kind in enumerate(kinds) if kind in ("collapsed", "window")]
    block.random.shuffle(indexed)
    # Dims of the indices: batching dims as dims of the operand, and free ones as negative numbers.
    free = [block.draft.size() for _ in range(block.random.choice((0, 1, 1, 2)))]
    sources = block.random.sample([*batching, *(-1 - index for index in range(len(free)))], len(batching) + len(free))
    batch_shape = [operand[source] if source >= 0 else free[-1 - source] for source in sources]
    sizes = [_slice_size(block, kind, size) for kind, size in zip(kinds, operand, strict=True)]
    kept = [sizes[dim] for dim, kind in enumerate(kinds) if kind in ("window", "full")]
    window_dims = sorted(block.random.sample(range(len(batch_shape) + len(kept)), len(kept)))
    has_vector_dim = len(indexed) > 1 or block.draft.chance(0.5)
    vector_dim = block.random.choice((0, len(batch_shape), len(batch_shape))) if has_vector_dim else len(batch_shape)
    shift = has_vector_dim and vector_dim == 0
    indices_shape = list(batch_shape)
    if has_vector_dim:
        indices_shape.insert(vector_dim, len(indexed))
    left_batch, left_kept = list(batch_shape), list(kept)
    slices = [(left_kept if dim in window_dims else left_batch).pop(0) for dim in range(len(batch_shape) + len(kept))]
    return Layout(
        tuple(sizes),
        tuple(window_dims),
        tuple(dim for dim, kind in enumerate(kinds) if kind == "collapsed"),
        tuple(batching),
        tuple(sources.index(dim) + shift for dim in batching),
        tuple(indexed),
        tuple(indices_shape),
        vector_dim,
        tuple(slices),
    )


def _slice_size(block: Block, kind: str, size: int) -> int:
    match kind:
        case "batch" | "collapsed":
            return 1
        case "window":
            return block.random.randint(1, size)
        case _:
            return size


def gather(block: Block) -> None:
    """Add a gather."""
    operand = block.pick(1)
    layout = random_layout(block, operand.shape)
    if prod(layout.slices_shape) > MAX_ELEMENTS:
        return
    indices = block.alike(layout.indices_shape, "i32")
    numbers = (
        f"offset_dims = {list(layout.offset_dims)}, collapsed_slice_dims = {list(layout.collapsed)}, "
        f"operand_batching_dims = {list(layout.batching)}, "
        f"start_indices_batching_dims = {list(layout.indices_batching)}, "
        f"start_index_map = {list(layout.index_map)}, index_vector_dim = {layout.vector_dim}"
    )
    properties = f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {array(layout.slice_sizes)}"
    head = f'"stablehlo.gather"({operand.name}, {indices.name}) <{{{properties}}}>'
    types = f"({operand.type}, {indices.type}) -> {tensor_type(layout.slices_shape, operand.element)}"
    block.define(head, "", types, (layout.slices_shape, operand.element))


def scatter(block: Block) -> None:
    """Add a scatter that overwrites or combines elements."""
    operand = block.pick(1)
    layout = random_layout(block, operand.shape)
    if prod(layout.slices_shape) > MAX_ELEMENTS:
        return
    indices = block.alike(layout.indices_shape, "i32")
    updates = block.alike(layout.slices_shape)
    numbers = (
        f"update_window_dims = {list(layout.offset_dims)}, inserted_window_dims = {list(layout.collapsed)}, "
        f"input_batching_dims = {list(layout.batching)}, "
        f"scatter_indices_batching_dims = {list(layout.indices_batching)}, "
        f"scatter_dims_to_operand_dims = {list(layout.index_map)}, index_vector_dim = {layout.vector_dim}"
    )
    head = (
        f'"stablehlo.scatter"({operand.name}, {indices.name}, {updates.name}) '
        f"<{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({_update(block, operand)})"
    )
    types = f"({operand.type}, {indices.type}, {updates.type}) -> {operand.type}"
    block.define(head, "", types, (operand.shape, operand.element))


def _update(block: Block, operand: Tensor) -> str:
    """Draw the region of a scatter. It does not overwrite if two updates may have one index."""
    old, new, result = (block.draft.name("r") for _ in range(3))
    scalar = tensor_type((), operand.element)
    op = block.random.choice(("add", "add", "maximum"))
    body = f"{result} = stablehlo.{op} {old}, {new} : {scalar}\nstablehlo.return {result} : {scalar}"
    if not block.draft.options.executable and block.draft.chance(0.3):
        body = f"stablehlo.return {new} : {scalar}"
    return f"{{^bb0({old}: {scalar}, {new}: {scalar}):\n{body}\n}}"
