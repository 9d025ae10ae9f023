"""Passes and pipelines as text, parsed, built and written: `builtin.module(cse,sdy-propagate{keep-rules=true})`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, Field
from typing import cast

from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, span_at
from sdy.passes.manager.all import pass_class
from sdy.passes.manager.option_types import (
    OptionValue,
    PassRequest,
    is_tuple_of_passes,
    option_error,
    options_of,
    parse_options,
    read_value,
    write_options,
    write_value,
)
from sdy.passes.run import flattened

ANCHORS = ("builtin.module", "func.func", "any")
ROOTS = ("builtin.module", "any")

_NAME = re.compile(r"\s*([\w.-]+)\s*")
_QUOTED_OR_BRACE = re.compile(r"'[^']*'|\"[^\"]*\"|[{}]")


def parse_pipeline(text: str) -> list[PassRequest]:
    """Return the requested passes in order. All passes run on the module, so nested anchors have no effect.

    Raises: SdyError SDY-T005 if the text does not follow the syntax.
    """
    reader = _Reader(text)
    anchor = reader.name()
    if anchor not in ROOTS:
        message = f"expected a pipeline that begins with builtin.module, got {anchor}"
        raise reader.error(message, text.index(anchor), f"write builtin.module({text.strip()})")
    requests = reader.elements()
    reader.expect_end()
    return requests


def parse_elements(text: str) -> list[PassRequest]:
    """Return the passes of a pipeline without its anchor: `pass,pass{option=value}`. Raises: as `parse_pipeline`."""
    reader = _Reader(f"({text})")
    requests = reader.elements()
    reader.expect_end()
    return requests


def write_pipeline(requests: Iterable[PassRequest]) -> str:
    """Return the text of a pipeline that `parse_pipeline` reads."""
    return f"{ROOTS[0]}({write_elements(requests)})"


def write_elements(requests: Iterable[PassRequest]) -> str:
    """Return the text of passes that `parse_elements` reads."""
    return ",".join(f"{name}{{{write_options(options)}}}" if options else name for name, options in requests)


class _Reader:
    """A recursive-descent reader; every method advances the position past the text it reads."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def name(self) -> str:
        match = _NAME.match(self._text, self._position)
        if match is None:
            raise self.error("expected the name of a pass")
        self._position = match.end()
        return match[1]

    def elements(self) -> list[PassRequest]:
        """`(element,element)`; none in `()`."""
        self._expect("(")
        requests: list[PassRequest] = []
        if self._accept(")"):
            return requests
        while True:
            requests += self._element()
            if self._accept(")"):
                return requests
            if not self._accept(","):
                raise self.error("expected , or ) after a pass")

    def expect_end(self) -> None:
        if self._text[self._position :].strip():
            raise self.error("expected the end of the pipeline after its closing parenthesis")

    def error(self, message: str, start: int | None = None, hint: str | None = None) -> SdyError:
        """Return the error at the text from `start` to the position, or at the position if `start` is None."""
        end = None if start is None else start + len(self._text[start : self._position].rstrip())
        span = span_at("<pipeline>", self._text, self._position if start is None else start, end)
        return SdyError(Diagnostic("SDY-T005", message, span, hint))

    def _element(self) -> list[PassRequest]:
        name = self.name()
        if name in ANCHORS:
            return self.elements()
        return [PassRequest(name, parse_options(self._options()) if self._accept("{") else {})]

    def _options(self) -> str:
        """Read the text of the options, whose opening brace was just read, and its closing brace.

        Braces in quotes do not count.
        """
        start, depth = self._position, 1
        for match in _QUOTED_OR_BRACE.finditer(self._text, start):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if depth == 0:
                self._position = match.end()
                return self._text[start : match.start()]
        raise self.error("expected a closing brace after the options")

    def _accept(self, character: str) -> bool:
        is_there = self._text.startswith(character, self._position)
        self._position += is_there
        return is_there

    def _expect(self, character: str) -> None:
        if not self._accept(character):
            raise self.error(f"expected {character}")


def build_pass(request: PassRequest) -> ModulePass:
    """Create the requested pass with its options.

    Raises: SdyError SDY-T003 if the pass is unknown, SDY-T004 if an option or its value is.
    """
    kind = pass_class(request.name)
    known = options_of(kind)
    values: dict[str, OptionValue | tuple[ModulePass, ...]] = {}
    for key, text in request.options.items():
        if key not in known:
            raise option_error(f"{request.name} has no option {key}", f"options: {', '.join(known) or 'none'}")
        field, field_type = known[key]
        if is_tuple_of_passes(field_type):
            values[field.name] = tuple(map(build_pass, parse_elements(text)))
        else:
            name = f"option {key} of {request.name}"
            values[field.name] = read_value(text, field_type, name, is_byte_count=key.endswith("-bytes"))
    missing = [key for key, (field, _) in known.items() if field.name not in values and _is_required(field)]
    if missing:
        raise option_error(f"{request.name} requires the option {missing[0]}", f"write {request.name}={missing[0]}=...")
    return kind(**values)


def passes_of(text: str) -> tuple[ModulePass, ...]:
    """Return the passes of a text: `builtin.module(pass,pass{option=value})`. Raises: SdyError as `build_pass`."""
    return tuple(map(build_pass, parse_pipeline(text)))


def pass_of(text: str) -> ModulePass:
    """Return the pass of a text: `pass{option=value}`. Raises: SdyError as `build_pass`, SDY-T005 if it is not one."""
    requests = parse_elements(text)
    if len(requests) != 1:
        message = f"expected one pass, got {len(requests)}: {text}"
        raise SdyError(Diagnostic("SDY-T005", message, hint="--pass-pipeline takes several"))
    return build_pass(requests[0])


def pipeline_of(passes: Iterable[ModulePass]) -> str:
    """Return the text of the pipeline of all passes that run: `builtin.module(sdy-close-shardings,...)`.

    It parses to the same passes. Options that have their defaults are left out.
    """
    return write_pipeline(map(request_of, flattened(tuple(passes))))


def request_of(module_pass: ModulePass) -> PassRequest:
    """Return the name of a pass, and its options that differ from their defaults, as `build_pass` reads them."""
    options: dict[str, str] = {}
    for key, (field, field_type) in options_of(type(module_pass)).items():
        value: object = getattr(module_pass, field.name)
        if value is None or value == _default(field):
            continue
        if is_tuple_of_passes(field_type):
            options[key] = write_elements(map(request_of, flattened(cast("tuple[ModulePass, ...]", value))))
        else:
            options[key] = write_value(cast(OptionValue, value))
    return PassRequest(module_pass.name, options)


def _default(field: Field[object]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _is_required(field: Field[object]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING
