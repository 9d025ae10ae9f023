"""Draw programs on several meshes: named computations anywhere, or pipelines with microbatches."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from support.oracle.process import MpmdJob

T, W = "tensor<4x8xf32>", "tensor<8x8xf32>"
SCHEDULES = (
    *("none", "1F1B", "GPipe", "GPipeBut1F1BForLastMesh", "ZeroBubbleH1", "ZeroBubbleH2ZeroTxLatency"),
    *("ZeroBubbleH2HalfTxLatency", "ZeroBubbleH2FullTxLatency", "Circular", "CircularWithReversedBackward"),
)


@dataclass
class MpmdProgram:
    """Functions, of which `@main` has no topology in the text for Shardy, which is told the meshes beside it."""

    head: str  # up to the results of `@main`
    rest: str
    meshes: Sequence[str]
    axes: Sequence[tuple[str, int]]
    assignment: dict[str, str | tuple[str, int]]
    inputs: list[str | None]
    outputs: list[str | None]
    options: dict[str, bool | str]

    @property
    def text(self) -> str:
        """Return the text with the topology."""
        axes = ", ".join(f'"{name}"={size}' for name, size in self.axes)
        topology = ", ".join(f'<"{mesh}" : <[{axes}]>>' for mesh in self.meshes)
        return f"{self.head} attributes {{topology = #mpmd.topology<{topology}>}}{self.rest}"

    def job(self, phase: str) -> MpmdJob:
        """Return the request for Shardy's compiler."""
        return {
            "phase": phase,
            "text": self.head + self.rest,
            "meshes": [(mesh, list(self.axes)) for mesh in self.meshes],
            "assignment": self.assignment,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "options": self.options,
        }


def _commas(values: Iterable[str]) -> str:
    return ", ".join(values)


def _of_type(names: Iterable[str], type_text: str) -> str:
    return _commas(f"{name}: {type_text}" for name in names)


@dataclass
class _Draft:
    """The state of one program of named computations. All values have one type."""

    random: random.Random
    meshes: Sequence[str]
    names: Sequence[str]
    assignment: dict[str, str | tuple[str, int]] = field(default_factory=dict[str, str | tuple[str, int]])
    count: int = 0

    def name(self) -> str:
        """Return a new name of a value."""
        self.count += 1
        return f"%v{self.count}"

    def op(self, values: list[str]) -> list[str]:
        """Return the lines of an op, or of an op and its constant operand, and append its result to the values."""
        result, operand = self.name(), self.random.choice(values)
        kind = self.random.choice(("add", "multiply", "subtract", "maximum", "abs", "sine", "constant"))
        other, lines = self.random.choice(values), []
        if kind == "constant":
            other, kind = self.name(), "add"
            lines = [f"{other} = stablehlo.constant dense<{self.random.choice('234')}.0> : {T}"]
        values.append(result)
        operands = operand if kind in ("abs", "sine") else f"{operand}, {other}"
        return [*lines, f"{result} = stablehlo.{kind} {operands} : {T}"]

    def computation(self, values: list[str]) -> list[str]:
        """Return the lines of a named computation, and append its results to the values."""
        operands = self.random.choices(values, k=self.random.randint(1, 3))
        inner = [self.name() for _ in operands]
        head = _of_type(inner, T)
        body = [line for _ in range(self.random.randint(1, 3)) for line in self.op(inner)]
        returned = self.random.choices(inner, k=self.random.randint(1, 2))
        origin = f'"{self.random.choice(self.names)}"{self.random.choice(("", "", "(1)"))}'
        result = self.results(values, len(returned))
        return [
            f"{result} = mpmd.named_computation<{origin}> ({_commas(operands)}) ({head}) {{",
            *(f"  {line}" for line in body),
            f"  mpmd.return {_commas(returned)} : {_commas([T] * len(returned))}",
            f"}} : ({_commas([T] * len(operands))}) -> ({_commas([T] * len(returned))})",
        ]

    def results(self, values: list[str], count: int) -> str:
        """Return the text of so many new results, which are appended to the values."""
        name = self.name()
        values += [name] if count == 1 else [f"{name}#{index}" for index in range(count)]
        return name if count == 1 else f"{name}:{count}"

    def special(self, values: list[str]) -> list[str]:
        """Return the line of a named tensor, a broadcast or a reduction, and append its result to the values."""
        operand, result = self.random.choice(values), self.name()
        values.append(result)
        kind = self.random.choice(("tensor", "tensor", "broadcast", "reduce"))
        if kind == "tensor":
            name = f"t{self.count}"
            if self.random.random() < 0.7:
                self.assignment[name] = self.random.choice(self.meshes)
            return [f'{result} = mpmd.named_tensor {operand} name="{name}" : {T}']
        if kind == "broadcast":
            return [f"{result} = mpmd.broadcast {operand} : {T}"]
        return [f"{result} = mpmd.reduce<none> {operand} : ({T}) -> {T}"]

    def call(self, values: list[str], parameters: int, results: int) -> list[str]:
        """Return the line of a call of `@g` for some microbatch."""
        operands = self.random.choices(values, k=parameters)
        types = f"({_commas([T] * parameters)}) -> ({_commas([T] * results)})"
        counter = f"{{call_counter = {self.random.randint(0, 3)} : ui32}}"
        return [f"{self.results(values, results)} = mpmd.call @g({_commas(operands)}) {counter} : {types}"]

    def block(self, values: list[str], count: int, callee: tuple[int, int] | None = None) -> list[str]:
        """Return the lines of some ops; `callee`: the numbers of parameters and results of `@g`."""
        lines: list[str] = []
        for _ in range(count):
            draw = self.random.random()
            if draw < 0.45:
                lines += self.computation(values)
            elif draw < 0.75:
                lines += self.op(values)
            elif draw < 0.92 or callee is None:
                lines += self.special(values)
            else:
                lines += self.call(values, *callee)
        return lines


