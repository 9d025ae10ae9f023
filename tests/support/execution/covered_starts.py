"""Starts `%h` of four updates that cover a dim: those that are known to be 0 or out of bounds, and others.

They are computed from integers FIRST and SECOND, for a dim of SIZE elements; HALF is half of it.
"""

from __future__ import annotations

CHOSEN = """%f = stablehlo.constant dense<OTHER> : tensor<4x1xi32>
  %z = stablehlo.constant dense<0> : tensor<4x1xi32>
  %c = stablehlo.compare LT, FIRST, SECOND : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
  %h = stablehlo.select %c, %f, %z : tensor<4x1xi1>, tensor<4x1xi32>"""
CLAMPED = """%b = stablehlo.constant dense<LOW> : tensor<4x1xi32>
  %d = stablehlo.constant dense<HIGH> : tensor<4x1xi32>
  %h = stablehlo.clamp %b, SECOND, %d : tensor<4x1xi32>"""
CONSTANT = "%h = stablehlo.constant dense<START> : tensor<4x1xi32>"
FROM_ZERO = {
    "zero": CONSTANT.replace("START", "0"),
    "zero or out of bounds": CONSTANT.replace("START", "[[0], [SIZE], [0], [-SIZE]]"),
    "between zeros": CLAMPED.replace("LOW", "0").replace("HIGH", "0"),
    "between repeated zeros": """%l = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.broadcast_in_dim %l, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
  %h = stablehlo.clamp %b, SECOND, %b : tensor<4x1xi32>""",
    "one of two": CHOSEN.replace("OTHER", "[[0], [SIZE], [0], [-SIZE]]"),
    "one of two, far away": CHOSEN.replace("OTHER", "-5000"),
}
NOT_FROM_ZERO = {
    "unknown": "%h = stablehlo.add SECOND, SECOND : tensor<4x1xi32>",
    "one": CONSTANT.replace("START", "1"),
    "one of them": CONSTANT.replace("START", "[[0], [0], [0], [-1]]"),
    "some of them": CONSTANT.replace("START", "[[0], [-1], [-1], [-1]]"),
    "in bounds on one device": CONSTANT.replace("START", "HALF"),
    "zero or one": CLAMPED.replace("LOW", "0").replace("HIGH", "1"),
    "zero or one, of scalars": """%b = stablehlo.constant dense<0> : tensor<i32>
  %d = stablehlo.constant dense<1> : tensor<i32>
  %h = stablehlo.clamp %b, SECOND, %d : (tensor<i32>, tensor<4x1xi32>, tensor<i32>) -> tensor<4x1xi32>""",
    "minus one or zero": CLAMPED.replace("LOW", "-1").replace("HIGH", "0"),
    "one of two": CHOSEN.replace("OTHER", "5"),
}


def starts_of(code: str, first: str, second: str, size: int) -> str:
    """Return the code of starts for a dim of `size` elements from two values."""
    names = {"FIRST": first, "SECOND": second, "SIZE": str(size), "HALF": str(size // 2)}
    for name, value in names.items():
        code = code.replace(name, value)
    return code
