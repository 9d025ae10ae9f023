"""Contracts as TOML: what is read, what is written, and wrong entries."""

from __future__ import annotations

import pytest

from sdy.advice.contract import CollectiveBound, Contract
from sdy.advice.contract_file import read_contract, write_contract
from sdy.cost.collectives import CollectiveKind
from sdy.diagnostics.diagnostic import SdyError

TEXT = """\
machine = "h100"
bytes_sent = 995_343
peak_bytes = "1.5 GiB"
seconds = 3.96e-05

[[collectives]]
kind = "all-gather"
axes = ["model", "data"]
in_loop = true
function = "layer"
source = "train.py:20"
count = 4
runs = 128
bytes = "1MB"

[[collectives]]
count = 5

[shardings]
"params['up']" = '[{}, {"model"}]'
"""
CONTRACT = Contract(
    (
        CollectiveBound(
            CollectiveKind.ALL_GATHER, frozenset({"data", "model"}), True, "layer", "train.py:20", 4, 128, 1e6
        ),
        CollectiveBound(count=5),
    ),
    995343,
    1.5 * 2**30,
    3.96e-5,
    "h100",
    {"params['up']": '[{}, {"model"}]'},
)


def test_every_key_is_read() -> None:
    assert read_contract(TEXT, "contract.toml") == CONTRACT


def test_what_is_written_is_read_again() -> None:
    assert read_contract(write_contract(CONTRACT), "contract.toml") == CONTRACT
    assert write_contract(Contract()).count("\n") == 1


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("bytes_snt = 3", 1, "unknown key 'bytes_snt'", "did you mean bytes_sent?"),
        ("seconds = 1\nfoo = 3", 2, "unknown key 'foo'", "known keys: machine, bytes_sent"),
        ("[[collectives]]\ncuont = 3", 2, "unknown key 'cuont'", "did you mean count?"),
        ("\nbytes_sent = 'many'", 2, "bytes_sent: expected a number of bytes such as 300e6 or 16GB, got many", None),
        ("bytes_sent = true", 1, "bytes_sent: expected a number that is not negative, got True", None),
        ("[[collectives]]\ncount = -1", 2, "count: expected a count that is not negative, got -1", None),
        ("[[collectives]]\naxes = 'x'", 2, "axes: expected a list of axis names, got 'x'", None),
        ("[[collectives]]\nin_loop = 1", 2, "in_loop: expected true or false, got 1", None),
        ("[collectives]\ncount = 1", 1, "collectives: expected tables, written as [[collectives]]", None),
        ("shardings = 3", 1, "shardings: expected a table of shardings, got 3", None),
        ("machine = 3", 1, "machine: expected a string, got 3", None),
        ("[[collectives]]\nkind = 'all-gather'\n\n[[collectives]]\nkind = 'gather'", 5, "kind: expected one of", None),
        ("[[collectives]]\nkind = 'gather'", 2, "kind: expected one of all-gather, all-reduce, all-to-all", None),
    ],
)
def test_wrong_entries_are_located(text: str, line: int, message: str, hint: str | None) -> None:
    with pytest.raises(SdyError) as raised:
        read_contract(text, "contract.toml")
    (found,) = raised.value.diagnostics
    assert found.code == "SDY-C010"
    assert found.message.startswith(message)
    assert found.span is not None
    assert (found.span.file, found.span.line) == ("contract.toml", line)
    assert (found.hint or "").startswith(hint or "")


def test_text_that_is_not_toml_is_an_error() -> None:
    with pytest.raises(SdyError, match=r"cannot read contract.toml: .*line 1"):
        read_contract("count = = 3", "contract.toml")
