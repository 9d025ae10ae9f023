"""A program that is being written: its values, its blocks, its functions."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from support.random_programs.annotations import Annotations, Habits, Shape

DIM_SIZES = (1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 24)
MAX_ELEMENTS = 4096


@dataclass(frozen=True, slots=True)
class Options:
    """What kind of programs is wanted.

    `executable`: only what the interpreter can run, and what has one meaning: no unknown custom calls, no unreduced
    axes. `standalone`: for passes that run on their own instead of the propagation pipeline. Named computations stand
    in the program already, and all meshes have names.
    """

    ops: int = 10
    executable: bool = False
    standalone: bool = False
    max_devices: int = 512
    one_mesh: bool = False
    annotated: float = 0.35


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value: its name, and its type in parts."""

    name: str
    shape: Shape
    element: str

    @property
    def type(self) -> str:
        """The type as text."""
        return tensor_type(self.shape, self.element)


def tensor_type(shape: Sequence[int], element: str) -> str:
    """`tensor<2x3xf32>`."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def types_of(tensors: Iterable[Tensor]) -> str:
    """`tensor<2xf32>, tensor<3xf32>`."""
    return ", ".join(tensor.type for tensor in tensors)


def names_of(tensors: Iterable[Tensor]) -> str:
    """`%a, %b`."""
    return ", ".join(tensor.name for tensor in tensors)


def array(numbers: Sequence[int]) -> str:
    """`array<i64: 1, 2>`."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


class Draft:
    """What all blocks of a program share."""

    def __init__(self, seed: int, options: Options) -> None:
        self.random = random.Random(seed)
        self.options = options
        # Shardy does not survive priorities of what is dead. That of jaxlib does not look at unreduced axes of calls.
        self.leaves_dead, self.has_calls = self.chance(0.2), self.chance(0.6)
        habits = Habits(
            priorities=0.0 if self.leaves_dead else Habits().priorities,
            inlined=0.0 if options.standalone else Habits().inlined,
            unreduced=0.0 if options.executable or self.has_calls else Habits().unreduced,
        )
        self.annotations = Annotations(
            self.random, habits, max_devices=options.max_devices, one_mesh=options.one_mesh or options.executable
        )
        # Integers add up to the same in every order.
        self.element = self.random.choice(("i32", "i32", "f32") if options.executable else ("f32", "f32", "i32"))
        self.functions: list[Function] = []
        self.groups = 0
        self.left = options.ops  # how many ops may still be written
        self._names = 0

    def name(self, prefix: str = "v") -> str:
        """A name that no other value has."""
        self._names += 1
        return f"%{prefix}{self._names}"

    def chance(self, probability: float) -> bool:
        """Whether something of that probability happens."""
        return self.random.random() < probability

    def size(self) -> int:
        """The size of a dim."""
        return self.random.choice(DIM_SIZES)

    def shape(self, low_rank: int = 1, high_rank: int = 3) -> Shape:
        """The shape of a tensor that is not too large."""
        shape = tuple(self.size() for _ in range(self.random.randint(low_rank, high_rank)))
        while prod(shape) > MAX_ELEMENTS:
            shape = shape[1:]
        return shape


@dataclass(slots=True)
class Function:
    """A function that calls may name. Axes that are manual where it is called stay out of its shardings."""

    name: str
    arguments: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    manual_axes: frozenset[str]
    text: str


