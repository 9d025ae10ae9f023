"""The grammar has no LALR conflicts."""

from __future__ import annotations

import logging
from importlib.resources import files

import pytest
from lark import Lark, logger

from sdy.grammar.any_form import BUILDERS


def test_the_grammar_has_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    text = files("sdy.grammar").joinpath("sharding.lark").read_text(encoding="utf-8")
    with caplog.at_level(logging.DEBUG, logger.name):
        logger.addHandler(caplog.handler)
        Lark(text, start=list(BUILDERS), parser="lalr", debug=True)
        logger.removeHandler(caplog.handler)
    assert [message for message in caplog.messages if "conflict" in message.lower()] == []


def test_the_conflict_check_finds_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    ambiguous = 'start: "{" list "," "?" "}"\nlist: "a" ("," "a")*'
    with caplog.at_level(logging.DEBUG, logger.name):
        logger.addHandler(caplog.handler)
        Lark(ambiguous, parser="lalr", debug=True)
        logger.removeHandler(caplog.handler)
    assert any("conflict" in message.lower() for message in caplog.messages)
