"""Small ops as text, for the proof: each is made for the shapes of its operands `%arg0`, ..., and returns `%r`.

An op raises ValueError for shapes that it does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from support.execution.one_op import Shape

Op = Callable[[Sequence[Shape]], tuple[str, Shape]]


def text_of(shape: Shape) -> str:
    return f"tensor<{'x'.join((*map(str, shape), 'i32'))}>"


def elementwise(name: str) -> Op:
    return lambda shapes: (f"%r = stablehlo.{name} {arguments(shapes)} : {text_of(shapes[0])}", shapes[0])


def arguments(shapes: Sequence[Shape]) -> str:
    return ", ".join(f"%arg{number}" for number in range(len(shapes)))


def dot(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    (rows, inner), (other, columns) = shapes
    if inner != other:
        raise ValueError
    types = ", ".join(map(text_of, shapes))
    shape = (rows, columns)
    return (
        f"%r = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : ({types}) -> {text_of(shape)}",
        shape,
    )


def reduction(name: str, initial: str, dim: int) -> Op:
    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        shape = tuple(size for each, size in enumerate(shapes[0]) if each != dim)
        body = (
            f"%c = stablehlo.constant dense<{initial}> : tensor<i32>\n  %r = stablehlo.reduce(%arg0 init: %c) applies "
            f"stablehlo.{name} across dimensions = [{dim}] : ({text_of(shapes[0])}, tensor<i32>) -> {text_of(shape)}"
        )
        return body, shape

    return op


def transpose(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    shape = shapes[0][::-1]
    return f"%r = stablehlo.transpose %arg0, dims = [1, 0] : ({text_of(shapes[0])}) -> {text_of(shape)}", shape


def broadcast(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    shape = (4, *shapes[0])
    dims = list(range(1, len(shape)))
    return f"%r = stablehlo.broadcast_in_dim %arg0, dims = {dims} : ({text_of(shapes[0])}) -> {text_of(shape)}", shape


def concatenate(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    if shapes[0][1] != shapes[1][1]:
        raise ValueError
    shape = (shapes[0][0] + shapes[1][0], shapes[0][1])
    types = ", ".join(map(text_of, shapes))
    return f"%r = stablehlo.concatenate %arg0, %arg1, dim = 0 : ({types}) -> {text_of(shape)}", shape


def reverse(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    return f"%r = stablehlo.reverse %arg0, dims = [0] : {text_of(shapes[0])}", shapes[0]


def with_size(shape: Sequence[int], dim: int, size: int) -> Shape:
    """Return the numbers with another one at `dim`."""
    return (*shape[:dim], size, *shape[dim + 1 :])


def constant(name: str, value: int | str) -> str:
    """Return a constant of rank 0."""
    return f"{name} = stablehlo.constant dense<{value}> : tensor<i32>\n  "


def generic_text(
    name: str, operands: str, attributes: str, types: Sequence[Shape], shape: Shape, region: str = ""
) -> str:
    """Return an op in MLIR's generic form, on operands of the shapes `types`."""
    body = f" ({{{region}}})" if region else ""
    kinds = ", ".join(map(text_of, types))
    return f'%r = "stablehlo.{name}"({operands}) <{{{attributes}}}>{body} : ({kinds}) -> {text_of(shape)}'


def generic(name: str, attributes: str, region: str, result: Callable[[Sequence[Shape]], Shape], *extra: str) -> Op:
    """Return an op in MLIR's generic form; `extra` are operands that are constants of rank 0."""

    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        shape, names = result(shapes), [f"%c{number}" for number in range(len(extra))]
        operands, types = ", ".join((arguments(shapes), *names)), (*shapes, *((),) * len(extra))
        text = generic_text(name, operands, attributes, types, shape, region)
        return "".join((*map(constant, names, extra), text)), shape

    return op


