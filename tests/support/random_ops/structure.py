"""Draw programs of control flow, calls, tuples and optimization barriers."""

from __future__ import annotations

import numpy as np

from support.random_ops.draft import ALL, Draft, tensor


def control(draft: Draft) -> None:
    kind = "tensor<3xi32>"
    value, index = draft.tensor((3,), "i32"), draft.constant(np.array(draft.size(-1, 4), np.int32), "i32")
    bodies = ", ".join(
        f"{{\n    %b = stablehlo.{op} {value}, {value} : {kind}\n    stablehlo.return %b : {kind}\n  }}"
        for op in ("add", "multiply", "xor")
    )
    draft.op(f'"stablehlo.case"({index}) ({bodies}) : (tensor<i32>) -> {kind}', kind)
    limit = draft.constant(np.array(draft.size(0, 9), np.int32), "i32")
    text = f"""stablehlo.while(%i = {index}, %s = {value}) : tensor<i32>, {kind}
  cond {{
    %w = stablehlo.compare LT, %i, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %w : tensor<i1>
  }} do {{
    %n = stablehlo.add %i, {draft.constant(np.array(1, np.int32), "i32")} : tensor<i32>
    %t = stablehlo.add %s, {value} : {kind}
    stablehlo.return %n, %t : tensor<i32>, {kind}
  }}"""
    draft.op(text, "tensor<i32>", kind)


def branch(draft: Draft) -> None:
    """Add a case op with two branches."""
    element, shape = draft.pick(*ALL), draft.shape()
    kind, values = tensor(shape, element), [draft.tensor(shape, element) for _ in range(2)]
    predicate = draft.tensor((), "i1")
    branches = ", ".join(f"{{ stablehlo.return {value} : {kind} }}" for value in values)
    draft.op(f'"stablehlo.if"({predicate}) ({branches}) : (tensor<i1>) -> {kind}', kind)


def indirect(draft: Draft) -> None:
    """Pass values through a call, a composite or an optimization barrier."""
    element, shape = draft.pick(*ALL), draft.shape()
    kind, operand = tensor(shape, element), draft.tensor(shape, element)
    swap = f"func.func private @swap(%a: {kind}, %b: {kind}) -> ({kind}, {kind}) {{ return %b, %a : {kind}, {kind} }}\n"
    other, types = draft.tensor(shape, element), f"({kind}, {kind}) -> ({kind}, {kind})"
    match draft.pick("call", "composite", "barrier"):
        case "call":
            draft.functions.append(swap)
            draft.op(f"call @swap({operand}, {other}) : {types}", kind, kind)
        case "composite":
            draft.functions.append(swap)
            text = f'stablehlo.composite "test.swap" {operand}, {other} {{decomposition = @swap}}'
            draft.op(f"{text} : {types}", kind, kind)
        case _:
            draft.op(f"stablehlo.optimization_barrier {operand}, {other} : {kind}, {kind}", kind, kind)


def tupled(draft: Draft) -> None:
    """Add a tuple of two and take an element of it."""
    element, shape = draft.pick(*ALL), draft.shape()
    kind = tensor(shape, element)
    pair = f"tuple<{kind}, {kind}>"
    operands = f"{draft.tensor(shape, element)}, {draft.tensor(shape, element)}"
    draft.lines.append(f"%pair = stablehlo.tuple {operands} : {pair}")
    draft.op(f"stablehlo.get_tuple_element %pair[{draft.size(0, 2)}] : ({pair}) -> {kind}", kind)
