"""A log notes edits by xDSL's methods and by direct writes, and nothing once it has stopped listening."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from threading import Thread

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import UnitAttr, f32, i32
from xdsl.ir import Block, Operation, Region

from sdy.dialects.ir.edit_log import EditLog, WatchedAttributes, watch
from sdy.dialects.ir.fast_ops import set_type

UNIT = UnitAttr()


def make() -> tuple[test.TestOp, test.TestOp]:
    """Return an op with a block, and the op in it."""
    inner = test.TestOp.create(result_types=[f32], attributes={"old": UNIT}, properties={"old": UNIT})
    return test.TestOp.create(regions=[Region(Block([inner], arg_types=[f32]))]), inner


CHANGES_OF_ATTRIBUTES: dict[str, Callable[[dict[str, object]], object]] = {
    "set": lambda attributes: attributes.__setitem__("new", UNIT),
    "delete": lambda attributes: attributes.__delitem__("old"),
    "update": lambda attributes: attributes.update(new=UNIT),
    "merge": lambda attributes: attributes.__ior__({"new": UNIT}),
    "default": lambda attributes: attributes.setdefault("new", UNIT),
    "pop": lambda attributes: attributes.pop("old"),
    "popitem": lambda attributes: attributes.popitem(),
    "clear": lambda attributes: attributes.clear(),
}


REMOVALS = ("delete", "pop", "popitem", "clear")


@pytest.mark.parametrize("field", ["attributes", "properties"])
@pytest.mark.parametrize("change", CHANGES_OF_ATTRIBUTES)
def test_changes_of_dictionaries_in_place_are_noted(field: str, change: str) -> None:
    _, op = make()
    _, expected = make()
    log = EditLog()
    watch([op])
    with log.listening():
        assert log.is_empty()
        CHANGES_OF_ATTRIBUTES[change](getattr(op, field))
    assert not log.is_empty()
    # An op with fewer attributes cannot be invalid for that reason.
    is_reduced = field == "attributes" and change in REMOVALS
    assert log.reduced == ({id(op): op} if is_reduced else {})
    assert log.ops_by_field[field] == ({} if is_reduced else {id(op): op})
    log.clear()
    assert log.is_empty()
    CHANGES_OF_ATTRIBUTES[change](getattr(expected, field))
    assert getattr(op, field) == getattr(expected, field)


def test_nothing_is_noted_when_attributes_stay_the_same() -> None:
    _, op = make()
    log = EditLog()
    watch([op])
    with log.listening():
        op.attributes["old"] = UNIT
        op.properties.pop("new", None)
    assert log.is_empty()


def test_edits_of_ops_blocks_and_regions_are_noted() -> None:
    outer, inner = make()
    region = outer.regions[0]
    block = region.block
    edits: list[tuple[Callable[[], object], str, Operation | Block | Region]] = [
        (lambda: setattr(inner, "operands", [block.args[0]]), "written", inner),
        (lambda: setattr(inner, "attributes", {}), "attributes", inner),
        (inner.detach, "placed", inner),
        (lambda: block.add_op(inner), "placed", inner),
        (lambda: block.insert_arg(f32, 0), "containers", block),
        (lambda: region.add_block(Block()), "containers", block),
        (lambda: region.detach_block(1), "containers", region),
        (lambda: outer.detach_region(0), "written", outer),
        (lambda: outer.add_region(region), "placed_containers", region),
    ]
    for edit, kind, node in edits:
        log = EditLog()
        with log.listening():
            edit()
        assert id(node) in getattr(log, kind)


def test_values_whose_users_may_be_invalid_are_noted() -> None:
    outer, inner = make()
    block = outer.regions[0].block
    result, argument = inner.results[0], block.args[0]
    log = EditLog()
    with log.listening():
        set_type(result, i32)
        assert log.values == [result]
        inner.results = test.TestOp.create(result_types=[f32]).results
        block.erase_arg(argument)
    assert log.values[:2] == [result, result]
    assert argument in log.values


def test_nothing_is_noted_after_the_last_log_has_stopped_listening() -> None:
    _, op = make()
    watch([op])
    first, second = EditLog(), EditLog()
    with first.listening():
        with second.listening():
            op.attributes["new"] = UNIT
        op.detach()
    op.properties["new"] = UNIT
    op.attributes = {}
    assert not second.placed
    assert second.attributes == first.attributes == {id(op): op}
    assert first.placed == {id(op): op}
    assert id(op) not in first.written
    assert "__setattr__" not in vars(Operation)


def test_edits_by_another_thread_are_noted() -> None:
    _, op = make()
    watch([op])
    log = EditLog()
    with log.listening():
        thread = Thread(target=op.detach)
        thread.start()
        thread.join()
    assert log.placed == {id(op): op}


def test_copies_of_watched_attributes_are_plain() -> None:
    _, op = make()
    watch([op])
    assert type(op.attributes) is WatchedAttributes
    assert type(op.clone().attributes) is dict
    assert type(pickle.loads(pickle.dumps(op.attributes))) is dict
