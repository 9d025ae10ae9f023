"""Families of small ops that differ in attributes, regions or operands only, for tests that tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product

from support.execution.one_op import Shape
from support.execution.small_ops import constant, generic_text, scalar_region, text_of, with_size

Op = tuple[str, Shape]  # a text that returns `%r`, and the shape of its result
Family = Callable[[Sequence[Shape]], Iterator[Op]]  # ops on operands of some shapes: `%arg0`, `%arg1`, ...

COMPARISONS = ("LT", "LE", "GT", "GE", "EQ", "NE")
LARGEST_SIZE = 4


def op_of(
    name: str,
    shape: Shape,
    types: Sequence[Shape],
    attributes: str = "",
    *,
    operands: str = "%arg0",
    region: str = "",
    before: str = "",
) -> Op:
    """Return an op in MLIR's generic form, with the ops `before` it."""
    return f"{before}{generic_text(name, operands, attributes, types, shape, region)}", shape


def array(values: Sequence[int]) -> str:
    """Return an array attribute."""
    return f"array<i64{': ' if values else ''}{', '.join(map(str, values))}>"


def both(first: Family, second: Family) -> Family:
    """Return all ops of the first family, each followed by one of the second family."""

    def ops(shapes: Sequence[Shape]) -> Iterator[Op]:
        for text, shape in first(shapes):
            for following, result in second((shape,)):
                yield f"{text.replace('%r', '%v')}\n  {following.replace('%c', '%d').replace('%arg0', '%v')}", result

    return ops


