"""Running programs from Python: `sdy.interpret` on one device, `sdy.run_spmd` on all devices at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.symbols import main_function
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.inputs import check_inputs
from sdy.interpreter.kernel import Arrays, KernelContext
from sdy.interpreter.single import interpret as interpret_function
from sdy.program.partitioned import PartitionedProgram
from sdy.program.program import Program
from sdy.report.value_names import ValueNames


@dataclass(frozen=True, slots=True)
class SpmdRun:
    """What a run on all devices gave: whole results, and what each device holds of them and of the values kept."""

    results: tuple[Array, ...]
    local_results: tuple[DeviceArray, ...]
    kept: Mapping[str, DeviceArray] = field(default_factory=dict[str, DeviceArray])

    def device_view(self, device: int, value: int | str = 0) -> Array:
        """What `device` holds of a result, by its number, or of a value that was kept, by its name; without a copy.

        Raises: SdyError SDY-X103 where there is no such device or value.
        """
        held = self._held(value)
        try:
            return held.device_view(device)
        except KeyError:
            raise _not_there(f"no device {device} holds the value", f"devices: {_devices(held)}") from None

    def _held(self, value: int | str) -> DeviceArray:
        if isinstance(value, str):
            if value not in self.kept:
                known = ", ".join(self.kept) or "none"
                raise _not_there(f"the run did not keep the value {value}", f"values that it kept: {known}")
            return self.kept[value]
        if not 0 <= value < len(self.local_results):
            raise _not_there(f"there is no result {value}", f"the program has {len(self.local_results)} results")
        return self.local_results[value]


def interpret(program: Program | ModuleOp, inputs: Sequence[Array] = ()) -> list[Array]:
    """What the main function returns on one device, shardings ignored. Results may share memory with inputs.

    Raises: SdyError where the inputs do not fit the arguments, or at the op that cannot be run.
    """
    module = program.module if isinstance(program, Program) else program
    return interpret_function(module, [np.asarray(array) for array in inputs], main_function(module).sym_name.data)


def run_spmd(partitioned: PartitionedProgram, global_inputs: Sequence[Array], keep: Collection[str] = ()) -> SpmdRun:
    """Run the local program on all devices at once, on whole inputs.

    `keep` names values of the local program, as `sdy partition` prints them (`%5`), that `device_view` shall know too;
    of an op that runs more than once, the last time counts.
    Raises: SdyError where the inputs do not fit the arguments, a name is not known, at the op that cannot be run, or
    where two devices that should hold the same result do not.
    """
    inputs = [np.asarray(array) for array in global_inputs]
    check_inputs(main_function(partitioned.whole), [(array.shape, array.dtype) for array in inputs])
    keeper = _Keeper(partitioned, keep)
    local = partitioned.run_on_devices(inputs, keeper.observe if keep else None)
    return SpmdRun(tuple(partitioned.whole_results(local)), tuple(local), keeper.kept)


class _Keeper:
    """Keeps the results of those ops that were asked for by name."""

    def __init__(self, partitioned: PartitionedProgram, wanted: Collection[str]) -> None:
        self.kept: dict[str, DeviceArray] = {}
        self._wanted: dict[Operation, list[tuple[int, str]]] = {}
        if not wanted:
            return
        names = ValueNames(partitioned.local, "")
        for value in (value for name in wanted for value in names.find(name)):
            if not isinstance(value, OpResult):
                raise _not_there(f"{names[value]} is an argument", "values that can be kept are the results of ops")
            self._wanted.setdefault(value.op, []).append((value.index, names[value]))

    def observe(self, context: KernelContext, op: Operation, results: Arrays) -> None:
        """Keep what is wanted of the results of an op. Inside of a reduction, no device is in sight."""
        grid = context.grid
        if grid is not None and len(results) == len(op.results):
            self.kept.update((name, DeviceArray(results[index], grid)) for index, name in self._wanted.get(op, ()))


def _devices(value: DeviceArray) -> str:
    ids = sorted(value.grid.ids.tolist())
    is_range = ids == list(range(len(ids)))
    return f"0 to {len(ids) - 1}" if is_range else ", ".join(map(str, ids))


def _not_there(message: str, hint: str) -> SdyError:
    return SdyError(Diagnostic("SDY-X103", message, hint=hint))