@dataclass(slots=True)
class Block:
    """A block that is being written, and the values that its ops may read.

    `new_argument` gives the function an argument more, where the block sees those.
    """

    draft: Draft
    values: list[Tensor]
    manual_axes: frozenset[str] = frozenset()
    new_argument: Callable[[Shape, str], Tensor] | None = None
    depth: int = 0
    lines: list[str] = field(default_factory=list[str])
    unused: list[Tensor] = field(default_factory=list[Tensor])
    defined: list[Tensor] = field(default_factory=list[Tensor])
    groups: dict[Shape, int] = field(default_factory=dict[Shape, int])

    @property
    def random(self) -> random.Random:
        """The source of all choices."""
        return self.draft.random

    def use(self, tensor: Tensor) -> Tensor:
        """An operand."""
        if tensor in self.unused:
            self.unused.remove(tensor)
        return tensor

    def pick(self, low_rank: int = 0, high_rank: int = 9, element: str | None = None) -> Tensor:
        """A value to read: of the program's own element type unless another is named; a new one if there is none."""
        element = element or self.draft.element
        fitting = [each for each in self.values if each.element == element and low_rank <= len(each.shape) <= high_rank]
        if not fitting:
            return self.fresh(self.draft.shape(max(low_rank, 1), min(high_rank, max(low_rank, 1) + 1)), element)
        recent = fitting[-4:] if self.draft.chance(0.6) else fitting
        return self.use(self.random.choice(recent))

    def alike(self, shape: Shape, element: str | None = None) -> Tensor:
        """A value of that shape to read: one of those that are there, or a new one."""
        element = element or self.draft.element
        fitting = [each for each in self.values if (each.shape, each.element) == (shape, element)]
        if fitting and self.draft.chance(0.7):
            return self.use(self.random.choice(fitting))
        return self.fresh(shape, element)

    def fresh(self, shape: Shape, element: str) -> Tensor:
        """A new value to read: an argument of the function, or a constant."""
        if self.new_argument is not None and self.draft.chance(0.7):
            return self.new_argument(shape, element)
        if shape and self.draft.chance(0.3) and element != "i1":
            dim = self.random.randrange(len(shape))
            return self.use(
                self.define(f"stablehlo.iota dim = {dim}", "", tensor_type(shape, element), (shape, element))
            )
        text = self.random.choice({"i1": ("true", "false"), "f32": ("0.5", "-1.0")}.get(element, ("1", "3")))
        return self.constant(text, shape, element)

    def constant(self, text: str, shape: Shape, element: str) -> Tensor:
        """A constant whose elements are all alike, to read."""
        result = Tensor(self.draft.name("c"), shape, element)
        attributes = self.sharding_attributes([result])
        self.lines.append(f"{result.name} = stablehlo.constant{braced(attributes)} dense<{text}> : {result.type}")
        self.values.append(result)
        return result

    def define(self, head: str, attributes: str, types: str, *results: tuple[Shape, str]) -> Tensor:
        """Write an op, with a sharding perhaps; its first result."""
        return self.define_all(head, attributes, types, *results)[0]

    def define_all(self, head: str, attributes: str, types: str, *results: tuple[Shape, str]) -> list[Tensor]:
        """Write an op, with shardings perhaps; its results."""
        name = self.draft.name()
        if len(results) == 1:
            tensors = [Tensor(name, *results[0])]
        else:
            tensors = [Tensor(f"{name}#{index}", *kind) for index, kind in enumerate(results)]
            name = f"{name}:{len(results)}"
        attributes = ", ".join(part for part in (attributes, self.sharding_attributes(tensors)) if part)
        self.lines.append(f"{name} = {head}{braced(attributes)} : {types}")
        self.add(*tensors)
        return tensors

    def add(self, *tensors: Tensor) -> None:
        """Let later ops read these."""
        self.values.extend(tensors)
        self.unused.extend(tensors)
        self.defined.extend(tensors)

    def sharding_attributes(self, tensors: Sequence[Tensor]) -> str:
        """`sdy.sharding = ...` of an op with these results, or nothing."""
        if not self.draft.chance(self.draft.options.annotated):
            return ""
        # Results of one op must have the same unreduced axes.
        texts = ", ".join(self.sharding(tensor.shape, unreduced=len(tensors) == 1) for tensor in tensors)
        return f"sdy.sharding = #sdy.sharding_per_value<[{texts}]>"

    def sharding(self, shape: Shape, *, unreduced: bool = True) -> str:
        """A sharding that may stand here."""
        return self.draft.annotations.sharding(shape, self.manual_axes, unreduced=unreduced)

    def keep_alive(self) -> None:
        """Let what nobody has read so far be in a sharding group of its own: nothing is dead then."""
        for tensor in () if self.draft.leaves_dead else list(self.unused):
            self.draft.groups += 1
            self.use(tensor)
            self.lines.append(f"sdy.sharding_group {tensor.name} group_id={self.draft.groups} : {tensor.type}")

    def inner(self, arguments: Sequence[Tensor], manual_axes: Collection[str] = (), *, sees_outside: bool) -> Block:
        """A block inside an op of this one."""
        inside = Block(
            self.draft,
            [*(self.values if sees_outside else ()), *arguments],
            self.manual_axes | frozenset(manual_axes),
            self.new_argument if sees_outside else None,
            self.depth + 1,
        )
        inside.unused.extend(arguments if self.draft.chance(0.5) else ())
        return inside


def braced(attributes: str) -> str:
    """An attribute dictionary after a space, or nothing."""
    return f" {{{attributes}}}" if attributes else ""
