"""Build random programs: values, blocks and functions."""

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
    """Options of random programs.

    `executable`: only ops that the interpreter can run with one possible result: no unknown custom calls, no unreduced
    axes. `standalone`: for passes that run outside of the propagation pipeline: the program has named computations,
    and all meshes have names.
    """

    ops: int = 10
    executable: bool = False
    standalone: bool = False
    max_devices: int = 512
    one_mesh: bool = False
    annotated: float = 0.35


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value: its name, shape and element type."""

    name: str
    shape: Shape
    element: str

    @property
    def type(self) -> str:
        """Return the type as text."""
        return tensor_type(self.shape, self.element)


def tensor_type(shape: Sequence[int], element: str) -> str:
    """Return the text of a tensor type: `tensor<2x3xf32>`."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def types_of(tensors: Iterable[Tensor]) -> str:
    """Return the types of tensors: `tensor<2xf32>, tensor<3xf32>`."""
    return ", ".join(tensor.type for tensor in tensors)


def names_of(tensors: Iterable[Tensor]) -> str:
    """Return the names of tensors: `%a, %b`."""
    return ", ".join(tensor.name for tensor in tensors)


def array(numbers: Sequence[int]) -> str:
    """Return the text of an array attribute: `array<i64: 1, 2>`."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


class Draft:
    """The state that all blocks of a program share."""

    def __init__(self, seed: int, options: Options) -> None:
        self.random = random.Random(seed)
        self.options = options
        # Shardy crashes on priorities of dead values. Shardy of jaxlib ignores unreduced axes of calls.
        self.leaves_dead, self.has_calls = self.chance(0.2), self.chance(0.6)
        habits = Habits(
            priorities=0.0 if self.leaves_dead else Habits().priorities,
            inlined=0.0 if options.standalone else Habits().inlined,
            unreduced=0.0 if options.executable or self.has_calls else Habits().unreduced,
        )
        self.annotations = Annotations(
            self.random, habits, max_devices=options.max_devices, one_mesh=options.one_mesh or options.executable
        )
        # The sum of integers does not depend on their order.
        self.element = self.random.choice(("i32", "i32", "f32") if options.executable else ("f32", "f32", "i32"))
        self.functions: list[Function] = []
        self.groups = 0
        self.left = options.ops  # how many ops may still be written
        self._names = 0

    def name(self, prefix: str = "v") -> str:
        """Return a new value name."""
        self._names += 1
        return f"%{prefix}{self._names}"

    def chance(self, probability: float) -> bool:
        """Return True with that probability."""
        return self.random.random() < probability

    def size(self) -> int:
        """Draw the size of a dim."""
        return self.random.choice(DIM_SIZES)

    def shape(self, low_rank: int = 1, high_rank: int = 3) -> Shape:
        """Draw the shape of a tensor of at most MAX_ELEMENTS elements."""
        shape = tuple(self.size() for _ in range(self.random.randint(low_rank, high_rank)))
        while prod(shape) > MAX_ELEMENTS:
            shape = shape[1:]
        return shape


@dataclass(slots=True)
class Function:
    """A callable function. Its shardings do not use the axes that are manual at its calls."""

    name: str
    arguments: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    manual_axes: frozenset[str]
    text: str


@dataclass(slots=True)
class Block:
    """A block under construction and the values that its ops may use.

    `new_argument` adds an argument to the function, if the block can see function arguments.
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
        """Return the random number generator of the program."""
        return self.draft.random

    def use(self, tensor: Tensor) -> Tensor:
        """Mark a value as used and return it."""
        if tensor in self.unused:
            self.unused.remove(tensor)
        return tensor

    def pick(self, low_rank: int = 0, high_rank: int = 9, element: str | None = None) -> Tensor:
        """Return an operand of `element` (default: the element type of the program), a new one if none exists."""
        element = element or self.draft.element
        fitting = [each for each in self.values if each.element == element and low_rank <= len(each.shape) <= high_rank]
        if not fitting:
            return self.fresh(self.draft.shape(max(low_rank, 1), min(high_rank, max(low_rank, 1) + 1)), element)
        recent = fitting[-4:] if self.draft.chance(0.6) else fitting
        return self.use(self.random.choice(recent))

    def alike(self, shape: Shape, element: str | None = None) -> Tensor:
        """Return an operand of that shape, existing or new."""
        element = element or self.draft.element
        fitting = [each for each in self.values if (each.shape, each.element) == (shape, element)]
        if fitting and self.draft.chance(0.7):
            return self.use(self.random.choice(fitting))
        return self.fresh(shape, element)

    def fresh(self, shape: Shape, element: str) -> Tensor:
        """Return a new operand: a function argument, an iota or a constant."""
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
        """Add a splat constant and return it."""
        result = Tensor(self.draft.name("c"), shape, element)
        attributes = self.sharding_attributes([result])
        self.lines.append(f"{result.name} = stablehlo.constant{braced(attributes)} dense<{text}> : {result.type}")
        self.values.append(result)
        return result

    def define(self, head: str, attributes: str, types: str, *results: tuple[Shape, str]) -> Tensor:
        """Add an op, at times with shardings; return its first result."""
        return self.define_all(head, attributes, types, *results)[0]

    def define_all(self, head: str, attributes: str, types: str, *results: tuple[Shape, str]) -> list[Tensor]:
        """Add an op, at times with shardings; return its results."""
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
        """Make values available to later ops."""
        self.values.extend(tensors)
        self.unused.extend(tensors)
        self.defined.extend(tensors)

    def sharding_attributes(self, tensors: Sequence[Tensor]) -> str:
        """Return the attribute `sdy.sharding = ...` of an op with these results, or an empty text."""
        if not self.draft.chance(self.draft.options.annotated):
            return ""
        # Results of one op must have the same unreduced axes.
        texts = ", ".join(self.sharding(tensor.shape, unreduced=len(tensors) == 1) for tensor in tensors)
        return f"sdy.sharding = #sdy.sharding_per_value<[{texts}]>"

    def sharding(self, shape: Shape, *, unreduced: bool = True) -> str:
        """Draw a sharding that is valid in this block."""
        return self.draft.annotations.sharding(shape, self.manual_axes, unreduced=unreduced)

    def keep_alive(self) -> None:
        """Add each unused value to a new sharding group, so that none is dead."""
        for tensor in () if self.draft.leaves_dead else list(self.unused):
            self.draft.groups += 1
            self.use(tensor)
            self.lines.append(f"sdy.sharding_group {tensor.name} group_id={self.draft.groups} : {tensor.type}")

    def inner(self, arguments: Sequence[Tensor], manual_axes: Collection[str] = (), *, sees_outside: bool) -> Block:
        """Return a block of a region of an op in this block."""
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
    """Return a space and an attribute dictionary, or an empty text."""
    return f" {{{attributes}}}" if attributes else ""
