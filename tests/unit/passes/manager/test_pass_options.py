"""Options of passes as text."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.passes.export.collectives.combine_collectives import CombineCollectivesPass
from sdy.passes.manager.pass_options import build_pass
from sdy.passes.manager.pass_request import PassRequest


def combining(most_bytes: str) -> object:
    return build_pass(PassRequest("sdy-combine-collectives", {"most-bytes": most_bytes}))


@pytest.mark.parametrize("text", ["32000000", "32e6", "32MB"])
def test_bytes_may_have_a_unit(text: str) -> None:
    assert combining(text) == CombineCollectivesPass(most_bytes=32_000_000)


def test_wrong_bytes_are_an_error() -> None:
    with pytest.raises(SdyError, match="expected a number of bytes such as 300e6 or 16MB, got '32XB'"):
        combining("32XB")
