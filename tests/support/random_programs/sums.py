"""Draw ops that combine elements: products, reductions, windows, sorts."""

from __future__ import annotations

from math import prod

from support.random_programs.draft import MAX_ELEMENTS, Block, Tensor, array, names_of, tensor_type, types_of

REDUCERS = ("add", "maximum", "minimum")


def dot_general(block: Block) -> None:
    """Add a dot_general with random batching, contracting and free dims."""
    left = block.pick(1)
    roles = [block.random.choice(("batch", "contract", "contract", "free", "free")) for _ in left.shape]
    free = [block.draft.size() for _ in range(block.random.randint(0, 2))]
    shared = [dim for dim, role in enumerate(roles) if role != "free"]
    # The dims of the right side: shared dims as dims of the left side, then free ones.
    sources = block.random.sample([*shared, *(-1 - index for index in range(len(free)))], len(shared) + len(free))
    right_shape = tuple(left.shape[source] if source >= 0 else free[-1 - source] for source in sources)
    batch = [dim for dim in shared if roles[dim] == "batch"]
    contract = [dim for dim in shared if roles[dim] == "contract"]
    left_free = [size for size, role in zip(left.shape, roles, strict=True) if role == "free"]
    right_free = [free[-1 - source] for source in sources if source < 0]
    shape = (*(left.shape[dim] for dim in batch), *left_free, *right_free)
    if max(prod(shape), prod(right_shape)) > MAX_ELEMENTS:
        return reduce(block)
    right = block.alike(right_shape)
    dims = f"contracting_dims = {contract} x {[sources.index(dim) for dim in contract]}"
    if batch:
        dims = f"batching_dims = {batch} x {[sources.index(dim) for dim in batch]}, {dims}"
    types = f"({left.type}, {right.type}) -> {tensor_type(shape, left.element)}"
    block.define(f"stablehlo.dot_general {left.name}, {right.name}, {dims}", "", types, (shape, left.element))
    return None


def reduce(block: Block) -> None:
    """Add a reduce of one or two tensors."""
    first = block.pick(1)
    dims = sorted(block.random.sample(range(len(first.shape)), block.random.randint(1, len(first.shape))))
    inputs = [first, *([block.alike(first.shape)] if block.draft.chance(0.2) else [])]
    inits = [block.alike(()) for _ in inputs]
    shape = tuple(size for dim, size in enumerate(first.shape) if dim not in dims)
    result = tensor_type(shape, first.element)
    types = f"({types_of([*inputs, *inits])}) -> "
    name = block.random.choice(REDUCERS)
    if len(inputs) == 1:
        head = (
            f"stablehlo.reduce({first.name} init: {inits[0].name}) applies stablehlo.{name} across dimensions = {dims}"
        )
        block.define(head, "", types + result, (shape, first.element))
        return
    names = [block.draft.name("r") for _ in range(6)]
    scalar = tensor_type((), first.element)
    body = (
        f"{{^bb0({', '.join(f'{each}: {scalar}' for each in names[:4])}):\n"
        f"{names[4]} = stablehlo.{name} {names[0]}, {names[2]} : {scalar}\n"
        f"{names[5]} = stablehlo.add {names[1]}, {names[3]} : {scalar}\n"
        f"stablehlo.return {names[4]}, {names[5]} : {scalar}, {scalar}\n}}"
    )
    head = f'"stablehlo.reduce"({names_of([*inputs, *inits])}) <{{dimensions = {array(dims)}}}> ({body})'
    block.define_all(head, "", f"{types}({result}, {result})", (shape, first.element), (shape, first.element))


