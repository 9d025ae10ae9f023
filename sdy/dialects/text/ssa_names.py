"""The names that MLIR gives values when it prints: `%0`, `%arg0`, `%cst_1`, `%3#0`. Names in the input do not count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, Region, SSAValue


class SuggestsResultNames:
    """An op that suggests names for its results: `%cst = stablehlo.constant ...`."""

    def result_names(self) -> Sequence[str]:
        """One name per result."""
        raise NotImplementedError


class SuggestsArgumentNames:
    """An op that suggests names for the arguments of its regions: `%iterArg`."""

    def argument_names(self, count: int) -> Sequence[str]:
        """The names of the `count` arguments of a region."""
        raise NotImplementedError


@dataclass
class SsaNames:
    """The name of every value in an op, without the `%`."""

    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])

    def __getitem__(self, value: SSAValue) -> str:
        """How a use of the value is written."""
        return self.names.get(value, "<<UNKNOWN SSA VALUE>>")

    def __contains__(self, value: SSAValue) -> bool:
        return value in self.names

    def results(self, op: Operation) -> str:
        """What stands before the `=`: `%0`, `%0:2`, or `%values, %indices`."""
        groups: list[tuple[str, int]] = []
        for result in op.results:
            name, _, index = self[result].partition("#")
            if index in ("", "0"):
                groups.append((name, 1))
            else:
                groups[-1] = (name, groups[-1][1] + 1)
        return ", ".join(f"%{name}" if count == 1 else f"%{name}:{count}" for name, count in groups)


def name_values(root: Operation, unique: bool) -> SsaNames:
    """The names of all values defined in `root`.

    Regions are numbered after the region around them, and begin with the numbers that it leaves. Where `unique`, as
    in generic form, no op suggests names, and no number is used twice in `root`.
    """
    names = SsaNames()
    counter = _Counter(names.names, unique)
    counter.name_op(root)
    pending = [(region, counter.state()) for region in root.regions]
    while pending:
        region, state = pending.pop()
        if not unique:
            counter.restore(state)
        counter.name_region(region)
        inner = counter.state()
        pending += [(nested, inner) for op in _ops_of(region) for nested in op.regions]
    return names


@dataclass(frozen=True, slots=True)
class _State:
    """The numbers that a region begins with, and the suggested names that the regions around it took."""

    next_value: int = 0
    next_argument: int = 0
    next_conflict: int = 0
    taken: tuple[set[str], ...] = ()


class _Counter:
    """Hands out names."""

    def __init__(self, names: dict[SSAValue, str], unique: bool) -> None:
        self._names = names
        self._unique = unique
        self._next_value = 0
        self._next_argument = 0
        self._next_conflict = 0
        self._taken: tuple[set[str], ...] = (set(),)

    def state(self) -> _State:
        """What a region inside the one just named begins with."""
        return _State(self._next_value, self._next_argument, self._next_conflict, self._taken)

    def restore(self, state: _State) -> None:
        """Goes back to a state, for a region with names of its own."""
        self._next_value, self._next_argument = state.next_value, state.next_argument
        self._next_conflict = state.next_conflict
        self._taken = (*state.taken, set())

    def name_region(self, region: Region) -> None:
        """Names the arguments and results in a region, but not in the regions of its ops."""
        for index, block in enumerate(region.blocks):
            if not self._unique and isinstance(region.parent, SuggestsArgumentNames):
                names = [self._free(name) for name in region.parent.argument_names(len(block.args))]
            else:
                names = [self._argument_name(is_entry=index == 0) for _ in block.args]
            self._names.update(zip(block.args, names, strict=True))
            for op in block.ops:
                self.name_op(op)

    def name_op(self, op: Operation) -> None:
        """Names the results of an op."""
        results = op.results
        if not results:
            return
        if not self._unique and isinstance(op, SuggestsResultNames):
            for result, name in zip(results, op.result_names(), strict=True):
                self._names[result] = self._free(name)
            return
        name = str(self._next_value)
        self._next_value += 1
        if len(results) == 1:
            self._names[results[0]] = name
            return
        for index, result in enumerate(results):
            self._names[result] = f"{name}#{index}"

    def _argument_name(self, is_entry: bool) -> str:
        if not is_entry:
            self._next_value += 1
            return str(self._next_value - 1)
        self._next_argument += 1
        return self._free(f"arg{self._next_argument - 1}")

    def _free(self, name: str) -> str:
        """The name, or the first name made of it and a number that nobody has yet."""
        free = name
        while any(free in scope for scope in self._taken):
            free = f"{name}_{self._next_conflict}"
            self._next_conflict += 1
        self._taken[-1].add(free)
        return free


def _ops_of(region: Region) -> Iterator[Operation]:
    for block in region.blocks:
        yield from block.ops
