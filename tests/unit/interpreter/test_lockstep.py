from __future__ import annotations

import pytest

from sdy.interpreter.ops.interpreter import Lockstep


def test_tasks_run_one_after_the_other() -> None:
    order: list[str] = []
    results = Lockstep([lambda: order.append("a") or 1, lambda: order.append("b") or 2]).run()
    assert (order, results) == (["a", "b"], [1, 2])


def test_task_waits_for_another_task() -> None:
    order: list[str] = []

    def receive() -> bool:
        order.append("wait")
        found = turns.wait_until(lambda: "sent" in order)
        order.append("got")
        return found

    def send() -> bool:
        order.append("sent")
        return True

    turns = Lockstep([receive, send])
    assert turns.run() == [True, True]
    assert order == ["wait", "sent", "got"]


def test_deadlock_is_detected() -> None:
    def receive() -> bool:
        return turns.wait_until(lambda: False)

    turns = Lockstep([receive, receive])
    assert turns.run() == [False, False]


def test_exception_of_a_task_is_raised() -> None:
    def fail() -> int:
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        Lockstep([lambda: 1, fail]).run()
