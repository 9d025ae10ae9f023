"""Programs broken in one place or several: bytes, tokens, lines, nesting, numbers, escapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[\w.$-]+|->|\S')
CUTS = ("{", "}", "(", ")", "[", "]", "<", ">", '"', ",", ":", "=", "->", "?", "@", "%", "#", "!", "^", "//", "x", "-")
NUMBERS = ("0", "-1", "9" * 30, "1e999", "0x", "0xFFFFFFFFFFFFFFFFFF", "18446744073709551616", "1.5.5", "nan")
ESCAPES = ('"\\q"', '"\\FG"', '"\\', '"\\00"', '"\n"', "\\", '"\\u1234"')
BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}
DEEP = 10_000

Mutation = Callable[[Random, str, str], str]


def _at(random: Random, text: str) -> int:
    return random.randrange(len(text) + 1)


def _byte(random: Random, text: str, _: str) -> str:
    place = _at(random, text)
    return text[:place] + chr(random.choice((random.randrange(128), random.randrange(0x2000)))) + text[place + 1 :]


def _truncate(random: Random, text: str, _: str) -> str:
    return text[: _at(random, text)]


def _delete(random: Random, text: str, _: str) -> str:
    place = _at(random, text)
    return text[:place] + text[place + random.randrange(1, 40) :]


def _token(random: Random, text: str, other: str) -> str:
    """One token by one of another program, or by a delimiter."""
    found = list(TOKEN.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    tokens = TOKEN.findall(other)
    new = random.choice(tokens) if tokens and random.random() < 0.6 else random.choice(CUTS)
    return text[: match.start()] + new + text[match.end() :]


def _swap_tokens(random: Random, text: str, _: str) -> str:
    found = list(TOKEN.finditer(text))
    if len(found) < 2:
        return text
    first, second = sorted(random.sample(found, 2), key=lambda match: match.start())
    between = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + between + first[0] + text[second.end() :]


def _line(random: Random, text: str, other: str) -> str:
    """A line doubled, moved, or taken from another program."""
    lines, others = text.splitlines(keepends=True), other.splitlines(keepends=True)
    if not lines or not others:
        return text
    place = random.randrange(len(lines))
    lines[place : place + random.randrange(2)] = [random.choice((random.choice(lines), random.choice(others)))]
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
    place = match.span() if match else (_at(random, text),) * 2
    return text[: place[0]] + random.choice(ESCAPES) + text[place[1] :]


def _nest(random: Random, text: str, _: str) -> str:
    """Something in brackets, thousands of times over."""
    found = [place for place, char in enumerate(text) if char in BRACKETS]
    place = random.choice(found) if found else _at(random, text)
    opening = text[place : place + 1] if found else "("
    depth = random.choice((50, 500, DEEP))
    closing = BRACKETS.get(opening, ")") * random.choice((0, depth))
    return text[:place] + opening * depth + closing + text[place:]


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
    """`text` after one to three mutations, some of them with pieces of `other`."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        text = random.choice(MUTATIONS)(random, text, other)
    return text
