"""Build a program of one op and its random constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IntegerType,
    Signedness,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from sdy.interpreter.arrays.element_types import (
    Array,
    bit_width,
    compute_dtype,
    dtype_of,
    is_bool,
    is_complex,
    is_float,
    is_signed,
    is_sub_byte,
)

T = TypeVar("T")

ELEMENTS: dict[str, Attribute] = {
    "i1": i1,
    "i2": IntegerType(2),
    "i4": IntegerType(4),
    "i8": i8,
    "i16": i16,
    "i32": i32,
    "i64": i64,
    "ui2": IntegerType(2, Signedness.UNSIGNED),
    "ui4": IntegerType(4, Signedness.UNSIGNED),
    "ui8": IntegerType(8, Signedness.UNSIGNED),
    "ui16": IntegerType(16, Signedness.UNSIGNED),
    "ui32": IntegerType(32, Signedness.UNSIGNED),
    "ui64": IntegerType(64, Signedness.UNSIGNED),
    "f16": f16,
    "bf16": BFloat16Type(),
    "f32": f32,
    "f64": f64,
    "f8E3M4": Float8E3M4Type(),
    "f8E4M3": Float8E4M3Type(),
    "f8E4M3B11FNUZ": Float8E4M3B11FNUZType(),
    "f8E4M3FN": Float8E4M3FNType(),
    "f8E4M3FNUZ": Float8E4M3FNUZType(),
    "f8E5M2": Float8E5M2Type(),
    "f8E5M2FNUZ": Float8E5M2FNUZType(),
    "f8E8M0FNU": Float8E8M0FNUType(),
    "f6E2M3FN": Float6E2M3FNType(),
    "f6E3M2FN": Float6E3M2FNType(),
    "f4E2M1FN": Float4E2M1FNType(),
    "complex<f32>": ComplexType(f32),
    "complex<f64>": ComplexType(f64),
}
SIGNED = ("i2", "i4", "i8", "i16", "i32", "i64")
UNSIGNED = ("ui2", "ui4", "ui8", "ui16", "ui32", "ui64")
# Without f8E8M0FNU, which has neither zero nor sign; it is only converted and moved.
FLOATS = ("bf16", *(name for name in ELEMENTS if name[0] == "f" and name != "f8E8M0FNU"))
COMPLEX = ("complex<f32>", "complex<f64>")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = INTEGERS + FLOATS + COMPLEX
ALL = tuple(ELEMENTS)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, np.inf, -np.inf, np.nan)


EMPTY_SHARE = 0.03


@dataclass
class Draft:
    """A program under construction: constants, ops and results.

    Results may differ by `ulps` units in the last place (for complex results, of their modulus); 0 means bit for bit.
    Results that add up `terms` elements may differ by a multiple of the relative error of the format, which depends on
    `magnitudes`, or by `bounds`, one per result.
    """

    random: np.random.Generator
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    types: dict[str, str] = field(default_factory=dict[str, str])
    lines: list[str] = field(default_factory=list[str])
    results: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    functions: list[str] = field(default_factory=list[str])
    ulps: int = 0
    bounds: list[Array] = field(default_factory=list[Array])
    terms: int = 0
    summed: str = ""
    addends: Sequence[str] = ()
    deciding: set[str] = field(default_factory=set[str])
    replacements: int = 0
    has_complex_results: bool = False

    def pick(self, *choices: str) -> str:
        return choices[int(self.random.integers(len(choices)))]

    def size(self, low: int = 1, high: int = 5) -> int:
        return int(self.random.integers(low, high))

    def replaced(self, other: T, is_replaced: bool = True) -> T:
        """Return `other`, and count a replacement of something that the reference rejects or computes incorrectly."""
        self.replacements += is_replaced
        return other

    def shape(self, low_rank: int = 0, high_rank: int = 4) -> tuple[int, ...]:
        """Draw a shape of small sizes, sometimes 0."""
        sizes = list(self.filled_shape(low_rank, high_rank))
        if sizes and self.random.random() < EMPTY_SHARE:
            sizes[self.size(0, len(sizes))] = 0
        return tuple(sizes)

    def filled_shape(self, low_rank: int = 0, high_rank: int = 4) -> tuple[int, ...]:
        """Draw a shape of small nonzero sizes."""
        return tuple(self.size() for _ in range(int(self.random.integers(low_rank, high_rank))))

    def constant(self, array: Array, element: str) -> str:
        """Add a constant and return its name."""
        name = f"%c{len(self.constants)}"
        self.constants[name] = array
        self.types[name] = tensor(array.shape, element)
        return name

    def sizes(self, sizes: Array, element: str = "i64") -> str:
        """Add a constant that determines a shape, so it must be the same on all devices, and return its name."""
        name = self.constant(sizes, element)
        self.deciding.add(name)
        return name

    def values(self, shape: Sequence[int], element: str) -> Array:
        """Draw random elements: small and large numbers, and special values."""
        dtype = dtype_of(ELEMENTS[element])
        count = int(np.prod(shape))
        if element == "f8E8M0FNU":
            flat = self.random.integers(100, 150, count).astype(np.uint8).view(dtype)
        elif is_bool(dtype):
            flat = self.random.integers(0, 2, count).astype(dtype)
        elif is_complex(dtype):
            flat = (self.random.normal(size=count) + 1j * self.random.normal(size=count)).astype(dtype)
        elif is_float(dtype):
            wide = self.random.normal(size=count) * self.random.choice([0.1, 1.0, 3.0, 20.0], count)
            chosen = self.random.random(count) < 0.2
            wide = np.where(chosen, self.random.choice(SPECIAL, count), wide)
            flat = wide.astype(compute_dtype(dtype)).astype(dtype)
        else:
            small = self.random.integers(-5 if is_signed(dtype) else 0, 9, count).astype(np.int8).astype(dtype)
            wide = compute_dtype(dtype)
            large = np.frombuffer(self.random.bytes(count * wide.itemsize), wide).astype(dtype)
            flat = np.where(self.random.random(count) < 0.3, large, small)
        return flat.reshape(tuple(shape))

    def plain(self, shape: Sequence[int], element: str) -> Array:
        """Draw random elements without special values, for ops that add up many of them."""
        dtype = dtype_of(ELEMENTS[element])
        if is_float(dtype) and element != "f8E8M0FNU":
            return self.random.normal(size=tuple(shape)).astype(compute_dtype(dtype)).astype(dtype)
        return self.values(shape, element)

    def tensor(self, shape: Sequence[int], element: str) -> str:
        return self.constant(self.values(shape, element), element)

    def numbers(self, shape: Sequence[int], element: str) -> str:
        return self.constant(self.plain(shape, element), element)

    def adds(self, terms: int, element: str, *addends: str) -> None:
        """Record that results are sums of up to `terms` elements of `addends`, or of products of one of each."""
        self.terms, self.summed, self.addends = terms, element, addends

    def op(self, text: str, *types: str) -> None:
        """Add an op whose results, of these types, the program returns."""
        names = [f"%r{len(self.lines)}_{index}" for index in range(len(types))]
        self.lines.append(f"{', '.join(names)} = {text}")
        for name, kind in zip(names, types, strict=True):
            if "complex" not in kind:
                self.results.append((name, kind))
                continue
            self.has_complex_results = True
            # The way to read results from the reference does not support complex numbers.
            real = kind.replace("complex<", "", 1).replace(">", "", 1)
            for part in ("real", "imag"):
                self.lines.append(f"{name}_{part} = stablehlo.{part} {name} : ({kind}) -> {real}")
                self.results.append((f"{name}_{part}", real))

    def text(self) -> str:
        """Return the program with its constants in the text."""
        constants = [
            f'{name} = stablehlo.constant dense<"0x{_hex(array)}"> : {self.types[name]}'
            for name, array in self.constants.items()
        ]
        return self._function("", [*constants, *self.lines])

    def magnitudes(self) -> Draft:
        """Return the program in f64 on absolute values of its addends, whose results are sums without cancellation."""
        wide = replace(self, constants={}, types={}, lines=[], results=[])
        for name, array in self.constants.items():
            is_widened = self.types[name].endswith(("x" + self.summed + ">", "<" + self.summed + ">"))
            magnitude = np.abs(array.astype(np.complex128)) if name in self.addends else array
            wide.constants[name] = magnitude.astype(np.float64) if is_widened else array
            wide.types[name] = _widened(self.types[name], self.summed)
        lines = (_widened(line, self.summed) for line in self.lines)
        same_sign = (line.replace("stablehlo.subtract", "stablehlo.add") for line in lines)
        wide.lines = [line.replace("stablehlo.imag", "stablehlo.real") for line in same_sign]
        wide.results = [(name, _widened(kind, self.summed)) for name, kind in self.results]
        return wide

    def text_with_arguments(self) -> str:
        """Return the program with its constants as arguments, in order."""
        return self._function(", ".join(f"{name}: {kind}" for name, kind in self.types.items()), self.lines)

    def _function(self, arguments: str, lines: Sequence[str]) -> str:
        types = ", ".join(kind for _, kind in self.results)
        body = "\n  ".join(lines)
        names = ", ".join(name for name, _ in self.results)
        main = f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n  return {names} : {types}\n}}\n"
        return "".join([main, *self.functions])


def _hex(array: Array) -> str:
    dtype = array.dtype
    if is_sub_byte(dtype):
        return (array.astype(np.int8).view(np.uint8) & ((1 << bit_width(dtype)) - 1)).tobytes().hex()
    return array.tobytes().hex()


def _widened(text: str, element: str) -> str:
    """Replace tensors of `element`, or of its real and imaginary parts, by tensors of f64."""
    part = element.removeprefix("complex<").removesuffix(">")
    for kind in (element, part):
        text = text.replace(f"x{kind}>", "xf64>").replace(f"<{kind}>", "<f64>")
    return text


def tensor(shape: Sequence[int], element: str) -> str:
    """Return the text of a tensor type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def array(numbers: Sequence[int]) -> str:
    """Return the text of an array attribute: `array<i64: 1, 2>`."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def region(element: str, *ops: str, count: int = 2) -> str:
    """Return the text of a region of ops, `%0 = op : type` and so on, on scalars `%a`, `%b`...; it returns the last."""
    scalar = tensor((), element)
    arguments = ", ".join(f"%{'abcd'[index]}: {scalar}" for index in range(count))
    lines = "".join(f"    %{number} = {op} : {scalar}\n" for number, op in enumerate(ops))
    return f"({{\n  ^bb0({arguments}):\n{lines}    stablehlo.return %{len(ops) - 1} : {scalar}\n  }})"
