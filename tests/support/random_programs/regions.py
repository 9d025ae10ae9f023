"""Draw ops with regions and calls: while, case, manual and named computations, calls, optimization barriers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from sdy.model.axis import AxisRef
from support.random_programs.annotations import Shape
from support.random_programs.draft import Block, Function, Tensor, names_of, types_of

MAX_DEPTH = 2
Fill = Callable[[Block, int], None]  # writes some ops into a block


def optimization_barrier(block: Block) -> None:
    """Add an optimization barrier of one to three values."""
    operands = list(dict.fromkeys(block.pick() for _ in range(block.random.randint(1, 3))))
    head = f'"stablehlo.optimization_barrier"({names_of(operands)})'
    types = f"({types_of(operands)}) -> ({types_of(operands)})"
    block.define_all(head, "", types, *((each.shape, each.element) for each in operands))


def arguments_for(block: Block, shapes: Sequence[tuple[Shape, str]], prefix: str = "b") -> list[Tensor]:
    """Return new block arguments of these shapes."""
    return [Tensor(block.draft.name(prefix), *shape) for shape in shapes]


def headed(arguments: Sequence[Tensor]) -> str:
    """Return the argument list of a block: `%a: type, %b: type`."""
    return ", ".join(f"{each.name}: {each.type}" for each in arguments)


def like(block: Block, model: Tensor) -> Tensor:
    """Return a value of the type of `model`, preferably one defined in this block."""
    fitting = [each for each in block.values if (each.shape, each.element) == (model.shape, model.element)]
    new = [each for each in fitting if each in block.defined]
    return block.use(block.random.choice(new or fitting))


def some_results(block: Block, count: int) -> list[Tensor]:
    """Return the results of a block: mostly all unused values, so that few ops are dead."""
    if block.unused and not (block.draft.leaves_dead and block.draft.chance(0.3)):
        return [block.use(each) for each in list(block.unused)]
    return [block.pick(1) for _ in range(count)]


def while_loop(block: Block, fill: Fill) -> None:
    """Add a loop of one to three iterations over one or two values."""
    carried = [block.pick(1) for _ in range(block.random.randint(1, 2))]
    counter = block.constant("0", (), "i32")
    limit = block.constant(str(block.random.randint(1, 3)), (), "i32")
    one = block.constant("1", (), "i32")
    inputs = [counter, *carried]
    kinds = [(each.shape, each.element) for each in inputs]
    test_arguments, body_arguments = arguments_for(block, kinds), arguments_for(block, kinds)
    less, following = block.draft.name("r"), block.draft.name("r")
    test = (
        f"^bb0({headed(test_arguments)}):\n{less} = stablehlo.compare LT, {test_arguments[0].name}, {limit.name} : "
        f"(tensor<i32>, tensor<i32>) -> tensor<i1>\nstablehlo.return {less} : tensor<i1>"
    )
    inside = block.inner(body_arguments, sees_outside=True)
    fill(inside, 3)
    results = [like(inside, argument) for argument in body_arguments[1:]]
    inside.keep_alive()
    lines = [*inside.lines, f"{following} = stablehlo.add {body_arguments[0].name}, {one.name} : tensor<i32>"]
    end = f"stablehlo.return {following}, {names_of(results)} : {types_of(inputs)}"
    body = "\n".join([f"^bb0({headed(body_arguments)}):", *lines, end])
    head = f'"stablehlo.while"({names_of(inputs)}) ({{{test}\n}}, {{{body}\n}})'
    block.define_all(head, "", f"({types_of(inputs)}) -> ({types_of(inputs)})", *kinds)


def case(block: Block, fill: Fill) -> None:
    """Add a case op of two or three branches with one result."""
    model = block.pick(1)
    index = block.alike((), "i32")
    branches: list[str] = []
    for _ in range(block.random.randint(2, 3)):
        inside = block.inner((), sees_outside=True)
        fill(inside, 2)
        result = like(inside, model)
        inside.keep_alive()
        branches.append("\n".join(["{", *inside.lines, f"stablehlo.return {result.name} : {result.type}", "}"]))
    head = f'"stablehlo.case"({index.name}) ({", ".join(branches)})'
    block.define(head, "", f"({index.type}) -> {model.type}", (model.shape, model.element))


def named_computation(block: Block, fill: Fill) -> None:
    """Add a named computation, at times with shardings of arguments and results."""
    operands = [block.pick(1) for _ in range(block.random.randint(1, 2))]
    arguments = arguments_for(block, [(each.shape, each.element) for each in operands])
    inside = block.inner(arguments, sees_outside=False)
    fill(inside, 3)
    results = some_results(inside, 1)
    shardings = ""
    for side, tensors in (("in", operands), ("out", results)):
        if block.draft.chance(0.5):
            texts = ", ".join(block.sharding(each.shape) for each in tensors)
            shardings += f" {side}_shardings=[{texts}]"
    body = "\n".join([*inside.lines, f"sdy.return {names_of(results)} : {types_of(results)}"])
    head = f'sdy.named_computation<"part">({names_of(operands)}){shardings} ({headed(arguments)}) {{\n{body}\n}}'
    _define_region_op(block, head, operands, results)


def _define_region_op(block: Block, head: str, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    types = f"({types_of(operands)}) -> {types_of(results) if len(results) == 1 else f'({types_of(results)})'}"
    names = [block.draft.name() for _ in results]
    block.lines.append(f"{', '.join(names)} = {head} : {types}")
    kinds = zip(names, results, strict=True)
    block.add(*(Tensor(name, result.shape, result.element) for name, result in kinds))


def manual_computation(block: Block, fill: Fill) -> None:
    """Add a manual computation along some axes."""
    axes = block.draft.annotations.axes
    free = [name for name in axes if name not in block.manual_axes]
    # Executable programs do not nest manual computations.
    if not free or (block.draft.options.executable and block.manual_axes):
        return
    manual = sorted(block.random.sample(free, min(len(free), block.random.choice((1, 1, 2)))), key=list(axes).index)
    # A value of rank 0 cannot be sharded; its copies would have to be equal.
    operands = [block.pick(1) for _ in range(block.random.randint(1, 2))]
    into = [_manual_axes_of(block, each.shape, manual) for each in operands]
    local = [_resized(each.shape, dims, axes, shrink=True) for each, dims in zip(operands, into, strict=True)]
    arguments = arguments_for(block, [(shape, each.element) for shape, each in zip(local, operands, strict=True)])
    inside = block.inner(arguments, manual, sees_outside=False)
    fill(inside, 3)
    results = [each for each in some_results(inside, 1) if each.shape] or [inside.use(arguments[0])]
    inside.unused = [each for each in inside.defined if not each.shape]
    inside.keep_alive()
    out_of = [_manual_axes_of(block, each.shape, manual, is_result=True) for each in results]
    outside = [
        Tensor(each.name, _resized(each.shape, dims, axes, shrink=False), each.element)
        for each, dims in zip(results, out_of, strict=True)
    ]
    in_texts = [_manual_sharding(block, dims, manual) for dims in into]
    out_texts = [_manual_sharding(block, dims, manual) for dims in out_of]
    body = "\n".join([*inside.lines, f"sdy.return {names_of(results)} : {types_of(results)}"])
    quoted = ", ".join(f'"{axis}"' for axis in manual)
    head = (
        f"sdy.manual_computation({names_of(operands)}) in_shardings=[{', '.join(in_texts)}] "
        f"out_shardings=[{', '.join(out_texts)}] manual_axes={{{quoted}}} ({headed(arguments)}) {{\n{body}\n}}"
    )
    _define_region_op(block, head, operands, outside)


def _manual_axes_of(block: Block, shape: Shape, manual: Sequence[str], *, is_result: bool = False) -> list[list[str]]:
    """Return the manual axes of each dim.

    In executable programs results are sharded along all of them, because devices may hold different values.
    """
    axes = block.draft.annotations.axes
    dims: list[list[str]] = [[] for _ in shape]
    sizes = list(shape)
    must = is_result and block.draft.options.executable
    for axis in manual:
        fitting = [dim for dim, size in enumerate(sizes) if is_result or size % axes[axis] == 0]
        if fitting and (must or block.draft.chance(0.7)):
            dim = block.random.choice(fitting)
            dims[dim].append(axis)
            sizes[dim] = sizes[dim] if is_result else sizes[dim] // axes[axis]
    return dims


def _resized(shape: Shape, dims: Sequence[Sequence[str]], axes: dict[str, int], *, shrink: bool) -> Shape:
    counts = [prod(axes[axis] for axis in dim) for dim in dims]
    return tuple(size // count if shrink else size * count for size, count in zip(shape, counts, strict=True))


def _manual_sharding(block: Block, manual_dims: Sequence[Sequence[str]], manual: Sequence[str]) -> str:
    """Return a sharding with manual axes before free ones in each dim; manual axes in no dim are replicated."""
    annotations, taken = block.draft.annotations, {*block.manual_axes, *manual}
    free = annotations.some_refs({name: size for name, size in annotations.axes.items() if name not in taken})
    free_dims = annotations.spread(free[: block.random.randint(0, 2)], len(manual_dims))
    dims = [
        annotations.dim([*map(AxisRef, own), *others], priorities=False)
        for own, others in zip(manual_dims, free_dims, strict=True)
    ]
    replicated = [AxisRef(axis) for axis in manual if not any(axis in dim for dim in manual_dims)]
    return annotations.write(annotations.meshes[0], dims, replicated)


def call(block: Block, fill: Fill) -> None:
    """Add a call of a new function, or of an existing one if values for its arguments exist."""
    function = _known_function(block) if block.draft.chance(0.5) else None
    if function is None:
        function = _new_function(block, [block.pick(1) for _ in range(block.random.randint(1, 2))], fill)
    operands = [block.alike(each.shape, each.element) for each in function.arguments]
    results = types_of(function.results)
    types = f"({types_of(operands)}) -> {results if len(function.results) == 1 else f'({results})'}"
    kinds = [(each.shape, each.element) for each in function.results]
    block.define_all(f"func.call @{function.name}({names_of(operands)})", "", types, *kinds)


def _known_function(block: Block) -> Function | None:
    types = {each.type for each in block.values}
    fitting = [
        each
        for each in block.draft.functions
        if each.manual_axes == block.manual_axes and all(argument.type in types for argument in each.arguments)
    ]
    return block.random.choice(fitting) if fitting else None


def _new_function(block: Block, like_these: Sequence[Tensor], fill: Fill) -> Function:
    arguments = arguments_for(block, [(each.shape, each.element) for each in like_these], "arg")
    inside = block.inner(arguments, sees_outside=False)
    fill(inside, 3)
    results = some_results(inside, 1)
    name = f"part_{len(block.draft.functions)}"
    head = ", ".join(f"{each.name}: {each.type}{boundary_sharding(block, each.shape)}" for each in arguments)
    types = ", ".join(f"{each.type}{boundary_sharding(block, each.shape)}" for each in results)
    end = f"return {names_of(results)} : {types_of(results)}"
    text = "\n".join([f"func.func private @{name}({head}) -> ({types}) {{", *inside.lines, end, "}"])
    kept = tuple(Tensor("", each.shape, each.element) for each in results)
    function = Function(name, tuple(arguments), kept, block.manual_axes, text)
    block.draft.functions.append(function)
    return function


def boundary_sharding(block: Block, shape: Shape) -> str:
    """Return the attributes of a function argument or result: a sharding, or an empty text."""
    if not block.draft.chance(block.draft.options.annotated + 0.15):
        return ""
    return f" {{sdy.sharding = #sdy.sharding{block.sharding(shape)}}}"
