"""The text of rules about fragments and of assignments to meshes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.mpmd.dialect.attrs import UserOrigin
from sdy.mpmd.passes.import_.function_ends import (
    Place,
    parse_assignment,
    parse_constraints,
    parse_indexed_assignment,
)
from sdy.mpmd.schedules.fragment_info import FragmentInfo, SplitType, parse_merge_rules, parse_schedule_rules

F = 'FragmentInfo(origins=["f"],mesh_name="m")'
G = 'FragmentInfo(origins=["g"(1),"h"],stage=2,call_counter=3,split_type=kKeepTransferred,mesh_name="n")'
MERGE = f"FragmentMergeRule(sources=[{F},{G}],target={F})"
SCHEDULE = f"FragmentScheduleRule(ordered_fragments=[{F}->{G}->{F}])"


def refused(parse: Callable[[str], object], text: str) -> str:
    """Return the message of the error, with the column if it has one."""
    with pytest.raises(SdyError) as raised:
        parse(text)
    found = raised.value.diagnostics[0]
    assert found.code == "SDY-M010"
    return found.message if found.span is None else f"{found.span.column}: {found.message}"


def test_a_fragment_info_has_all_that_identifies_a_fragment() -> None:
    (rule,) = parse_merge_rules(MERGE)
    f = FragmentInfo((UserOrigin("f"),), mesh="m")
    g = FragmentInfo((UserOrigin("g", 1), UserOrigin("h")), 2, 3, SplitType.KEEP, "n")
    assert rule.sources == (f, g)
    assert rule.target == f


@pytest.mark.parametrize("text", [MERGE, f"{MERGE},{MERGE}", ""])
def test_merge_rules_are_written_as_they_are_read(text: str) -> None:
    assert ",".join(map(str, parse_merge_rules(text))) == text


@pytest.mark.parametrize("text", [SCHEDULE, f"{SCHEDULE},{SCHEDULE}", ""])
def test_schedule_rules_are_written_as_they_are_read(text: str) -> None:
    assert ",".join(map(str, parse_schedule_rules(text))) == text


def test_a_rule_without_origins_is_about_an_inferred_fragment() -> None:
    (rule,) = parse_schedule_rules('FragmentScheduleRule(ordered_fragments=[FragmentInfo(origins=[],mesh_name="m")])')
    assert rule.ordered == (FragmentInfo((), mesh="m"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MERGE.replace(",target", ", target"), "expected"),
        (MERGE.replace('mesh_name="m"', 'mesh_name="m",mesh_name="m"', 1), "mesh_name is specified more than once"),
        (MERGE.replace("stage=2", "stage=two"), "expected an integer as stage"),
        (MERGE.replace("kKeepTransferred", "kKeep"), "expected kKeepTransferred or kDropTransferred"),
        (MERGE.replace("stage=2", "level=2"), "expected one of stage, call_counter, split_type, mesh_name"),
        (MERGE.replace('"g"(1)', '"g"(one)'), "expected a transpose count"),
        (MERGE + MERGE, "expected ','"),
    ],
)
def test_the_place_of_an_error_in_rules_is_named(text: str, message: str) -> None:
    column, found = refused(parse_merge_rules, text).split(": ", 1)
    assert int(column) > len("FragmentMergeRule(")
    assert found.startswith(message)


def test_names_are_assigned_to_meshes_memory_kinds_and_stages() -> None:
    places = parse_assignment("f@m1, g@m2/1,h@m1#pinned_host,")
    assert places == {"f": Place("m1"), "g": Place("m2", 1), "h": Place("m1#pinned_host")}
    assert (places["h"].mesh, places["h"].memory_kind) == ("m1", "pinned_host")
    assert (places["g"].mesh, places["g"].memory_kind) == ("m2", None)


def test_indices_are_sorted() -> None:
    assert list(parse_indexed_assignment("2@m1,0@m2").items()) == [(0, Place("m2")), (2, Place("m1"))]
    assert parse_constraints("2:1,0:0") == [(2, 1), (0, 0)]


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_assignment, "f", "expected name@mesh or name@mesh/stage, got f"),
        (parse_assignment, "f@m/one", "expected a stage as an integer, got 'one' in f@m/one"),
        (parse_indexed_assignment, "x@m", "expected an index as an integer, got 'x' in x@m"),
        (parse_constraints, "0", "expected an output as an integer, got '' in 0:"),
    ],
)
def test_what_is_no_assignment_is_said(parse: Callable[[str], object], text: str, message: str) -> None:
    assert refused(parse, text) == message
