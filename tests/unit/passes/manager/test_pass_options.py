"""Options of passes as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, make_dataclass
from typing import Literal

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.passes.export.collectives.combine_collectives import CombineCollectivesPass
from sdy.passes.manager.all import added_passes
from sdy.passes.manager.option_types import PassRequest
from sdy.passes.manager.pass_options import build_pass, pipeline_of
from sdy.propagation.engine import Schedule


@dataclass(frozen=True)
class OptionsPass(ModulePass):
    """A pass with an option of each type; the schedule is not one."""

    name = "test-options"

    number: float = 1.0
    sizes: tuple[int, ...] = ()
    limit: int | None = None
    kind: Literal["fast", "small"] = "fast"
    schedule: Schedule = field(default_factory=Schedule)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Leave the module as it is."""


@pytest.fixture
def options_pass() -> Iterator[None]:
    sdy.register_pass(OptionsPass)
    yield
    del added_passes[OptionsPass.name]


def combining(most_bytes: str) -> object:
    return build_pass(PassRequest("sdy-combine-collectives", {"most-bytes": most_bytes}))


@pytest.mark.parametrize("text", ["32000000", "32e6", "32MB"])
def test_bytes_may_have_a_unit(text: str) -> None:
    assert combining(text) == CombineCollectivesPass(most_bytes=32_000_000)


def test_wrong_bytes_are_an_error() -> None:
    with pytest.raises(SdyError, match="expected a number of bytes such as 300e6 or 16MB, got '32XB'"):
        combining("32XB")


@pytest.mark.usefixtures("options_pass")
def test_options_are_converted_to_their_types() -> None:
    options = {"number": "2e-1", "sizes": "1,2", "limit": "3", "kind": "small"}
    built = build_pass(PassRequest("test-options", options))
    assert built == OptionsPass(0.2, (1, 2), 3, "small")
    assert pipeline_of([built]) == "builtin.module(test-options{number=0.2 sizes=1,2 limit=3 kind=small})"


@pytest.mark.usefixtures("options_pass")
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("number", "abc", "option number of test-options: expected a number, got 'abc'"),
        ("sizes", "1,b", "option sizes of test-options: expected an integer, got 'b'"),
        ("kind", "large", "option kind of test-options: expected fast or small, got 'large'"),
        ("schedule", "x", "test-options has no option schedule"),
    ],
)
def test_a_wrong_value_is_one_error(option: str, value: str, message: str) -> None:
    with pytest.raises(SdyError, match=f"{message} .SDY-T004"):
        build_pass(PassRequest("test-options", {option: value}))


@pytest.mark.parametrize(
    ("option_type", "shown"),
    [(list[int], "list[int]"), (dict, "dict"), (tuple[list[int], ...], "tuple[list[int], ...]"), ("Missing", "")],
)
def test_a_type_that_options_cannot_have_is_refused(option_type: object, shown: str) -> None:
    kind = make_dataclass("ListPass", [("sizes", option_type, None)], bases=(ModulePass,), frozen=True)
    kind.name = "test-list-option"
    with pytest.raises(SdyError) as caught:
        sdy.register_pass(kind)
    found = caught.value.diagnostics[0]
    assert found.code == "SDY-T010"
    assert "test-list-option" in found.message
    assert shown in found.message
