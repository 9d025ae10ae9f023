"""Small programs for the rules of the linter: one in which each rule finds something, and one in which it must not.

Abbreviations: `T` is the type of most tensors; `X0`, `X1`, `Y1`, `XY0` are annotations that shard the numbered dim
along the named axes, `N` that shards none; `@X0` is a sharding constraint and `=X0` the annotation of an op.
"""

from __future__ import annotations

import re

HEAD = 'sdy.mesh @m = <["x"=4, "y"=2]>\n'
DIMS = {
    "N": "[{}, {}]",
    "X0": '[{"x"}, {}]',
    "X1": '[{}, {"x"}]',
    "X1P1": '[{}, {"x"}p1]',
    "Y1": '[{}, {"y"}]',
    "Y0X1": '[{"y"}, {"x"}]',
    "XY0": '[{"x", "y"}, {}]',
}
_ABBREVIATION = re.compile(r"([@=]?)\b(" + "|".join(DIMS) + r")\b|\bT\b|\bBIG\b")


def program(text: str) -> str:
    """Return a program without abbreviations."""

    def replaced(match: re.Match[str]) -> str:
        types = {"T": "tensor<1024x1024xf32>", "BIG": "tensor<65536x1024xf32>"}
        if match[0] in types:
            return types[match[0]]
        sharding = f"<@m, {DIMS[match[2]]}>"
        if match[1] == "@":
            return sharding
        if match[1] == "=":
            return f"{{sdy.sharding = #sdy.sharding_per_value<[{sharding}]>}}"
        return f"{{sdy.sharding = #sdy.sharding{sharding}}}"

    return HEAD + _ABBREVIATION.sub(replaced, text)


def loop(weight: str, returned: str = "%u", trips: int = 10, sizes: tuple[int, int] = (65536, 1024)) -> str:
    """Return a loop that multiplies by `tanh` of a weight in each trip; `returned` is the weight of the next one.

    The memory is largest after the loop, so that a weight that is kept for all trips does not raise the peak.
    """
    big, small = f"tensor<{sizes[0]}x{sizes[1]}xf32>", f"tensor<{sizes[1]}x{sizes[1]}xf32>"
    wide = f"tensor<{sizes[0]}x{2 * sizes[1]}xf32>"
    return f"""
func.func @main(%a: {big} XY0, %w: {small} {weight}) -> ({big} XY0) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %s = %a, %u = %w) : tensor<i32>, {big}, {small}
    cond {{
      %limit = stablehlo.constant dense<{trips}> : tensor<i32>
      %c = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %v = stablehlo.tanh %u : {small}
      %d = stablehlo.dot_general %s, %v, contracting_dims = [1] x [0] : ({big}, {small}) -> {big}
      stablehlo.return %j, %d, {returned} : tensor<i32>, {big}, {small}
    }}
  %1 = stablehlo.concatenate %0#1, %0#1, dim = 1 : ({big}, {big}) -> {wide}
  %2 = stablehlo.slice %1 [0:{sizes[0]}, 0:{sizes[1]}] : ({wide}) -> {big}
  return %2 : {big}
}}
"""


def softmax(weight: str) -> str:
    """Return a layer whose batch and weight are sharded along one axis, with sums over the dim of the weight.

    The memory is largest after the layer, so that it does not matter which of the two is gathered.
    """
    return f"""
func.func @main(%batch: tensor<124x64xf32> X0, %w: tensor<64x128xf32> {weight}, %other: tensor<1024x64xf32> N)
    -> (tensor<124x128xf32>, tensor<1024x64xf32> N) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %batch, %w, contracting_dims = [1] x [0]
      : (tensor<124x64xf32>, tensor<64x128xf32>) -> tensor<124x128xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.maximum across dimensions = [1]
      : (tensor<124x128xf32>, tensor<f32>) -> tensor<124xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<124xf32>) -> tensor<124x128xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<124x128xf32>
  %4 = stablehlo.exponential %3 : tensor<124x128xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<124x128xf32>, tensor<f32>) -> tensor<124xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<124xf32>) -> tensor<124x128xf32>
  %7 = stablehlo.divide %4, %6 : tensor<124x128xf32>
  %8 = stablehlo.add %7, %0 : tensor<124x128xf32>
  %9 = stablehlo.multiply %8, %3 : tensor<124x128xf32>
  %10 = stablehlo.concatenate %other, %other, dim = 1
      : (tensor<1024x64xf32>, tensor<1024x64xf32>) -> tensor<1024x128xf32>
  %11 = stablehlo.slice %10 [0:1024, 0:64] : (tensor<1024x128xf32>) -> tensor<1024x64xf32>
  return %9, %11 : tensor<124x128xf32>, tensor<1024x64xf32>
}}
"""


def products(weight: str, second: str) -> str:
    """Return two products of activations with a weight; `second` is the weight of the second one.

    The memory is largest after the products, so that a weight that is kept for both does not raise the peak.
    """
    return f"""
func.func @main(%a: BIG XY0, %w: T {weight}, %u: T {weight}) -> (BIG XY0) {{
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (BIG, T) -> BIG
  %1 = stablehlo.tanh %0 : BIG
  %2 = stablehlo.convert {second} : (T) -> tensor<1024x1024xbf16>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] : (BIG, tensor<1024x1024xbf16>) -> BIG
  %4 = stablehlo.tanh %3 : BIG
  %5 = stablehlo.exponential %3 : BIG
  %6 = stablehlo.add %4, %5 : BIG
  return %6 : BIG
}}
"""


