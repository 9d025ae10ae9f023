"""Draw element-wise ops."""

from __future__ import annotations

from support.random_programs.draft import Block, tensor_type

UNARY = {"f32": ("tanh", "negate", "abs", "cosine", "logistic"), "i32": ("negate", "abs", "not", "sign")}
BINARY = ("add", "add", "subtract", "multiply", "maximum", "minimum")


def unary(block: Block) -> None:
    """Add a unary op."""
    operand = block.pick()
    name = block.random.choice(UNARY[operand.element])
    block.define(f"stablehlo.{name} {operand.name}", "", operand.type, (operand.shape, operand.element))


def binary(block: Block) -> None:
    """Add a binary op, at times with one value as both operands."""
    left = block.pick()
    right = left if block.draft.chance(0.1) else block.alike(left.shape)
    name = block.random.choice(BINARY)
    block.define(f"stablehlo.{name} {left.name}, {right.name}", "", left.type, (left.shape, left.element))


def select(block: Block) -> None:
    """Add a select by a comparison or by a scalar predicate."""
    left = block.pick()
    right = block.alike(left.shape)
    if block.draft.chance(0.25):
        predicate = block.alike((), "i1")
    else:
        direction = block.random.choice(("LT", "GE", "EQ"))
        predicate = block.use(
            block.define(
                f"stablehlo.compare {direction}, {left.name}, {right.name}",
                "",
                f"({left.type}, {right.type}) -> {tensor_type(left.shape, 'i1')}",
                (left.shape, "i1"),
            )
        )
    operands = f"{predicate.name}, {left.name}, {right.name}"
    block.define(f"stablehlo.select {operands}", "", f"{predicate.type}, {left.type}", (left.shape, left.element))


def clamp(block: Block) -> None:
    """Add a clamp between two scalars or two tensors."""
    operand = block.pick()
    shape = () if block.draft.chance(0.6) else operand.shape
    low, high = block.alike(shape), block.alike(shape)
    types = f"({low.type}, {operand.type}, {high.type}) -> {operand.type}"
    operands = f"{low.name}, {operand.name}, {high.name}"
    block.define(f"stablehlo.clamp {operands}", "", types, (operand.shape, operand.element))


def convert(block: Block) -> None:
    """Convert to another element type and back."""
    operand = block.pick()
    for element in ("i64" if operand.element == "i32" else "f64", operand.element):
        result = tensor_type(operand.shape, element)
        types = f"({operand.type}) -> {result}"
        operand = block.use(block.define(f"stablehlo.convert {operand.name}", "", types, (operand.shape, element)))
    block.unused.append(operand)


def constant(block: Block) -> None:
    """Add a splat constant or an iota."""
    shape = block.draft.shape()
    if block.draft.chance(0.5):
        block.unused.append(
            block.constant("1", shape, "i32") if block.draft.element == "i32" else block.constant("0.25", shape, "f32")
        )
        return
    dim = block.random.randrange(len(shape))
    block.define(
        f"stablehlo.iota dim = {dim}", "", tensor_type(shape, block.draft.element), (shape, block.draft.element)
    )
