"""List scheduling, and the messages between devices."""

from __future__ import annotations

import pytest

from sdy.cost.hardware import Switch, Torus
from sdy.cost.timeline import Message, Task, TaskRun, critical_path, idle_seconds, list_schedule, seconds_of_messages

SWITCH = Switch(node_size=2, node_bandwidth=100.0, network_bandwidth=10.0, hop_seconds=0.5)


def test_tasks_of_a_resource_keep_their_order() -> None:
    runs = list_schedule([Task("a", 3.0), Task("b", 1.0, (0,)), Task("b", 1.0), Task("a", 1.0)])
    assert runs == [TaskRun(0.0, 3.0), TaskRun(3.0, 4.0, 0), TaskRun(4.0, 5.0, 1), TaskRun(3.0, 4.0, 0)]


def test_tasks_without_order_run_as_soon_as_they_can() -> None:
    tasks = [Task("a", 3.0), Task("link", 1.0, (0,), is_in_order=False), Task("link", 1.0, is_in_order=False)]
    assert [run.start for run in list_schedule(tasks)] == [0.0, 3.0, 0.0]


def test_bubble_and_critical_path() -> None:
    tasks = [Task("a", 1.0), Task("b", 2.0, (0,)), Task("a", 1.0, (1,)), Task("b", 0.5)]
    runs = list_schedule(tasks)
    assert idle_seconds([runs[0], runs[2]]) == 2.0
    assert critical_path(runs) == [0, 1, 2]
    assert idle_seconds([]) == 0.0


@pytest.mark.parametrize(
    ("messages", "seconds"),
    [
        ([Message(0, 0, 100.0)], 0.0),
        ([Message(0, 1, 100.0)], 1.5),
        ([Message(0, 2, 100.0)], 10.5),
        ([Message(0, 2, 100.0), Message(0, 3, 100.0)], 20.5),
        ([Message(0, 2, 100.0), Message(1, 2, 100.0)], 20.5),
        ([Message(0, 2, 100.0), Message(2, 0, 100.0)], 10.5),
    ],
)
def test_messages_on_a_switch(messages: list[Message], seconds: float) -> None:
    assert seconds_of_messages(messages, SWITCH) == seconds


def test_messages_between_pods_use_their_network() -> None:
    torus = Torus(1, 100.0, 0.5, 1, pod_size=4, network_bandwidth=10.0)
    assert seconds_of_messages([Message(0, 3, 100.0)], torus) == 1.5
    assert seconds_of_messages([Message(0, 4, 100.0)], torus) == 10.5
