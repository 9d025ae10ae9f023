"""Texts of train steps in stages: named computations per stage, forward and backward, called once per microbatch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

X, W = "tensor<4x8xf32>", "tensor<8x8xf32>"
Placement = Callable[[int], int]  # the mesh of a stage


def stage_names(stages: int) -> list[str]:
    """Return the names of the computations, which both directions of a stage share."""
    return [f"stage{stage}" for stage in range(stages)]


def assignment(stages: int, mesh_of: Placement) -> str:
    """Return the option that assigns each stage to a mesh."""
    return ",".join(f"{name}@m{mesh_of(stage)}/{stage}" for stage, name in enumerate(stage_names(stages)))


def train_step(
    stages: int, microbatches: int, meshes: int | None = None, axes: str = '"x"=2', shardings: Sequence[str] = ()
) -> str:
    """Return a step: the sum of the outputs of all microbatches, and the gradient of each weight.

    Stage s is `tanh(x w_s)`. `shardings` has the sharding of each weight, or nothing.
    """
    count = stages if meshes is None else meshes
    topology = ", ".join(f'<"m{mesh}" : <[{axes}]>>' for mesh in range(count))
    weights = [f"%w{stage}" for stage in range(stages)]
    inputs = [f"%x{number}" for number in range(microbatches)]
    attributes = [f" {{sdy.sharding = #sdy.sharding{each}}}" for each in shardings] or [""] * stages
    arguments = [
        *(f"{name}: {W}{attribute}" for name, attribute in zip(weights, attributes, strict=True)),
        *(f"{name}: {X}" for name in inputs),
    ]
    results = ", ".join([X, *[W] * stages])
    lines = [
        f"sdy.mesh @mesh = <[{axes}]>" if shardings else "",
        f"func.func public @main({', '.join(arguments)}) -> ({results})",
        f"    attributes {{topology = #mpmd.topology<{topology}>}} {{",
        *_calls(stages, weights, inputs),
        "}",
        *_microbatch(stages, topology),
    ]
    return "\n".join(lines) + "\n"


def _calls(stages: int, weights: Sequence[str], inputs: Sequence[str]) -> Iterator[str]:
    yield f"  %zero = stablehlo.constant dense<0.0> : {X}"
    yield f"  %none = stablehlo.constant dense<0.0> : {W}"
    sums = ["%zero", *["%none"] * stages]
    types = f"({', '.join([X, *[W] * stages, X, *[W] * stages])}) -> ({', '.join([X, *[W] * stages])})"
    for number, name in enumerate(inputs):
        operands = ", ".join([name, *weights, *sums])
        yield f"  %r{number}:{stages + 1} = mpmd.call @step({operands}) {{call_counter = {number} : ui32}} : {types}"
        sums = [f"%r{number}#{index}" for index in range(stages + 1)]
    yield f"  return {', '.join(sums)} : {', '.join([X, *[W] * stages])}"


def _microbatch(stages: int, topology: str) -> Iterator[str]:
    weights = [f"%w{stage}: {W}" for stage in range(stages)]
    sums = [f"%s{stage}: {W}" for stage in range(stages)]
    head = ", ".join([f"%h: {X}", *weights, f"%total: {X}", *sums])
    yield f"func.func private @step({head}) -> ({', '.join([X, *[W] * stages])})"
    yield f"    attributes {{topology = #mpmd.topology<{topology}>}} {{"
    value = "%h"
    for stage, name in enumerate(stage_names(stages)):
        yield f'  %y{stage} = mpmd.named_computation<"{name}"> ({value}, %w{stage}) (%a: {X}, %b: {W}) {{'
        yield f"    %0 = stablehlo.dot %a, %b : ({X}, {W}) -> {X}"
        yield f"    %1 = stablehlo.tanh %0 : {X}"
        yield f"    mpmd.return %1 : {X}"
        yield f"  }} : ({X}, {W}) -> {X}"
        value = f"%y{stage}"
    yield f"  %sum = stablehlo.add %total, {value} : {X}"
    gradient = "%one"
    yield f"  %one = stablehlo.constant dense<1.0> : {X}"
    for stage in reversed(range(stages)):
        before = f"%y{stage - 1}" if stage else "%h"
        yield from _backward(stage, before, gradient)
        gradient = f"%d{stage}#0"
        yield f"  %t{stage} = stablehlo.add %s{stage}, %d{stage}#1 : {W}"
    totals = ", ".join(["%sum", *(f"%t{stage}" for stage in range(stages))])
    yield f"  return {totals} : {', '.join([X, *[W] * stages])}"
    yield "}"


def _backward(stage: int, before: str, gradient: str) -> Iterator[str]:
    operands = f"({before}, %w{stage}, %y{stage}, {gradient})"
    head = f"(%a: {X}, %b: {W}, %y: {X}, %g: {X})"
    yield f'  %d{stage}:2 = mpmd.named_computation<"stage{stage}"(1)> {operands} {head} {{'
    yield f"    %0 = stablehlo.multiply %y, %y : {X}"
    yield f"    %1 = stablehlo.multiply %g, %0 : {X}"
    yield f"    %2 = stablehlo.subtract %g, %1 : {X}"
    yield f"    %3 = stablehlo.dot_general %2, %b, contracting_dims = [1] x [1] : ({X}, {W}) -> {X}"
    yield f"    %4 = stablehlo.dot_general %a, %2, contracting_dims = [0] x [0] : ({X}, {X}) -> {W}"
    yield f"    mpmd.return %3, %4 : {X}, {W}"
    yield f"  }} : ({X}, {W}, {X}, {X}) -> ({X}, {W})"


def _on_mesh(mesh: int) -> str:
    return f'!mpmd.mesh_tensor<"m{mesh}", tensor<4xf32>>'


def _fragment(label: str, mesh: int, operands: Sequence[str], attributes: str = "") -> str:
    """Return the text of a fragment with the result `%label`: `F2_1` is forward, of stage 2 and microbatch 1."""
    count = "" if label.startswith("F") else "(1)"
    values = ", ".join(operands)
    types = ", ".join([_on_mesh(mesh)] * len(operands))
    arguments = ", ".join(f"%x{index}: tensor<4xf32>" for index in range(len(operands)))
    return f"""
  %{label} = mpmd.fragment<mesh="m{mesh}", origin=["f"{count}], stage={label[1:].split("_")[0]}> ({values})
      {{call_counter = {label.split("_")[1]} : ui32, label = "{label}"{attributes}}} ({arguments}) {{
    %y = stablehlo.{"add %x0, %x1" if len(operands) > 1 else "abs %x0"} : tensor<4xf32>
    mpmd.return %y : tensor<4xf32>
  }} : ({types}) -> {_on_mesh(mesh)}"""


def _transfer(result: str, value: str, source: int, target: int) -> str:
    return f"\n  {result} = mpmd.transfer {value} : ({_on_mesh(source)}) -> {_on_mesh(target)}"


def _microbatch_of_fragments(index: int, stages: int, mesh_of: Placement, *, splits: bool) -> Iterator[str]:
    """Yield all forwards of a microbatch, then its backwards from the last stage to the first."""
    value = "%a0"
    for stage in range(stages):
        label = f"F{stage}_{index}"
        yield _fragment(label, mesh_of(stage), [value])
        value = f"%{label}"
        if stage + 1 < stages:
            yield _transfer(f"{value}t", value, mesh_of(stage), mesh_of(stage + 1))
            value += "t"
    for stage in reversed(range(stages)):
        mesh = mesh_of(stage)
        label = f"{'A' if splits and stage else 'B'}{stage}_{index}"
        mark = ", split_keep_transferred" if splits and stage else ""
        yield _fragment(label, mesh, [f"%F{stage}_{index}", value], mark)
        value = f"%{label}"
        if splits and stage:
            yield _fragment(f"W{stage}_{index}", mesh, [value], ", split_drop_transferred")
        if stage:
            yield _transfer(f"{value}t", value, mesh, mesh_of(stage - 1))
            value += "t"


def labelled_fragments(
    meshes: int, stages: int, microbatches: int, *, splits: bool, mesh_of: Placement | None = None
) -> str:
    """Return a program of fragments of one op, each with an attribute `label` such as `F2_1`.

    Stages go round the meshes, unless `mesh_of` says otherwise.
    """

    def place(stage: int) -> int:
        return stage % meshes if mesh_of is None else mesh_of(stage)

    topology = ", ".join(f'<"m{mesh}" : <["x"=1]>>' for mesh in range(meshes))
    body = "".join(
        line for index in range(microbatches) for line in _microbatch_of_fragments(index, stages, place, splits=splits)
    )
    last = [("B0", 0), *((f"W{stage}", place(stage)) for stage in range(1, stages) if splits)]
    returned = [(f"%{name}_{index}", mesh) for name, mesh in last for index in range(microbatches)]
    names, types = ", ".join(name for name, _ in returned), ", ".join(_on_mesh(mesh) for _, mesh in returned)
    return f"""
func.func public @main(%a0: {_on_mesh(0)}) -> ({types}) attributes {{topology = #mpmd.topology<{topology}>}} {{{body}
  return {names} : {types}
}}"""
