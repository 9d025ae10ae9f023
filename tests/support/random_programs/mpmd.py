"""Draw programs on several meshes: named computations anywhere, or pipelines with microbatches."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from support.oracle.process import MpmdJob

T, W, V = "tensor<4x8xf32>", "tensor<8x8xf32>", "tensor<8xf32>"
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


@dataclass(frozen=True)
class _Value:
    """A value of a program: its name, and the text of its type."""

    name: str
    type: str


def _names(values: Iterable[_Value]) -> str:
    return _commas(value.name for value in values)


def _types(values: Iterable[_Value]) -> str:
    return _commas(value.type for value in values)


def _declared(values: Iterable[_Value]) -> str:
    return _commas(f"{value.name}: {value.type}" for value in values)


def _sharding(draw: random.Random, value_type: str) -> str:
    """Return the text of a sharding along some axes; Shardy's versions differ in those that are open in all dims."""
    axes, dims = draw.sample("xy", 2), list[str]()
    for _ in range(value_type.count("x")):
        kind = draw.random()
        if kind < 0.4 and axes:
            dims.append(f'{{"{axes.pop()}"{draw.choice(("", ", ?"))}}}')
        else:
            dims.append("{?}" if dims and kind < 0.7 else "{}")
    return f"#sdy.sharding<@mesh, [{_commas(dims)}]>"


@dataclass
class _Draft:
    """The state of one program of named computations."""

    random: random.Random
    meshes: Sequence[str]
    names: Sequence[str]
    assignment: dict[str, str | tuple[str, int]] = field(default_factory=dict[str, str | tuple[str, int]])
    count: int = 0

    def name(self) -> str:
        """Return a new name of a value."""
        self.count += 1
        return f"%v{self.count}"

    def of_type(self, values: Sequence[_Value], value_type: str) -> str | None:
        """Return the name of a value that has a type, if there is one."""
        found = [value.name for value in values if value.type == value_type]
        return self.random.choice(found) if found else None

    def op(self, values: list[_Value]) -> list[str]:
        """Return the lines of an op, or of an op and its constant operand, and append its result to the values."""
        result, operand = self.name(), self.random.choice(values)
        kinds = ["binary", "binary", "unary", "constant"]
        kinds += {T: ["dot", "dot", "outer", "reduce"], W: ["slice"], V: ["broadcast"]}[operand.type]
        value_type, lines = self.line(self.random.choice(kinds), operand, values)
        values.append(_Value(result, value_type))
        return [*lines[:-1], f"{result} = {lines[-1]}"]

    def line(self, kind: str, operand: _Value, values: Sequence[_Value]) -> tuple[str, list[str]]:
        """Return the type of an op's result and its lines, the last one without the name of the result."""
        name, own = operand.name, operand.type
        weight = self.of_type(values, W)
        if kind == "dot" and weight is not None:
            return T, [f"stablehlo.dot_general {name}, {weight}, contracting_dims = [1] x [0] : ({T}, {W}) -> {T}"]
        if kind == "outer":
            other = self.of_type(values, T)
            return W, [f"stablehlo.dot_general {name}, {other}, contracting_dims = [0] x [0] : ({T}, {T}) -> {W}"]
        if kind == "reduce":
            zero = self.name()
            reduced = f"stablehlo.reduce({name} init: {zero}) applies stablehlo.add across dimensions = [0]"
            constant = f"{zero} = stablehlo.constant dense<0.0> : tensor<f32>"
            return V, [constant, f"{reduced} : ({T}, tensor<f32>) -> {V}"]
        if kind == "slice":
            return T, [f"stablehlo.slice {name} [2:6, 0:8] : ({W}) -> {T}"]
        if kind == "broadcast":
            return T, [f"stablehlo.broadcast_in_dim {name}, dims = [1] : ({V}) -> {T}"]
        if kind == "constant":
            constant = self.name()
            lines = [f"{constant} = stablehlo.constant dense<{self.random.choice('234')}.0> : {own}"]
            return own, [*lines, f"stablehlo.{self.random.choice(('add', 'multiply'))} {name}, {constant} : {own}"]
        if kind == "binary":
            operands = f"{name}, {self.of_type(values, own)}"
            return own, [f"stablehlo.{self.random.choice(('add', 'multiply'))} {operands} : {own}"]
        return own, [f"stablehlo.{self.random.choice(('cosine', 'sine', 'tanh'))} {name} : {own}"]

    def constraint(self, values: list[_Value]) -> list[str]:
        """Return the line of a sharding constraint, and append its result to the values."""
        operand, result = self.random.choice(values), self.name()
        values.append(_Value(result, operand.type))
        sharding = _sharding(self.random, operand.type).removeprefix("#sdy.sharding")
        return [f"{result} = sdy.sharding_constraint {operand.name} {sharding} : {operand.type}"]

    def computation(self, values: list[_Value]) -> list[str]:
        """Return the lines of a named computation, and append its results to the values."""
        operands = self.random.choices(values, k=self.random.randint(1, 4))
        parameters = [_Value(self.name(), operand.type) for operand in operands]
        inner, body = list(parameters), list[str]()
        for _ in range(self.random.randint(1, 4)):
            body += self.constraint(inner) if self.random.random() < 0.1 else self.op(inner)
        returned = self.random.choices(inner, k=self.random.randint(1, 3))
        origin = f'"{self.random.choice(self.names)}"{self.random.choice(("", "", "(1)"))}'
        result = self.results(values, [value.type for value in returned])
        return [
            f"{result} = mpmd.named_computation<{origin}> ({_names(operands)}) ({_declared(parameters)}) {{",
            *(f"  {line}" for line in body),
            f"  mpmd.return {_names(returned)} : {_types(returned)}",
            f"}} : ({_types(operands)}) -> ({_types(returned)})",
        ]

    def results(self, values: list[_Value], types: Sequence[str]) -> str:
        """Return the text of new results of some types, which are appended to the values."""
        name = self.name()
        names = [name] if len(types) == 1 else [f"{name}#{index}" for index in range(len(types))]
        values += [_Value(each, value_type) for each, value_type in zip(names, types, strict=True)]
        return name if len(types) == 1 else f"{name}:{len(types)}"

    def special(self, values: list[_Value]) -> list[str]:
        """Return the line of a named tensor, a broadcast or a reduction, and append its result to the values."""
        operand, result = self.random.choice(values), self.name()
        values.append(_Value(result, operand.type))
        kind = self.random.choice(("tensor", "tensor", "broadcast", "reduce"))
        if kind == "tensor":
            name = f"t{self.count}"
            if self.random.random() < 0.7:
                self.assignment[name] = self.random.choice(self.meshes)
            return [f'{result} = mpmd.named_tensor {operand.name} name="{name}" : {operand.type}']
        if kind == "broadcast":
            return [f"{result} = mpmd.broadcast {operand.name} : {operand.type}"]
        return [f"{result} = mpmd.reduce<none> {operand.name} : ({operand.type}) -> {operand.type}"]

    def call(self, values: list[_Value], parameters: Sequence[str], results: Sequence[str]) -> list[str]:
        """Return the line of a call of `@g` for some microbatch, if there is a value of each type."""
        operands = [self.of_type(values, each) for each in parameters]
        found = [operand for operand in operands if operand is not None]
        if len(found) < len(operands):
            return []
        types = f"({_commas(parameters)}) -> ({_commas(results)})"
        counter = f"{{call_counter = {self.random.randint(0, 3)} : ui32}}"
        return [f"{self.results(values, results)} = mpmd.call @g({_commas(found)}) {counter} : {types}"]

    def block(
        self, values: list[_Value], count: int, callee: tuple[Sequence[str], Sequence[str]] | None = None
    ) -> list[str]:
        """Return the lines of some ops; `callee`: the types of the parameters and results of `@g`."""
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


