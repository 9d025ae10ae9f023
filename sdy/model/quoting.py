"""Quoting and unquoting of names and symbols. Source: docs/spec/01, 0.2."""

from __future__ import annotations

import re

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_ESCAPE = re.compile(rb'\\(["\\nt]|[0-9A-Fa-f]{2})')
_PLAIN_ESCAPES = {b'"': b'"', b"\\": b"\\", b"n": b"\n", b"t": b"\t"}
_TO_QUOTE = re.compile(rb"[^ !#-\[\]-~]")


def unquoted(literal: str) -> str:
    """Return the name that a quoted string literal stands for. Bytes that are not UTF-8 become surrogates."""
    if "\\" not in literal:
        return literal[1:-1]
    raw = _ESCAPE.sub(lambda match: _unescaped(match[1]), literal[1:-1].encode())
    return raw.decode(errors="surrogateescape")


def _unescaped(escape: bytes) -> bytes:
    return _PLAIN_ESCAPES[escape] if escape in _PLAIN_ESCAPES else bytes([int(escape, 16)])


def quoted(name: str) -> str:
    """Return the name as a string literal: printable ASCII as it is, other bytes as two hexadecimal digits."""
    raw = name.encode(errors="surrogateescape")
    return f'"{_TO_QUOTE.sub(lambda match: _escaped(match[0]), raw).decode()}"'


def _escaped(byte: bytes) -> bytes:
    return b"\\\\" if byte == b"\\" else b"\\%02X" % byte[0]


def symbol_name(symbol: str) -> str:
    """Return the name that a symbol reference such as `@mesh` or `@"a mesh"` stands for."""
    return unquoted(symbol[1:]) if symbol[1] == '"' else symbol[1:]


def symbol(name: str) -> str:
    """Return the reference to symbol `name`, quoted unless it is a bare identifier."""
    return f"@{name}" if _BARE.fullmatch(name) else f"@{quoted(name)}"