def reduce_window(block: Block) -> None:
    """Add a reduce_window."""
    operand, init = block.pick(1), block.alike(())
    windows = [block.random.choice((1, 1, min(2, size), size)) for size in operand.shape]
    strides = [block.random.choice((1, 1, 2, window)) for window in windows]
    padding = [list(block.random.choice(((0, 0), (0, 0), (window - 1, 0)))) for window in windows]
    shape = tuple(
        (size + sum(pads) - window) // stride + 1
        for size, pads, window, stride in zip(operand.shape, padding, windows, strides, strict=True)
    )
    attributes = (
        f"<{{window_dimensions = {array(windows)}, window_strides = {array(strides)}, "
        f"padding = dense<{padding}> : tensor<{len(shape)}x2xi64>}}>"
    )
    head = f'"stablehlo.reduce_window"({operand.name}, {init.name}) {attributes} ({_reducer(block)})'
    types = f"({operand.type}, {init.type}) -> {tensor_type(shape, operand.element)}"
    block.define(head, "", types, (shape, operand.element))


def _reducer(block: Block) -> str:
    first, second, result = (block.draft.name("r") for _ in range(3))
    scalar = tensor_type((), block.draft.element)
    op = block.random.choice(REDUCERS)
    return (
        f"{{^bb0({first}: {scalar}, {second}: {scalar}):\n"
        f"{result} = stablehlo.{op} {first}, {second} : {scalar}\nstablehlo.return {result} : {scalar}\n}}"
    )


def convolution(block: Block) -> None:
    """Add a convolution of one or two spatial dims, at times grouped."""
    draft, spatial = block.draft, block.random.randint(1, 2)
    groups, is_batch = block.random.choice(((1, False), (1, False), (2, False), (2, True)))
    batch, features, outputs = (block.random.choice((2, 4, 8)) for _ in range(3))
    sizes, kernel = [block.random.choice((4, 6, 8)) for _ in range(spatial)], block.random.choice((1, 2, 3))
    stride, low = block.random.choice((1, 1, 2)), block.random.choice((0, kernel - 1, (kernel - 1) // 2))
    left = block.alike((batch, *sizes, features))
    right = block.alike((*[kernel] * spatial, features if is_batch else features // groups, outputs))
    room = [(size + 2 * low - kernel) // stride + 1 for size in sizes]
    shape = (batch // groups if is_batch else batch, *room, outputs)
    tags = ", ".join(str(dim) for dim in range(spatial))
    window = f"stride = {[stride] * spatial}, pad = {[[low, low]] * spatial}"
    head = (
        f"stablehlo.convolution({left.name}, {right.name}) dim_numbers = "
        f"[b, {tags}, f]x[{tags}, i, o]->[b, {tags}, f], window = {{{window}}}"
    )
    counts = (
        f"batch_group_count = {groups if is_batch else 1} : i64, "
        f"feature_group_count = {1 if is_batch else groups} : i64"
    )
    types = f"({left.type}, {right.type}) -> {tensor_type(shape, draft.element)}"
    block.define(head, counts, types, (shape, draft.element))


def sort(block: Block) -> None:
    """Add a sort of one or two tensors."""
    first = block.pick(1)
    tensors: list[Tensor] = [first, *([block.alike(first.shape)] if block.draft.chance(0.4) else [])]
    names = [block.draft.name("r") for _ in range(2 * len(tensors))]
    less, scalar = block.draft.name("r"), tensor_type((), first.element)
    body = (
        f"{{^bb0({', '.join(f'{name}: {scalar}' for name in names)}):\n"
        f"{less} = stablehlo.compare LT, {names[0]}, {names[1]} : ({scalar}, {scalar}) -> tensor<i1>\n"
        f"stablehlo.return {less} : tensor<i1>\n}}"
    )
    dim = block.random.randrange(len(first.shape))
    head = f'"stablehlo.sort"({names_of(tensors)}) <{{dimension = {dim} : i64, is_stable = true}}> ({body})'
    results = types_of(tensors)
    block.define_all(
        head,
        "",
        f"({results}) -> {results if len(tensors) == 1 else f'({results})'}",
        *((each.shape, each.element) for each in tensors),
    )
