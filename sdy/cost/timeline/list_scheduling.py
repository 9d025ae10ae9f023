"""List scheduling: when tasks run on resources, some of which run their tasks in a given order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple


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
