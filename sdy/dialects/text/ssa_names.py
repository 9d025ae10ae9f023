"""Names of values in printed text, as MLIR assigns them: `%0`, `%arg0`, `%cst_1`, `%3#0`.

Names in the input are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from sdy.dialects.ir.fast_ops import nth_result
from sdy.dialects.ir.walk import ops_in


class SuggestsResultNames(IRDLOperation):
    """An op that suggests names for its results: `%cst = stablehlo.constant ...`."""

    def result_names(self) -> Sequence[str]:
        """Return one name per result; by default, those of the declaration of the op."""
        return [name for name, _ in self.get_irdl_definition().results]


class SuggestsArgumentNames:
    """An op that suggests names for the arguments of its regions: `%iterArg`."""

    def argument_names(self, count: int) -> Sequence[str]:
        """Return the names of the `count` arguments of a region; an empty name stands for the usual one, `arg0`."""
        raise NotImplementedError


class SsaNames:
    """The names of all values in an op, without the `%`."""

    def __init__(self) -> None:
        self.names: dict[SSAValue, str] = {}

    def __getitem__(self, value: SSAValue) -> str:
        """Return the name of a value as its uses are printed."""
        return self.names.get(value, "<<UNKNOWN SSA VALUE>>")

    def __contains__(self, value: SSAValue) -> bool:
        return value in self.names

    def results(self, op: Operation) -> str:
        """Return the text before the `=` of an op: `%0`, `%0:2`, or `%values, %indices`."""
        if len(op.results) == 1:
            return f"%{self[nth_result(op)]}"
        groups: list[tuple[str, int]] = []
        for result in op.results:
            name, _, index = self[result].partition("#")
            if index in ("", "0"):
                groups.append((name, 1))
            else:
                groups[-1] = (name, groups[-1][1] + 1)
        return ", ".join(f"%{name}" if count == 1 else f"%{name}:{count}" for name, count in groups)


def name_values(root: Operation, unique: bool) -> SsaNames:
    """Return the names of all values defined in `root`.

    The numbers in a region continue those of the enclosing region; sibling regions use the same numbers. If `unique`,
    as in
    the generic form, suggested names are ignored and no number is used twice in `root`.
    """
    names = SsaNames()
    namer = _Namer(names.names, unique)
    namer.name_op(root)
    pending = [(region, namer.scope) for region in root.regions]
    while pending:
        region, scope = pending.pop()
        if not unique:
            namer.scope = scope.inner()
        namer.name_region(region)
        pending += [(nested, namer.scope) for op in _ops_of(region) for nested in op.regions]
    return names


@dataclass(slots=True)
class _Scope:
    """The next numbers in a region, and the suggested names used in it and in the enclosing regions."""

    used: tuple[set[str], ...]
    next_value: int = 0
    next_argument: int = 0
    next_conflict: int = 0

    def inner(self) -> _Scope:
        """Return the scope of a region inside."""
        return replace(self, used=(*self.used, set()))


class _Namer:
    """Assigns names to values."""

    def __init__(self, names: dict[SSAValue, str], unique: bool) -> None:
        self._names = names
        self._unique = unique
        self.scope = _Scope((set(),))

    def name_region(self, region: Region) -> None:
        """Name the arguments and results in a region, except inside the regions of its ops."""
        for index, block in enumerate(region.blocks):
            if not self._unique and isinstance(region.parent, SuggestsArgumentNames):
                suggested = region.parent.argument_names(len(block.args))
                names = [self._unused_name(name) if name else self._argument_name(is_entry=True) for name in suggested]
            else:
                names = [self._argument_name(is_entry=index == 0) for _ in block.args]
            self._names.update(zip(block.args, names, strict=True))
            for op in ops_in(block):
                self.name_op(op)

    def name_op(self, op: Operation) -> None:
        """Name the results of an op."""
        results = op.results
        if not results:
            return
        if not self._unique and isinstance(op, SuggestsResultNames):
            for result, name in zip(results, op.result_names(), strict=True):
                self._names[result] = self._unused_name(name)
            return
        name = str(self.scope.next_value)
        self.scope.next_value += 1
        if len(results) == 1:
            self._names[nth_result(op)] = name
            return
        for index, result in enumerate(results):
            self._names[result] = f"{name}#{index}"

    def _argument_name(self, is_entry: bool) -> str:
        if not is_entry:
            self.scope.next_value += 1
            return str(self.scope.next_value - 1)
        self.scope.next_argument += 1
        return self._unused_name(f"arg{self.scope.next_argument - 1}")

    def _unused_name(self, name: str) -> str:
        """Return the name, or the first unused name made of it and a number."""
        candidate = name
        while any(candidate in scope for scope in self.scope.used):
            candidate = f"{name}_{self.scope.next_conflict}"
            self.scope.next_conflict += 1
        self.scope.used[-1].add(candidate)
        return candidate


def _ops_of(region: Region) -> Iterator[Operation]:
    for block in region.blocks:
        yield from ops_in(block)
