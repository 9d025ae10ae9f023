"""Timelines of tasks on several resources, and the time of messages between any devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from sdy.cost.hardware import Network, Torus


class Task(NamedTuple):
    """Work on a resource. `needs` has the numbers of the tasks whose results it uses.

    Tasks with `is_in_order` run in the order in which they are listed; others take the resource as soon as they can
    start, first come, first served.
    """

    resource: str
    seconds: float
    needs: tuple[int, ...] = ()
    is_in_order: bool = True


@dataclass(frozen=True, slots=True)
class TaskRun:
    """When a task runs, and the task whose end it waited for last; None if it could start at once."""

    start: float
    end: float
    waited_for: int | None = None


def list_schedule(tasks: Sequence[Task]) -> list[TaskRun]:
    """Return when each task runs. A task needs only tasks that are listed before it."""
    users: list[list[int]] = [[] for _ in tasks]
    missing = [len(set(task.needs)) for task in tasks]
    previous: dict[str, int] = {}
    for number, task in enumerate(tasks):
        for needed in set(task.needs):
            users[needed].append(number)
        if task.is_in_order:
            before = previous.get(task.resource)
            if before is not None and before not in task.needs:
                users[before].append(number)
                missing[number] += 1
            previous[task.resource] = number
    ready = [(0.0, number, -1) for number, count in enumerate(missing) if not count]
    latest: list[tuple[float, int]] = [(0.0, -1)] * len(tasks)
    last_on: dict[str, int] = {}
    runs: dict[int, TaskRun] = {}
    while ready:
        time, number, cause = heappop(ready)
        task = tasks[number]
        last = last_on.get(task.resource)
        if last is not None and runs[last].end > time:
            time, cause = runs[last].end, last
        runs[number] = TaskRun(time, time + task.seconds, None if cause < 0 else cause)
        last_on[task.resource] = number
        for user in users[number]:
            latest[user] = max(latest[user], (runs[number].end, number))
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, (latest[user][0], user, latest[user][1]))
    return [runs[number] for number in range(len(tasks))]


def idle_seconds(runs: Sequence[TaskRun]) -> float:
    """Return how long a resource waits between its first and its last task: its bubble."""
    ordered = sorted(runs, key=lambda run: run.start)
    return sum(after.start - before.end for before, after in pairwise(ordered))


def critical_path(runs: Sequence[TaskRun]) -> list[int]:
    """Return the numbers of the tasks that determine the end, the first one first."""
    path: list[int] = []
    following: int | None = max(range(len(runs)), key=lambda number: runs[number].end, default=None)
    while following is not None:
        path.append(following)
        following = runs[following].waited_for
    return path[::-1]


class Message(NamedTuple):
    """Bytes that one device sends to another one, by their numbers on the machine."""

    source: int
    target: int
    bytes: float


def seconds_of_messages(messages: Iterable[Message], network: Network) -> float:
    """Return when the last message has arrived, if all are sent at once; what a device sends itself takes no time.

    Devices of a node, or of a pod, use its links, and others the network between them. A device sends and receives at
    the same time; what it sends over the links of one kind shares their bandwidth. Contention between devices of a
    torus is left out.
    """
    used: dict[tuple[bool, int, bool], float] = defaultdict(float)  # by whether it is near, device and direction
    for message in messages:
        if message.source != message.target and message.bytes:
            near = _domain(message.source, network) == _domain(message.target, network)
            used[near, message.source, False] += message.bytes
            used[near, message.target, True] += message.bytes
    longest = max((amount / _link(network, near=near)[0] for (near, *_), amount in used.items()), default=0.0)
    return longest + max((_link(network, near=near)[1] for near, *_ in used), default=0.0)


def _domain(device: int, network: Network) -> int:
    size = network.pod_size if isinstance(network, Torus) else network.node_size
    return device // size if size else 0


def _link(network: Network, *, near: bool) -> tuple[float, float]:
    """Return the bytes a second that a device sends over a link, and the seconds of the first byte."""
    start = network.start_seconds
    if isinstance(network, Torus):
        bandwidth = network.link_bandwidth * network.efficiency
        return (bandwidth if near else network.network_bandwidth or bandwidth), start + network.hop_seconds
    if near:
        return network.node_bandwidth * network.efficiency, start + network.hop_seconds
    hop = network.network_hop_seconds or network.hop_seconds
    return network.network_bandwidth * network.network_efficiency, start + hop
