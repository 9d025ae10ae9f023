"""Runs programs from Python: `sdy.interpret` on one device, `sdy.run_spmd` on all devices at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult

from sdy.compile.compiled import Compiled
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.user_code import require_type
from sdy.diagnostics.wording import counted
from sdy.dialects.ir.symbols import main_function
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.kernel import Arrays, KernelContext
from sdy.interpreter.run import RunSettings, check_inputs
from sdy.interpreter.run import interpret as interpret_function
from sdy.program.program import Program
from sdy.report.explanation.value_names import ValueNames
from sdy.report.html.markup import tables_html
from sdy.report.tables.fitted_table import fitted_table


@dataclass(frozen=True, slots=True)
class SpmdRun:
    """The outcome of a run on all devices: the global results, and the shards of the results and of the kept values."""

    results: tuple[Array, ...]
    local_results: tuple[DeviceArray, ...]
    kept: Mapping[str, DeviceArray] = field(default_factory=dict[str, DeviceArray])

    def __repr__(self) -> str:
        """Return one line: the shapes of the results, and the number of devices."""
        shapes = ", ".join(_type_text(each) for each in self.results)
        counts = {each.grid.ids.size for each in self.local_results}
        return f"SpmdRun({shapes or 'no results'}; {counted(max(counts, default=1), 'device')})"

    def _repr_html_(self) -> str:
        """Return the table of results that notebooks show, with the shapes of their shards."""
        pairs = zip(self.results, self.local_results, strict=True)
        rows = (
            (f"result {index}", _type_text(whole), _type_text(self.device_view(int(part.grid.ids.flat[0]), index)))
            for index, (whole, part) in enumerate(pairs)
        )
        return tables_html(repr(self), [fitted_table("results", ("value", "global", "on each device"), rows)])

    def device_view(self, device: int, value: int | str = 0) -> Array:
        """Return the shard that `device` holds of a value, without copying it.

        `value` is the index of a result, or the name of a kept value.
        Raises: SdyError SDY-X103 if the device or the value does not exist.
        """
        array = self._array(value)
        try:
            return array.device_view(device)
        except KeyError:
            raise _unknown(f"device {device} does not hold the value", f"devices: {_devices(array)}") from None

    def _array(self, value: int | str) -> DeviceArray:
        if isinstance(value, str):
            if value not in self.kept:
                known = ", ".join(self.kept) or "none"
                raise _unknown(f"the run did not keep the value {value}", f"kept values: {known}")
            return self.kept[value]
        if not 0 <= value < len(self.local_results):
            raise _unknown(f"result {value} does not exist", f"the program has {len(self.local_results)} results")
        return self.local_results[value]


def interpret(program: Program | ModuleOp, inputs: Sequence[Array] = ()) -> list[Array]:
    """Run the main function on one device, ignoring all shardings. Results may share memory with inputs.

    Raises: SdyError if the inputs do not match the arguments, or if an op cannot be interpreted.
    """
    require_type(program, (Program, ModuleOp), "sdy.interpret: program", "sdy.load(path) returns a program")
    module, host = (program.module, program.origin.host()) if isinstance(program, Program) else (program, None)
    arrays = [np.asarray(array) for array in inputs]
    return interpret_function(module, arrays, main_function(module).sym_name.data, host)


def run_spmd(partitioned: Compiled, global_inputs: Sequence[Array], keep: Collection[str] = ()) -> SpmdRun:
    """Run the local program on all devices at once, on inputs of the global shapes.

    `keep` lists values of the local program, by the names that `sdy partition` prints (`%5`), to be available from
    `SpmdRun.device_view`. If an op runs more than once, its last results are kept.
    Raises: SdyError if the inputs do not match the arguments, if a name is unknown, if an op cannot be interpreted, or
    if two devices hold different copies of the same result.
    """
    require_type(partitioned, Compiled, "sdy.run_spmd: partitioned", "pass program.partition()")
    inputs = [np.asarray(array) for array in global_inputs]
    check_inputs(main_function(partitioned.global_module), [(array.shape, array.dtype) for array in inputs])
    recorder = _ValueRecorder(partitioned, keep)
    local = partitioned.run_on_devices(inputs, RunSettings(recorder.observe if keep else None))
    return SpmdRun(tuple(partitioned.global_results(local)), tuple(local), recorder.kept)


class _ValueRecorder:
    """Records the results of selected ops during a run."""

    def __init__(self, partitioned: Compiled, selected: Collection[str]) -> None:
        self.kept: dict[str, DeviceArray] = {}
        self._selected: dict[Operation, list[tuple[int, str]]] = {}
        if not selected:
            return
        names = ValueNames(partitioned.local, "")
        for value in (value for name in selected for value in names.find(name)):
            if not isinstance(value, OpResult):
                raise _unknown(f"{names[value]} is a block argument", "only results of ops can be kept")
            self._selected.setdefault(value.op, []).append((value.index, names[value]))

    def observe(self, context: KernelContext, op: Operation, results: Arrays) -> None:
        """Record the selected results of an op. Ops in the body of a reduction have no devices, and are skipped."""
        grid = context.grid
        if grid is not None and len(results) == len(op.results):
            self.kept.update((name, DeviceArray(results[index], grid)) for index, name in self._selected.get(op, ()))


def _type_text(array: Array) -> str:
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def _devices(value: DeviceArray) -> str:
    ids = sorted(value.grid.ids.tolist())
    is_range = ids == list(range(len(ids)))
    return f"0 to {len(ids) - 1}" if is_range else ", ".join(map(str, ids))


def _unknown(message: str, hint: str) -> SdyError:
    return SdyError(Diagnostic("SDY-X103", message, hint=hint))