def _function(
    name: str, arguments: str, lines: Sequence[str], returned: Sequence[_Value], attributes: Sequence[str] = ()
) -> tuple[str, str]:
    """Return the text of a function up to its result types, and the rest; `attributes`: of each result."""
    results = [value.type for value in returned]
    with_attributes = _commas(f"{a}{b}" for a, b in zip(results, attributes or [""] * len(results), strict=True))
    body = "".join(f"  {line}\n" for line in lines)
    return f"func.func {name}({arguments}) -> ({with_attributes})", (
        f" {{\n{body}  return {_names(returned)} : {_types(returned)}\n}}\n"
    )


def program_of_names(seed: int) -> MpmdProgram:
    """Return a program of named computations and other ops, some of them in a function that is called."""
    draw = random.Random(seed)
    meshes = [f"m{index + 1}" for index in range(draw.randint(2, 3))]
    draft = _Draft(draw, meshes, [f"f{index}" for index in range(draw.randint(1, 4))])
    draft.assignment.update({name: draw.choice(meshes) for name in draft.names})
    callee, function = None, ""
    if draw.random() < 0.5:
        parameters = [_Value(f"%c{index}", draw.choice((T, W, V))) for index in range(draw.randint(1, 3))]
        values = list(parameters)
        lines = draft.block(values, draw.randint(1, 4))
        returned = draw.choices(values, k=draw.randint(1, 2))
        function = "".join(_function("private @g", _declared(parameters), lines, returned))
        callee = [value.type for value in parameters], [value.type for value in returned]
    arguments = [_Value(f"%a{index}", draw.choice((T, T, W, V))) for index in range(draw.randint(1, 5))]
    values = list(arguments)
    lines = draft.block(values, draw.randint(2, 8), callee)
    returned = draw.choices(values[-5:], k=draw.randint(1, 3))
    is_sharded = draw.random() < 0.6
    attributes = [
        f" {{sdy.sharding = {_sharding(draw, value.type)}}}" if is_sharded and draw.random() < 0.5 else ""
        for value in (*arguments, *returned)
    ]
    declared = _commas(f"{each.name}: {each.type}{text}" for each, text in zip(arguments, attributes, strict=False))
    head, rest = _function("public @main", declared, lines, returned, attributes[len(arguments) :])
    places = [draw.choice(meshes) if draw.random() < 0.2 else None for _ in attributes]
    options: dict[str, bool | str] = {
        "mpmd_infer_transfers": draw.random() < 0.6,
        "mpmd_infer_cross_mesh_reductions": draw.random() < 0.3,
        "mpmd_split_bwd_fragments": draw.random() < 0.2,
        "mpmd_fragment_remat": draw.random() < 0.3,
        "mpmd_pipeline_schedule": draw.choice(SCHEDULES),
    }
    inputs, outputs = places[: len(arguments)], places[len(arguments) :]
    mesh = f'sdy.mesh @mesh = <["x"=2, "y"=2]>\n{head}'
    return MpmdProgram(mesh, rest + function, meshes, [("x", 2), ("y", 2)], draft.assignment, inputs, outputs, options)


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