def pads(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield pads, also negative ones, along one dim."""
    (shape,) = shapes
    none = (0,) * len(shape)
    margins = (-2, -1, 0, 1, 2)
    for dim, low, high, interior in product(range(len(shape)), margins, margins, (0, 1)):
        size = shape[dim] + low + high + (shape[dim] - 1) * interior
        if 0 < size <= LARGEST_SIZE:
            sizes = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
            attributes = ", ".join(f"{name} = {array(with_size(none, dim, each))}" for name, each in sizes.items())
            padded = with_size(shape, dim, size)
            yield op_of("pad", padded, (shape, ()), attributes, operands="%arg0, %c", before=constant("%c", 5))


def slices(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield slices along one dim."""
    (shape,) = shapes
    for dim, size in enumerate(shape):
        for start, step in product(range(size), (1, 2)):
            for limit in range(start + 1, size + 1):
                attributes = (
                    f"start_indices = {array(with_size((0,) * len(shape), dim, start))}, "
                    f"limit_indices = {array(with_size(shape, dim, limit))}, "
                    f"strides = {array(with_size((1,) * len(shape), dim, step))}"
                )
                yield op_of("slice", with_size(shape, dim, -(-(limit - start) // step)), shapes, attributes)


def rearrangements(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield reverses, transposes, reshapes and broadcasts."""
    (shape,) = shapes
    rank = len(shape)
    for flags in range(2**rank):
        yield op_of("reverse", shape, shapes, f"dimensions = {array(_dims(flags, rank))}")
    for order in permutations(range(rank)):
        permuted = tuple(shape[dim] for dim in order)
        yield op_of("transpose", permuted, shapes, f"permutation = {array(order)}")
        yield op_of("reshape", permuted, shapes)
    for position, size in product(range(rank + 1), (1, 2)):
        dims = [dim for dim in range(rank + 1) if dim != position]
        larger = (*shape[:position], size, *shape[position:])
        yield op_of("broadcast_in_dim", larger, shapes, f"broadcast_dimensions = {array(dims)}")


def _dims(flags: int, rank: int) -> list[int]:
    return [dim for dim in range(rank) if flags >> dim & 1]


def pairs(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield elementwise ops on two operands, selects and concatenations."""
    one, other = shapes
    if one == other:
        names = ("add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "divide")
        for name, operands in product(names, ("%arg0, %arg1", "%arg1, %arg0", "%arg0, %arg0")):
            yield op_of(name, one, shapes, operands=operands)
        kind = text_of(one)
        test = kind.replace("i32", "i1")
        for direction, operands in product(COMPARISONS, ("%arg0, %arg1", "%arg1, %arg0")):
            compare = f"%t = stablehlo.compare {direction}, %arg0, %arg1 : ({kind}, {kind}) -> {test}\n  "
            yield f"{compare}%r = stablehlo.select %t, {operands} : {test}, {kind}", one
    for dim in range(len(one)):
        if with_size(one, dim, 0) == with_size(other, dim, 0):
            size, attributes = with_size(one, dim, one[dim] + other[dim]), f"dimension = {dim} : i64"
            for operands, types in (("%arg0, %arg1", shapes), ("%arg1, %arg0", (other, one))):
                yield op_of("concatenate", size, types, attributes, operands=operands)


def _combiners() -> Iterator[tuple[str, str]]:
    """Yield the initial value of a reduction, `%c`, and its region."""
    for name, initial in (("add", 0), ("add", 3), ("maximum", 0), ("minimum", -9), ("multiply", 1), ("multiply", 0)):
        yield constant("%c", initial), scalar_region(name)


def reductions(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield reductions along one or several dims, and sorts."""
    (shape,) = shapes
    rank = len(shape)
    for (initial, region), flags in product(_combiners(), range(1, 2**rank)):
        dims = _dims(flags, rank)
        reduced = tuple(size for dim, size in enumerate(shape) if dim not in dims)
        attributes = f"dimensions = {array(dims)}"
        yield op_of("reduce", reduced, (shape, ()), attributes, operands="%arg0, %c", region=region, before=initial)
    for dim, direction in product(range(rank), COMPARISONS[:4]):
        attributes = f"dimension = {dim} : i64, is_stable = true"
        yield op_of("sort", shape, shapes, attributes, region=scalar_region(f"compare {direction},", "i1"))


def window_reductions(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield reductions of windows along one dim."""
    (shape,) = shapes
    rank = len(shape)
    ones = (1,) * rank
    numbers = product(range(rank), (1, 2), (1, 2), (-1, 0, 1), (-1, 0, 1), (1, 2), [*_combiners()][:2])
    for dim, window, step, low, high, apart, (initial, region) in numbers:
        room = shape[dim] + low + high - (window - 1) * apart
        if 0 < room <= LARGEST_SIZE * step:
            padding = [[low, high] if each == dim else [0, 0] for each in range(rank)]
            attributes = (
                f"window_dimensions = {array(with_size(ones, dim, window))}, "
                f"window_strides = {array(with_size(ones, dim, step))}, "
                f"window_dilations = {array(with_size(ones, dim, apart))}, "
                f"padding = dense<{padding}> : tensor<{rank}x2xi64>"
            )
            found = with_size(shape, dim, (room - 1) // step + 1)
            yield op_of(
                "reduce_window", found, (shape, ()), attributes, operands="%arg0, %c", region=region, before=initial
            )


def convolutions(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield convolutions along one spatial dim, with the roles of all dims permuted."""
    one, other = shapes
    for left, right, result in product(permutations("bf0"), permutations("io0"), (*permutations("bf0"),)):
        lhs, rhs = dict(zip(left, one, strict=True)), dict(zip(right, other, strict=True))
        if lhs["f"] == rhs["i"] and lhs["0"] >= rhs["0"]:
            sizes = {"b": lhs["b"], "f": rhs["o"], "0": lhs["0"] - rhs["0"] + 1}
            numbers = "[{}]x[{}]->[{}]".format(*(", ".join(each) for each in (left, right, result)))
            attributes = (
                f"dimension_numbers = #stablehlo.conv<{numbers}>, batch_group_count = 1 : i64, "
                "feature_group_count = 1 : i64"
            )
            shape = tuple(sizes[each] for each in result)
            yield op_of("convolution", shape, shapes, attributes, operands="%arg0, %arg1")


def gathers(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield gathers of rows, columns and blocks of a matrix at a list of indices, and scatters of rows and columns."""
    value, indices = shapes
    for dim, position in product(range(2), range(2)):
        found = (indices[0], value[1 - dim]) if position else (value[1 - dim], indices[0])
        numbers = f"offset_dims = [{position}], collapsed_slice_dims = [{dim}], start_index_map = [{dim}]"
        yield _gather(numbers, with_size(value, dim, 1), found, shapes)
        numbers = (
            f"update_window_dims = [{position}], inserted_window_dims = [{dim}], "
            f"scatter_dims_to_operand_dims = [{dim}], index_vector_dim = 1"
        )
        for name in ("add", "maximum", "multiply"):
            yield op_of(
                "scatter",
                value,
                (value, indices, found),
                f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>",
                operands="%arg0, %arg1, %u",
                region=scalar_region(name),
                before=f"%u = stablehlo.constant dense<3> : {text_of(found)}\n  ",
            )
    for sizes in product(range(1, value[0] + 1), range(1, value[1] + 1)):
        yield _gather("offset_dims = [1, 2], start_index_map = [0]", sizes, (indices[0], *sizes), shapes)


def _gather(numbers: str, sizes: Shape, found: Shape, shapes: Sequence[Shape]) -> Op:
    numbers = f"{numbers}, index_vector_dim = 1"
    attributes = f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {array(sizes)}"
    return op_of("gather", found, shapes, attributes, operands="%arg0, %arg1")


def constants(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield known values: constants, iotas and broadcasts of iotas."""
    for size, value in ((2, "0"), (2, "1"), (2, "[0, 1]"), (2, "[1, 0]"), (4, "[0, 1, 2, 3]"), (4, "[0, 1, 0, 1]")):
        yield f"%r = stablehlo.constant dense<{value}> : {text_of((size,))}", (size,)
    for shape in ((2,), (4,), (2, 2)):
        for dim, size in enumerate(shape):
            yield f"%r = stablehlo.iota dim = {dim} : {text_of(shape)}", shape
            before = f"%i = stablehlo.iota dim = 0 : {text_of((size,))}\n  "
            attributes = f"broadcast_dimensions = {array([dim])}"
            yield op_of("broadcast_in_dim", shape, ((size,),), attributes, operands="%i", before=before)


def products(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield contractions of two values along one pair of dims, without and with a pair of batching dims."""
    one, other = shapes
    choices = list(product(range(len(one)), range(len(other))))
    for contracted, batched in product(choices, (None, *choices)):
        used = [each for each in (contracted, batched) if each is not None]
        is_distinct = len({a for a, _ in used}) == len({b for _, b in used}) == len(used)
        if is_distinct and all(one[a] == other[b] for a, b in used):
            batch = () if batched is None else (one[batched[0]],)
            left = (size for dim, size in enumerate(one) if dim not in [a for a, _ in used])
            right = (size for dim, size in enumerate(other) if dim not in [b for _, b in used])
            batching = "" if batched is None else f"batching_dims = [{batched[0]}] x [{batched[1]}], "
            shape = (*batch, *left, *right)
            yield (
                f"%r = stablehlo.dot_general %arg0, %arg1, {batching}contracting_dims = [{contracted[0]}] x "
                f"[{contracted[1]}] : ({text_of(one)}, {text_of(other)}) -> {text_of(shape)}",
                shape,
            )


def reads_and_writes(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield dynamic slices of a value at constant indices, and updates of it by the second operand."""
    value, update = shapes
    scalars = ((),) * len(value)
    names = [f"%c{dim}" for dim in range(len(value))]
    for start in product((0, 1, 2), repeat=len(value)):
        before = "".join(map(constant, names, start))
        for sizes in {update, with_size(update, 0, 1)}:
            if all(size <= whole for size, whole in zip(sizes, value, strict=True)):
                operands, attributes = ", ".join(("%arg0", *names)), f"slice_sizes = {array(sizes)}"
                types = (value, *scalars)
                yield op_of("dynamic_slice", sizes, types, attributes, operands=operands, before=before)
        if all(size <= whole for size, whole in zip(update, value, strict=True)):
            operands = ", ".join(("%arg0", "%arg1", *names))
            yield op_of("dynamic_update_slice", value, (value, update, *scalars), operands=operands, before=before)


def threes(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield clamps, and concatenations of two or three operands, in all orders of operands."""
    kinds = text_of(shapes[0])
    if len({*shapes}) > 1:
        return
    for order in product(("%arg0", "%arg1", "%arg2"), repeat=3):
        yield f"%r = stablehlo.clamp {', '.join(order)} : ({kinds}, {kinds}, {kinds}) -> {kinds}", shapes[0]
        for dim, size in enumerate(shapes[0]):
            attributes, larger = f"dimension = {dim} : i64", with_size(shapes[0], dim, 3 * size)
            yield op_of("concatenate", larger, shapes, attributes, operands=", ".join(order))


def sorts_of_two(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield sorts of two operands by the first or the second one, of which one is returned; and largest elements."""
    (one, other), kind = shapes, text_of(shapes[0])
    if one != other:
        return
    for dim, direction, first, returned in product(range(len(one)), ("LT", "GT", "GE"), (0, 1), (0, 1)):
        values = ("%a, %b", "%c, %d")[first]
        body = (
            "^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):\n"
            f"%p = stablehlo.compare {direction}, {values} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            "stablehlo.return %p : tensor<i1>"
        )
        sort = f'"stablehlo.sort"(%arg0, %arg1) <{{dimension = {dim} : i64, is_stable = true}}> ({{{body}}})'
        yield (
            f"%w:2 = {sort} : ({kind}, {text_of(other)}) -> ({kind}, {kind})\n  "
            f"%r = stablehlo.optimization_barrier %w#{returned} : {kind}",
            one,
        )
    for count, returned, operand in product(range(1, one[-1] + 1), (0, 1), ("%arg0", "%arg1")):
        found = (*one[:-1], count)
        yield (
            f"%w:2 = chlo.top_k({operand}, k = {count}) : {kind} -> ({text_of(found)}, {text_of(found)})\n  "
            f"%r = stablehlo.optimization_barrier %w#{returned} : {text_of(found)}",
            found,
        )


def grouped_convolutions(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield convolutions with groups of features or of the batch, strides, dilations, padding and reversed windows."""
    one, other = shapes
    for step, spread, apart, low, is_reversed in product((1, 2), (1, 2), (1, 2), (0, 1), (0, 1)):
        span = (other[2] - 1) * apart + 1
        room = (one[2] - 1) * spread + 1 + low - span
        for batches, features in ((1, 1), (1, 2), (2, 1)):
            is_valid = one[1] == other[0] * features and one[0] % batches == other[1] % (batches * features) == 0
            if room < 0 or not is_valid:
                continue
            found = (one[0] // batches, other[1], room // step + 1)
            attributes = (
                "dimension_numbers = #stablehlo.conv<[b, f, 0]x[i, o, 0]->[b, f, 0]>, "
                f"batch_group_count = {batches} : i64, feature_group_count = {features} : i64, "
                f"window_strides = {array([step])}, lhs_dilation = {array([spread])}, rhs_dilation = {array([apart])}, "
                f"padding = dense<[[{low}, 0]]> : tensor<1x2xi64>, "
                f"window_reversal = array<i1: {'true' if is_reversed else 'false'}>"
            )
            yield op_of("convolution", found, shapes, attributes, operands="%arg0, %arg1")


def selections(shapes: Sequence[Shape]) -> Iterator[Op]:
    """Yield scatters of a source to the elements of windows that a comparison selects."""
    value, source = shapes
    for dim, window, step, direction, low in product(range(len(value)), (1, 2), (1, 2), ("GE", "LE"), (0, 1)):
        room = value[dim] + low - window
        if room < 0 or with_size(value, dim, room // step + 1) != source:
            continue
        ones = (1,) * len(value)
        padding = [[low, 0] if each == dim else [0, 0] for each in range(len(value))]
        attributes = (
            f"window_dimensions = {array(with_size(ones, dim, window))}, "
            f"window_strides = {array(with_size(ones, dim, step))}, "
            f"padding = dense<{padding}> : tensor<{len(value)}x2xi64>"
        )
        for name in ("add", "maximum"):
            regions = f"{scalar_region(f'compare {direction},', 'i1')}}}, {{{scalar_region(name)}"
            types = (value, source, ())
            yield op_of(
                "select_and_scatter",
                value,
                types,
                attributes,
                operands="%arg0, %arg1, %c",
                region=regions,
                before=constant("%c", 0),
            )


FAMILIES: dict[str, tuple[Family, list[list[Shape]]]] = {
    "pads": (pads, [[(1,)], [(2,)], [(3,)], [(1, 2)], [(2, 1)]]),
    "slices": (slices, [[(1,)], [(4,)], [(2, 2)]]),
    "rearrangements": (rearrangements, [[(2,)], [(1, 2)], [(2, 2)], [(2, 1, 2)]]),
    "pads, then slices": (both(pads, slices), [[(1,)], [(2,)]]),
    "slices, then pads": (both(slices, pads), [[(1,)], [(2,)]]),
    "pads, then rearrangements": (both(pads, rearrangements), [[(1,)]]),
    "rearrangements, twice": (both(rearrangements, rearrangements), [[(2,)], [(1, 2)]]),
    "rearrangements, then slices": (both(rearrangements, slices), [[(2,)], [(1, 2)]]),
    "two operands": (pairs, [[(2,), (2,)], [(2, 2), (2, 2)], [(1, 2), (1, 2)], [(2, 1), (2, 2)]]),
    "reductions": (reductions, [[(1,)], [(2,)], [(2, 2)], [(1, 2)], [(2, 2, 2)]]),
    "reductions, then rearrangements": (both(reductions, rearrangements), [[(2, 2)]]),
    "rearrangements, then reductions": (both(rearrangements, reductions), [[(2, 2)]]),
    "reductions of windows": (window_reductions, [[(1,)], [(2,)], [(2, 2)]]),
    "convolutions": (convolutions, [[(2, 2, 2), (2, 2, 2)], [(2, 1, 2), (1, 2, 2)]]),
    "gathers and scatters": (gathers, [[(2, 2), (2, 1)], [(1, 2), (1, 1)]]),
    "constants": (constants, [[]]),
    "products": (products, [[(2, 2), (2, 2)], [(1, 2), (2, 1)], [(2, 2, 2), (2, 2)]]),
    "three operands": (threes, [[(2,), (2,), (2,)], [(1,), (1,), (1,)]]),
    "sorts of two operands": (sorts_of_two, [[(2,), (2,)], [(2, 4), (2, 4)]]),
    "convolutions in groups": (grouped_convolutions, [[(2, 2, 2), (1, 2, 2)], [(2, 2, 2), (2, 2, 1)]]),
    "selections": (selections, [[(4,), (2,)], [(2, 2), (2, 2)], [(4, 2), (2, 2)]]),
    "reads and writes": (reads_and_writes, [[(2,), (1,)], [(4,), (2,)], [(1, 2), (1, 1)]]),
}
