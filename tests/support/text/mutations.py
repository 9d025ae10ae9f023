"""Mutate the text of programs: bytes, tokens, lines, nesting, numbers, escapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[\w.$-]+|->|\S')
DELIMITERS = (
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    '"',
    ",",
    ":",
    "=",
    "->",
    "?",
    "@",
    "%",
    "#",
    "!",
    "^",
    "//",
    "x",
    "-",
)
NUMBERS = ("0", "-1", "9" * 30, "1e999", "0x", "0xFFFFFFFFFFFFFFFFFF", "18446744073709551616", "1.5.5", "nan")
ESCAPES = ('"\\q"', '"\\FG"', '"\\', '"\\00"', '"\n"', "\\", '"\\u1234"')
BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}
DEEP = 10_000

NUMBER_IN_BRACKETS = re.compile(r"(?<=[\[, =:(])\d+(?=[\],:>) ])")
ELEMENT_TYPE = re.compile(r"(?<=[x<])(?:complex<f\d+>|[a-z]+\d+\w*)(?=>)")
ELEMENT_TYPES = ("f32", "f64", "bf16", "f8E4M3FN", "i1", "i4", "i32", "ui8", "ui64", "complex<f32>")
RESULT_OF_TYPE = re.compile(r"(%[\w$.-]+) = [^\n]*[:>] (tensor<[^<>\n]*>)\n")
ARGUMENT_OF_TYPE = re.compile(r"(%[\w$.-]+): (tensor<[^<>\n]*>)")
DIM_OR_STRING = re.compile(r'\{(?:"[^"\n]*"|[\w:(), ?])*\}|"[^"\n]*"')
CLAUSE = re.compile(
    r',? [\w.]+ = (?:"[^"\n]*"|[\w#.]+(?:<[^<>\n]*>)?|\[[^\[\]\n]*\])|[^\n]*\n|, replicated=\{[^}\n]*\}'
)
SIMILAR_OPS = (
    ("abs", "negate", "exponential", "tanh", "sqrt", "sine", "floor", "sign", "not", "popcnt", "optimization_barrier"),
    ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "remainder", "and", "or", "shift_left"),
    ("all_gather", "all_reduce", "reduce_scatter", "all_to_all", "collective_permute", "collective_broadcast"),
    ("reshape", "transpose", "reverse", "broadcast_in_dim", "convert", "bitcast_convert", "slice", "pad", "iota"),
)
SIZES = (0, 1, 2, 3, 5, 7, 8, 64, 1_000_000_007)

Mutation = Callable[[Random, str, str], str]


def _at(random: Random, text: str) -> int:
    return random.randrange(len(text) + 1)


def _byte(random: Random, text: str, _: str) -> str:
    position = _at(random, text)
    return (
        text[:position] + chr(random.choice((random.randrange(128), random.randrange(0x2000)))) + text[position + 1 :]
    )


def _truncate(random: Random, text: str, _: str) -> str:
    return text[: _at(random, text)]


def _delete(random: Random, text: str, _: str) -> str:
    position = _at(random, text)
    return text[:position] + text[position + random.randrange(1, 40) :]


def _token(random: Random, text: str, other: str) -> str:
    """Replace a token by one of another program, or by a delimiter."""
    found = list(TOKEN.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    tokens = TOKEN.findall(other)
    new = random.choice(tokens) if tokens and random.random() < 0.6 else random.choice(DELIMITERS)
    return text[: match.start()] + new + text[match.end() :]


def _swap_tokens(random: Random, text: str, _: str) -> str:
    found = list(TOKEN.finditer(text))
    if len(found) < 2:
        return text
    first, second = sorted(random.sample(found, 2), key=lambda match: match.start())
    between = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + between + first[0] + text[second.end() :]


def _line(random: Random, text: str, other: str) -> str:
    """Duplicate a line, replace it, or insert one of another program."""
    lines, others = text.splitlines(keepends=True), other.splitlines(keepends=True)
    if not lines or not others:
        return text
    position = random.randrange(len(lines))
    lines[position : position + random.randrange(2)] = [random.choice((random.choice(lines), random.choice(others)))]
    return "".join(lines)


def _number(random: Random, text: str, _: str) -> str:
    found = list(re.finditer(r"\d+", text))
    if not found:
        return text
    match = random.choice(found)
    return text[: match.start()] + random.choice(NUMBERS) + text[match.end() :]


def _escape(random: Random, text: str, _: str) -> str:
    found = list(re.finditer(r'"[^"\n]*"', text))
    match = random.choice(found) if found else None
    position = match.span() if match else (_at(random, text),) * 2
    return text[: position[0]] + random.choice(ESCAPES) + text[position[1] :]


def _nest(random: Random, text: str, _: str) -> str:
    """Nest brackets up to thousands of levels deep."""
    found = [position for position, char in enumerate(text) if char in BRACKETS]
    position = random.choice(found) if found else _at(random, text)
    opening = text[position : position + 1] if found else "("
    depth = random.choice((50, 500, DEEP))
    closing = BRACKETS.get(opening, ")") * random.choice((0, depth))
    return text[:position] + opening * depth + closing + text[position:]


def _size(random: Random, text: str, _: str) -> str:
    """Replace a number everywhere, such as the size of a dim and of the slices along it."""
    old, new = _numbers(random, text)
    return text if old is None else re.sub(rf"(?<![\w.]){old}(?=[x\]),>: ])", new, text)


def _number_in_brackets(random: Random, text: str, _: str) -> str:
    """Change one number of an attribute: a dim, a device, the size of an axis."""
    found = list(NUMBER_IN_BRACKETS.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    return text[: match.start()] + _near(random, int(match[0][:9])) + text[match.end() :]


def _numbers(random: Random, text: str) -> tuple[str | None, str]:
    found = re.findall(r"(?<![\w.])\d+(?=x)", text)
    old = random.choice(found) if found else None
    return old, "" if old is None else _near(random, int(old[:9]))


def _near(random: Random, number: int) -> str:
    return str(random.choice((number + 1, max(0, number - 1), 2 * number, number // 2, *SIZES)))


def _element_type(random: Random, text: str, _: str) -> str:
    """Replace an element type everywhere."""
    found = ELEMENT_TYPE.findall(text)
    if not found:
        return text
    old, new = random.choice(found), random.choice(ELEMENT_TYPES)
    return re.sub(rf"(?<=[x<]){re.escape(old)}(?=>)", new, text)


def _value_of_same_type(random: Random, text: str, _: str) -> str:
    """Replace an operand by another value of its type."""
    types = {match[1]: match[2] for match in RESULT_OF_TYPE.finditer(text)}
    types |= {match[1]: match[2] for match in ARGUMENT_OF_TYPE.finditer(text)}
    used = [match for match in re.finditer(r"%[\w$.-]+(?!\w)", text) if match[0] in types]
    if not used:
        return text
    match = random.choice(used)
    new = random.choice([name for name, kind in types.items() if kind == types[match[0]]])
    return text[: match.start()] + new + text[match.end() :]


def _similar_op(random: Random, text: str, _: str) -> str:
    """Replace an op by another one with as many operands, all of one type."""
    found = [match for match in re.finditer(r"stablehlo\.(\w+)", text) if any(match[1] in ops for ops in SIMILAR_OPS)]
    if not found:
        return text
    match = random.choice(found)
    new = random.choice(next(ops for ops in SIMILAR_OPS if match[1] in ops))
    return text[: match.start(1)] + new + text[match.end(1) :]


def _sharding(random: Random, text: str, other: str) -> str:
    """Replace the axes of a dim, or a string: a name of an axis, a target of a call."""
    found = list(DIM_OR_STRING.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    others = [each[0] for each in (*found, *DIM_OR_STRING.finditer(other)) if each[0][0] == match[0][0]]
    return text[: match.start()] + random.choice([*others, "{}", "{?}"]) + text[match.end() :]


def _swap_lines(random: Random, text: str, _: str) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return text
    position = random.randrange(len(lines) - 1)
    lines[position : position + 2] = [lines[position + 1], lines[position]]
    return "".join(lines)


def _drop_clause(random: Random, text: str, _: str) -> str:
    """Remove an attribute, or a line."""
    found = list(CLAUSE.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    return text[: match.start()] + text[match.end() :]


MUTATIONS: tuple[Mutation, ...] = (
    _byte,
    _truncate,
    _delete,
    _token,
    _token,
    _token,
    _swap_tokens,
    _line,
    _number,
    _escape,
    _nest,
)


GENTLE_MUTATIONS: tuple[Mutation, ...] = (
    *(_size, _size, _number_in_brackets, _number_in_brackets, _number_in_brackets, _element_type),
    *(_value_of_same_type, _value_of_same_type, _similar_op, _similar_op, _sharding, _sharding),
    *(_swap_lines, _drop_clause, _line, _token, _swap_tokens, _number),
)


def mutated(random: Random, text: str, other: str) -> str:
    """Return `text` after one to three mutations, some of which insert tokens or lines of `other`."""
    return _mutated(random, text, other, MUTATIONS)


def mutated_gently(random: Random, text: str, other: str) -> str:
    """Return `text` after one to three mutations that often keep it valid."""
    return _mutated(random, text, other, GENTLE_MUTATIONS)


def _mutated(random: Random, text: str, other: str, mutations: Sequence[Mutation]) -> str:
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        text = random.choice(mutations)(random, text, other)
    return text
