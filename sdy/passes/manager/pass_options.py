"""Build a pass from its name and options as text, `sdy-propagate{keep-rules=true}`, and return that of a pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field
from typing import cast

from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.passes.manager.all import pass_class
from sdy.passes.manager.option_types import OptionValue, is_tuple_of_passes, options_of, read_value, write_value
from sdy.passes.manager.pass_request import PassRequest, option_error
from sdy.passes.manager.pipeline_text import parse_elements, parse_pipeline, write_elements, write_pipeline
from sdy.passes.run import flattened


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