def _function(name: str, arguments: Sequence[str], lines: Sequence[str], returned: Sequence[str]) -> tuple[str, str]:
    """Return the text of a function up to its result types, and the rest."""
    types = _commas([T] * len(returned))
    body = "".join(f"  {line}\n" for line in lines)
    return f"func.func {name}({_of_type(arguments, T)}) -> ({types})", (
        f" {{\n{body}  return {_commas(returned)} : {types}\n}}\n"
    )


def program_of_names(seed: int) -> MpmdProgram:
    """Return a program of named computations and other ops, some of them in a function that is called."""
    draw = random.Random(seed)
    meshes = [f"m{index + 1}" for index in range(draw.randint(2, 3))]
    draft = _Draft(draw, meshes, [f"f{index}" for index in range(draw.randint(1, 4))])
    draft.assignment.update({name: draw.choice(meshes) for name in draft.names})
    callee, function = None, ""
    if draw.random() < 0.5:
        callee = draw.randint(1, 3), draw.randint(1, 2)
        parameters = [f"%c{index}" for index in range(callee[0])]
        values = list(parameters)
        lines = draft.block(values, draw.randint(1, 4))
        function = "".join(_function("private @g", parameters, lines, draw.choices(values, k=callee[1])))
    arguments = [f"%a{index}" for index in range(draw.randint(1, 4))]
    values = list(arguments)
    lines = draft.block(values, draw.randint(2, 8), callee)
    returned = draw.choices(values[-5:], k=draw.randint(1, 3))
    head, rest = _function("public @main", arguments, lines, returned)
    places = [draw.choice(meshes) if draw.random() < 0.2 else None for _ in (*arguments, *returned)]
    options: dict[str, bool | str] = {
        "mpmd_infer_transfers": draw.random() < 0.6,
        "mpmd_infer_cross_mesh_reductions": draw.random() < 0.3,
        "mpmd_split_bwd_fragments": draw.random() < 0.2,
    }
    inputs, outputs = places[: len(arguments)], places[len(arguments) :]
    return MpmdProgram(head, rest + function, meshes, [("x", 2)], draft.assignment, inputs, outputs, options)


