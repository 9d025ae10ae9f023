"""Mutate the text of programs: bytes, tokens, lines, nesting, numbers, escapes."""

from __future__ import annotations

import re
from collections.abc import Callable
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


def mutated(random: Random, text: str, other: str) -> str:
    """Return `text` after one to three mutations, some of which insert tokens or lines of `other`."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        text = random.choice(MUTATIONS)(random, text, other)
    return text
