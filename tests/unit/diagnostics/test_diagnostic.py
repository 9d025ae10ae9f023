"""Rendered diagnostics show the line and a caret below the error."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import MOST_SHOWN, Diagnostic, InternalError, render, span_at


def rendered(text: str, start: int, length: int = 1) -> list[str]:
    """Return the lines of a diagnostic at a range of a text."""
    return render(Diagnostic("SDY-P005", "wrong", span_at("a.mlir", text, start, start + length))).splitlines()


def test_a_line_is_shown_with_carets_below_the_range() -> None:
    assert rendered("%0 = add %a", 9, 2) == [
        "a.mlir:1:10: error: wrong [SDY-P005]",
        "  %0 = add %a",
        "           ^^",
    ]


@pytest.mark.parametrize("start", [0, 50, 80, 85, 500, 4700, 4990])
def test_of_a_long_line_the_part_around_the_error_is_shown(start: int) -> None:
    text = " ".join(f"{number:04}" for number in range(1000))  # no two parts are alike
    head, line, carets = rendered(text, start, 4)
    assert head.startswith(f"a.mlir:1:{start + 1}: ")
    assert len(line) <= MOST_SHOWN + 8
    at, end = carets.index("^"), len(carets)
    assert carets == " " * at + "^" * 4
    assert line[at:end] == text[start : start + 4]
    assert line.startswith("  ...") == (start > 80)
    assert line.endswith("...") == (start < 4770)


def test_carets_end_with_the_part_that_is_shown() -> None:
    _, line, carets = rendered("x" * 1000, 0, 1000)
    assert len(carets) == len(line) == MOST_SHOWN + len("  ...")


def test_extensions_have_codes_of_their_own() -> None:
    assert render(Diagnostic("MINE-001", "wrong")) == "error: wrong [MINE-001]"
    with pytest.raises(InternalError, match="SDY-X999 is not listed"):
        Diagnostic("SDY-X999", "wrong")