def pipeline(seed: int) -> MpmdProgram:
    """Return a pipeline: layers on meshes in turn, forward and mostly backward, called once per microbatch.

    Its inputs and outputs are sharded along one axis or two. Which of two axes wins a conflict depends on the order of
    all ops of all fragments.
    """
    draw = random.Random(seed)
    meshes = [f"mesh{index + 1}" for index in range(draw.randint(1, 4))]
    layers, batches = len(meshes) * draw.choice((1, 1, 2)), draw.randint(1, 5)
    is_staged, is_sharded, axes = draw.random() < 0.5, draw.random() < 0.6, draw.choice(("x", "y", "xy"))
    places = {f"f{layer}": meshes[layer % len(meshes)] for layer in range(layers)}
    assignment: dict[str, str | tuple[str, int]] = dict(places)
    if is_staged:
        assignment = {name: (mesh, int(name[1:])) for name, mesh in places.items()}
    gradients = layers if draw.random() < 0.85 else 0
    step = _step(draw, layers, gradients)
    result_types = _commas([T, *[W] * gradients])
    weights = [f"%w{layer}" for layer in range(layers)]
    lines, sums = list[str](), [""] * gradients
    for batch in range(batches):
        count = f":{gradients + 1}" if gradients else ""
        lines.append(
            f"%c{batch}{count} = mpmd.call @g({_commas([*weights, f'%x{batch}'])}) {{call_counter = {batch} : ui32}} : "
            f"({_commas([*[W] * layers, T])}) -> ({result_types})"
        )
        for index in range(gradients):
            gradient = f"%c{batch}#{index + 1}"
            if batch:
                lines.append(f"%s{batch}_{index} = stablehlo.add {sums[index]}, {gradient} : {W}")
            sums[index] = f"%s{batch}_{index}" if batch else gradient
    outputs = [f"%c{batch}#0" if gradients else f"%c{batch}" for batch in range(draw.randint(1, batches))]
    types = [*[T] * len(outputs), *[W] * gradients]

    def sharding() -> str:
        if not is_sharded or draw.random() < 0.4:
            return ""
        first, second = (draw.choice(("{}", f'{{"{draw.choice(axes)}"}}', "{?}")) for _ in range(2))
        second = "{}" if first == second and '"' in first else second
        return f" {{sdy.sharding = #sdy.sharding<@mesh, [{first}, {second}]>}}"

    arguments = [f"{weight}: {W}{sharding()}" for weight in weights]
    arguments += [f"%x{batch}: {T}{sharding()}" for batch in range(batches)]
    results = _commas(each + (sharding() if draw.random() < 0.3 else "") for each in types)
    head = f'sdy.mesh @mesh = <["x"=2, "y"=2]>\nfunc.func public @main({_commas(arguments)}) -> ({results})'
    body = "".join(f"  {line}\n" for line in lines)
    rest = f" {{\n{body}  return {_commas([*outputs, *sums])} : {_commas(types)}\n}}\n{step}"
    options: dict[str, bool | str] = {
        "mpmd_infer_transfers": True,
        "mpmd_split_bwd_fragments": draw.random() < 0.4,
        "mpmd_fragment_remat": draw.random() < 0.4,
        "mpmd_pipeline_schedule": draw.choice(SCHEDULES),
    }
    inputs = [draw.choice(meshes) if draw.random() < 0.15 else None for _ in arguments]
    return MpmdProgram(head, rest, meshes, [("x", 2), ("y", 2)], assignment, inputs, [None] * len(types), options)


def _step(draw: random.Random, layers: int, gradients: int) -> str:
    """Return the function of one microbatch: the layers, and the gradients of their weights."""
    values, lines = ["%x"], list[str]()
    for layer in range(layers):
        lines.append(f"""  %h{layer} = mpmd.named_computation<"f{layer}"> ({values[-1]}, %w{layer})
      (%p: {T}, %q: {W}) {{
    %0 = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : ({T}, {W}) -> {T}
    %1 = stablehlo.{draw.choice(("tanh", "sine", "cosine"))} %0 : {T}
    mpmd.return %1 : {T}
  }} : ({T}, {W}) -> {T}""")
        values.append(f"%h{layer}")
    error = values[-1]
    for layer in reversed(range(gradients)):
        operands = _commas((values[layer], values[layer + 1], f"%w{layer}", error))
        lines.append(f"""  %b{layer}:2 = mpmd.named_computation<"f{layer}"(1)> ({operands})
      (%p: {T}, %h: {T}, %q: {W}, %g: {T}) {{
    %0 = stablehlo.multiply %h, %g : {T}
    %1 = stablehlo.dot_general %0, %q, contracting_dims = [1] x [1] : ({T}, {W}) -> {T}
    %2 = stablehlo.dot_general %p, %0, contracting_dims = [0] x [0] : ({T}, {T}) -> {W}
    mpmd.return %1, %2 : {T}, {W}
  }} : ({T}, {T}, {W}, {T}) -> ({T}, {W})""")
        error = f"%b{layer}#0"
    parameters = _commas([*(f"%w{layer}: {W}" for layer in range(layers)), f"%x: {T}"])
    returned = _commas([values[-1], *(f"%b{layer}#1" for layer in range(gradients))])
    types = _commas([T, *[W] * gradients])
    body = "\n".join(lines)
    return f"func.func private @g({parameters}) -> ({types}) {{\n{body}\n  return {returned} : {types}\n}}\n"