def sliced(start: int, limit: int, stride: int) -> Op:
    numbers = {"start_indices": (start, 0), "limit_indices": (limit, 2), "strides": (stride, 1)}
    attributes = ", ".join(f"{name} = array<i64: {one}, {other}>" for name, (one, other) in numbers.items())
    return generic("slice", attributes, "", lambda shapes: (-(-(limit - start) // stride), 2))


def padded(low: int, high: int, interior: int) -> Op:
    names = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    attributes = ", ".join(f"{name} = array<i64: {size}, 0>" for name, size in names.items())

    def shape(shapes: Sequence[Shape]) -> Shape:
        size = shapes[0][0]
        return (size + low + high + (size - 1) * interior, shapes[0][1])

    return generic("pad", attributes, "", shape, "5")


def reshaped(*splits: Callable[[Shape], Shape]) -> Op:
    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        shape = splits[0](shapes[0])
        if prod(shape) != prod(shapes[0]):
            raise ValueError
        return f"%r = stablehlo.reshape %arg0 : ({text_of(shapes[0])}) -> {text_of(shape)}", shape

    return op


def updated(shapes: Sequence[Shape]) -> Shape:
    if any(part > size for part, size in zip(shapes[1], shapes[0], strict=True)):
        raise ValueError
    return shapes[0]


def looked_up(shapes: Sequence[Shape]) -> Shape:
    if shapes[1][1] != 1:
        raise ValueError
    return (shapes[1][0], shapes[0][1])


def scattered(shapes: Sequence[Shape]) -> Shape:
    if shapes[1][1] != 1 or shapes[1][0] != shapes[2][0] or shapes[2][1] != shapes[0][1]:
        raise ValueError
    return shapes[0]


def scattered_windows(shapes: Sequence[Shape]) -> Shape:
    if shapes[1][1] != 2 or shapes[1][0] != shapes[2][0] or shapes[2][1] > shapes[0][1]:
        raise ValueError
    return shapes[0]


def convolved(shapes: Sequence[Shape]) -> Shape:
    (batch, size, features), (window, inner, out) = shapes
    if features != inner or window > size:
        raise ValueError
    return (batch, size - window + 1, out)


def convolved_by_feature(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    """Return a convolution of each feature alone, as a group."""
    (batch, size, features), (window, inner, out) = shapes
    if (inner, out) != (1, features) or window > size or features == 1:
        raise ValueError
    return _convolution(shapes, "b, 0, f]x[0, i, o]->[b, 0, f", features, 1, (batch, size - window + 1, out))


def kernel_gradient_by_feature(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    """Return the gradient of the kernel of such a convolution: the features are a batch, of groups of one element."""
    (batch, size, features), (other_batch, window, out) = shapes
    if (batch, features) != (other_batch, out) or window > size or features == 1:
        raise ValueError
    return _convolution(shapes, "f, 0, b]x[i, 0, o]->[0, b, f", 1, features, (size - window + 1, 1, out))


def _convolution(
    shapes: Sequence[Shape], numbers: str, features: int, batches: int, result: Shape
) -> tuple[str, Shape]:
    attributes = (
        f"dimension_numbers = #stablehlo.conv<[{numbers}]>, feature_group_count = {features} : i64, "
        f"batch_group_count = {batches} : i64"
    )
    return generic("convolution", attributes, "", lambda _: result)(shapes)


def pooled(shapes: Sequence[Shape]) -> Shape:
    if shapes[0][0] < 2:
        raise ValueError
    return (shapes[0][0] - 1, shapes[0][1])


def scalar_region(op: str, result: str = "i32") -> str:
    """Return a region that combines two scalars by an op, with a result of an element type."""
    return (
        f"^bb0(%a: tensor<i32>, %b: tensor<i32>):\n %s = stablehlo.{op} %a, %b : (tensor<i32>, tensor<i32>) -> "
        f"tensor<{result}>\n stablehlo.return %s : tensor<{result}>"
    )


SUM = scalar_region("add")
LESS = scalar_region("compare LT,", "i1")
GATHER = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
    "index_vector_dim = 1>, slice_sizes = array<i64: 1, {columns}>"
)
GATHER_ONE = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0]>, "
    "slice_sizes = array<i64: 1, {columns}>"
)
SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
)
SCATTER_OF_WINDOWS = (  # whose rows and columns are indexed
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>"
)
CONVOLUTION = (
    "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, "
    "batch_group_count = 1 : i64"
)


def gather(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    return generic("gather", GATHER.replace("{columns}", str(shapes[0][1])), "", looked_up)(shapes)


def gather_one(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    """Return a gather of one row at a start that is a vector of one element."""

    def result(shapes: Sequence[Shape]) -> Shape:
        if shapes[1] != (1,):
            raise ValueError
        return (1, shapes[0][1])

    return generic("gather", GATHER_ONE.replace("{columns}", str(shapes[0][1])), "", result)(shapes)


def branches(index: str) -> Op:
    """Return a branch between two values; a third operand, of rank 0, is `%arg2`."""

    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        if shapes[0] != shapes[1]:
            raise ValueError
        kind = text_of(shapes[0])
        body = (
            f"%c = stablehlo.constant dense<{index or 0}> : tensor<i32>\n"
            f'  %r = "stablehlo.case"({"%c" if index else "%arg2"}) ({{\n'
            f"    %n = stablehlo.negate %arg0 : {kind}\n    stablehlo.return %n : {kind}\n  }}, {{\n"
            f"    stablehlo.return %arg1 : {kind}\n  }}) : (tensor<i32>) -> {kind}"
        )
        return body, shapes[0]

    return op


def loop(count: str) -> Op:
    """Return a loop that adds the second operand to the first one; a third operand, of rank 0, is `%arg2`."""

    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        if shapes[0] != shapes[1]:
            raise ValueError
        kind = text_of(shapes[0])
        body = (
            "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
            f"  %last = stablehlo.constant dense<{count or 0}> : tensor<i32>\n"
            f"  %l:2 = stablehlo.while(%i = %zero, %v = %arg0) : tensor<i32>, {kind}\n  cond {{\n"
            f"    %t = stablehlo.compare LT, %i, {'%last' if count else '%arg2'} : (tensor<i32>, tensor<i32>) -> "
            "tensor<i1>\n    stablehlo.return %t : tensor<i1>\n  } do {\n"
            "    %one = stablehlo.constant dense<1> : tensor<i32>\n    %j = stablehlo.add %i, %one : tensor<i32>\n"
            f"    %w = stablehlo.add %v, %arg1 : {kind}\n    stablehlo.return %j, %w : tensor<i32>, {kind}\n  }}\n"
            f"  %r = stablehlo.negate %l#1 : {kind}"
        )
        return body, shapes[0]

    return op


def largest(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    shape = (shapes[0][0], 2)
    if shapes[0][1] < 2:
        raise ValueError
    return (
        f"%r, %places = chlo.top_k(%arg0, k = 2) : {text_of(shapes[0])} -> ({text_of(shape)}, {text_of(shape)})",
        shape,
    )


def same_sizes(op: Op) -> Op:
    def checked(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        if len(set(shapes)) > 1:
            raise ValueError
        return op(shapes)

    return checked