def chain(arguments: str, ops: str, result: str = "T X0") -> str:
    """Return a function of some ops on matrices, which returns the value of the last line."""
    last = ops.strip().splitlines()[-1].split(" = ")[0].strip()
    return f"func.func @main({arguments}) -> ({result}) {{\n{ops}\n  return {last} : {result.split()[0]}\n}}\n"


def momentum(state: str) -> str:
    """Return a step that updates a state, and with it a weight."""
    return f"""
func.func @main(%m: T {state}, %w: T X0) -> (T X0, T {state}) {{
  %0 = stablehlo.tanh %m : T
  %1 = stablehlo.subtract %w, %0 : T
  return %1, %0 : T, T
}}
"""


def lookup(bias: str) -> str:
    """Return a product of a batch, to which a bias is added that may be sharded by features."""
    product = "%0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (T, T) -> T"
    return chain(f"%a: T X0, %w: T N, %b: T {bias}", f"{product}\n%1 = stablehlo.add %0, %b : T", "T")


AW = "stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]"
DONATED = '{sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}'

FIRES = {
    "SDY-S401": chain("%a: T X0, %b: T N", "%0 = stablehlo.add %a, %b : T"),
    "SDY-S402": chain("%a: T X0, %w: T N", f"%0 = {AW} : (T, T) -> T", "T"),
    "SDY-S403": products("Y0X1", "%w"),
    "SDY-S404": chain(
        "%a: T X0, %b: T N",
        "%0 = stablehlo.add %a, %b =N : T\n%1 = stablehlo.multiply %0, %b =N : T\n%2 = stablehlo.abs %1 : T",
    ),
    "SDY-S405": chain("%a: T X1, %w: T X0", f"%0 = {AW} =N : (T, T) -> T\n%1 = stablehlo.tanh %0 =N : T"),
    "SDY-S406": loop("Y0X1"),
    "SDY-S407": softmax("X1"),
    "SDY-S408": chain(
        "%a: T X0", "%0 = stablehlo.tanh %a : T\n%1 = sdy.sharding_constraint %0 @X0 : T\n%2 = stablehlo.abs %1 : T"
    ),
    "SDY-S409": chain(
        "%a: T X0",
        "%0 = stablehlo.tanh %a =X0 : T\n%1 = sdy.sharding_constraint %0 @X1 : T\n%2 = stablehlo.abs %1 =X1 : T",
    ),
    "SDY-S410": chain("%a: T X0", "%0 = stablehlo.tanh %a =X0 : T\n%1 = stablehlo.abs %0 =X1 : T", "T"),
    "SDY-S411": chain(
        "%a: tensor<5x262144xf32> X0", "%0 = stablehlo.tanh %a : tensor<5x262144xf32>", "tensor<5x262144xf32>"
    ),
    "SDY-S412": loop("X0", trips=20, sizes=(8, 8)),
    "SDY-S413": chain(
        "%a: T X0, %b: T N", "%0 = stablehlo.add %a, %b =N : T\n%1 = stablehlo.multiply %0, %b =N : T", "T N"
    ),
    "SDY-S414": chain(f"%a: T {DONATED}", "%0 = stablehlo.tanh %a : T", "T X1"),
    "SDY-S415": chain("%a: T N, %w: T X0", f"%0 = {AW} : (T, T) -> T", "T"),
    "SDY-S416": momentum("N"),
    "SDY-S417": lookup("X1"),
}
SILENT = {
    "SDY-S401": products("Y0X1", "%w"),  # every tensor is sharded along both axes
    "SDY-S402": chain("%a: T X0, %w: T Y1", f"%0 = {AW} : (T, T) -> T", "T"),
    "SDY-S403": products("Y0X1", "%u"),  # two weights
    "SDY-S404": chain("%a: T X0, %b: T N", "%0 = stablehlo.add %a, %b =N : T\n%1 = stablehlo.abs %0 =N : T", "T N"),
    "SDY-S405": chain("%a: T X1, %w: T X0", f"%0 = {AW} =N : (T, T) -> T\n%1 = stablehlo.tanh %0 =N : T", "T N"),
    "SDY-S406": loop("Y0X1", returned="%v"),  # another weight in each trip
    "SDY-S407": softmax("X1P1"),
    "SDY-S408": FIRES["SDY-S409"],  # the constraint reshards
    "SDY-S409": chain("%a: T X0", "%0 = stablehlo.tanh %a : T\n%1 = sdy.sharding_constraint %0 @X1 : T", "T X1"),
    "SDY-S410": chain("%a: T X0, %b: T X0", "%0 = stablehlo.add %a, %b : T"),
    "SDY-S411": chain("%a: tensor<8x1024xf32> X0", "%0 = stablehlo.tanh %a : tensor<8x1024xf32>", "tensor<8x1024xf32>"),
    "SDY-S412": loop("X0", trips=3, sizes=(8, 8)),
    "SDY-S413": chain("%a: T N, %b: T N", "%0 = stablehlo.add %a, %b =N : T", "T N"),
    "SDY-S414": chain(f"%a: T {DONATED}", "%0 = stablehlo.tanh %a : T"),
    "SDY-S415": chain("%a: T N, %w: T X1", f"%0 = {AW} : (T, T) -> T", "T"),
    "SDY-S416": momentum("X1"),
    "SDY-S417": lookup("N"),  # the axis shards nothing else
}
