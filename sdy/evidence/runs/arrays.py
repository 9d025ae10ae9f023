"""The inputs and expected outputs for verifying a program, read from a file or generated at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from sdy.compile.origin import Origin
from sdy.compile.signature import Call
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.ir.func_attrs import with_single_quotes
from sdy.dialects.ir.op_location import located, span_of
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.sharded_types import static_shape
from sdy.evidence.runs.argument_uses import argument_uses, positive_arguments
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type, is_bool, is_complex, is_float, is_integer
from sdy.interpreter.failure import check_size, out_of_memory
from sdy.interpreter.run import check_inputs
from sdy.report.explanation.value_names import ValueNames

ZIP, EMPTY_ZIP = b"PK\x03\x04", b"PK\x05\x06"  # what an .npz file begins with


@dataclass(frozen=True, slots=True)
class StoredArrays:
    """The inputs `arg0`, `arg1`, ... of a file, and its expected outputs `out0`, `out1`, ..., if any."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def arrays_of_file(path: str | None, func: FuncOp) -> tuple[Sequence[Array] | None, Sequence[Array] | None]:
    """Return the inputs of a function in a file, and its expected outputs; None for what is not given.

    Raises: SdyError SDY-T201 if the file cannot be read, or if the arrays do not match the function.
    """
    if not path:
        return None, None
    stored = load_arrays(path)
    outputs = stored.outputs or None
    check_arrays(func, stored.inputs, outputs)
    return stored.inputs, outputs


def load_arrays(path: str) -> StoredArrays:
    """Read the arrays of an `.npz` file. Raises: SdyError SDY-T201 if it cannot be read."""
    try:
        # Open the file here, because NumPy does not close a file whose contents turn out to be invalid.
        with Path(path).open("rb") as stream:
            if stream.read(len(ZIP)) not in (ZIP, EMPTY_ZIP):
                raise ValueError("not an .npz file")
            stream.seek(0)
            loaded: object = np.load(stream, allow_pickle=False)
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise ValueError("expected an .npz file, got a single array")
            file = cast("np.lib.npyio.NpzFile[np.generic]", loaded)
            arrays: dict[str, Array] = {name: file[name] for name in file.files}
    except OSError as error:
        reason = error.strerror or "not an .npz file"
    except (ValueError, BadZipFile, EOFError) as error:
        reason = str(error)
    else:
        return StoredArrays(_numbered(arrays, "arg"), _numbered(arrays, "out"))
    hint = "write it with numpy.savez(path, arg0=..., arg1=..., out0=...)"
    raise SdyError(Diagnostic("SDY-T201", f"cannot read arrays from {path}: {reason}", hint=hint))


def _numbered(arrays: Mapping[str, Array], prefix: str) -> tuple[Array, ...]:
    count = next(count for count in range(len(arrays) + 1) if f"{prefix}{count}" not in arrays)
    return tuple(arrays[f"{prefix}{index}"] for index in range(count))


ArrayType = tuple[tuple[int, ...], DType]  # shape and dtype


def input_types(module: ModuleOp) -> tuple[ArrayType, ...]:
    """Return the shape and the dtype of each argument of the main function."""
    func = main_function(module)
    try:
        return tuple((static_shape(each) or (), dtype_of_type(each)) for each in func.function_type.inputs)
    except SdyError as error:
        raise located(error, func) from error


def random_inputs(module: ModuleOp, seed: int) -> tuple[Array, ...]:
    """Return random inputs: normally distributed floats, integers from 0 to 7, booleans with equal probability.

    Arguments that must be positive (see `positive_arguments`) have absolute values of floats, or integers from 1 to 8,
    and those for which larger numbers are errors (see `ArgumentUse.most`) smaller ones.
    Raises: SdyError SDY-X017 if there is not enough memory.
    """
    generator = np.random.default_rng(seed)
    arrays: list[Array] = []
    columns = zip(input_types(module), positive_arguments(module), argument_uses(module), strict=True)
    for (shape, dtype), is_positive, use in columns:
        try:
            check_size(shape)
            array = _random_array(generator, shape, dtype)
            if use.most is not None and is_integer(dtype):
                array = np.remainder(array, use.most + 1).astype(dtype)
            arrays.append(_positive(array) if is_positive else array)
        except MemoryError as error:
            raise located(out_of_memory(error), main_function(module)) from error
    return tuple(arrays)


def with_named_arrays(arrays: Sequence[Array], named: Mapping[str, object], names: Sequence[str]) -> tuple[Array, ...]:
    """Return the inputs with those replaced that `named` names; `names` are all names of the arguments, in order.

    An argument may have several names: then `names` is a multiple as long as `arrays`.
    Raises: SdyError SDY-T203 if no argument has one of the names.
    """
    replaced = list(arrays)
    for name, array in named.items():
        written = with_single_quotes(name)
        if written not in names:
            hint = similar_name_hint(written, names) or f"arguments: {', '.join(names[: len(replaced)])}"
            raise SdyError(Diagnostic("SDY-T203", f"no argument of the program is called {name}", hint=hint))
        replaced[names.index(written) % len(replaced)] = np.asarray(array)
    return tuple(replaced)


def _positive(array: Array) -> Array:
    if is_float(array.dtype):
        return np.abs(array)
    return array if is_bool(array.dtype) or is_complex(array.dtype) else np.add(array, 1).astype(array.dtype)


def _random_array(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    if is_bool(dtype):
        return generator.integers(0, 2, shape).astype(dtype)
    if is_complex(dtype):
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
    if is_float(dtype):
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 8, shape).astype(dtype)


def arrays_of_call(
    module: ModuleOp, origin: Origin[Any], call: Call, named: Mapping[str, object], seed: int
) -> Sequence[Array]:
    """Return the arrays of a call, or random ones from `seed` without arguments, with some replaced by name.

    Raises: SdyError if the call does not have the structure of the arguments, or if a name is unknown.
    """
    is_given, signature = bool(call.args or call.kwargs), origin.signature
    arrays = signature.flat_arguments(call.args, call.kwargs) if is_given else random_inputs(module, seed)
    if named:
        in_text = ValueNames(module, origin.text)
        names = [in_text[argument] for argument in main_block(module).args]
        arrays = with_named_arrays(arrays, named, [*origin.argument_names, *names])
    return arrays


def check_arrays(func: FuncOp, inputs: Sequence[Array], expected: Sequence[Array] | None) -> None:
    """Raise SdyError if inputs do not match the arguments, or if the number of expected outputs is wrong."""
    check_inputs(func, [(array.shape, array.dtype) for array in inputs])
    count = len(func.function_type.outputs)
    if expected is not None and len(expected) != count:
        message = f"@{func.sym_name.data} has {count} results, got {len(expected)} expected outputs"
        raise SdyError(Diagnostic("SDY-X102", message, span_of(func)))


def is_empty(expected: object) -> bool:
    """Return whether an expected return value is the empty tuple, which stands for none."""
    return isinstance(expected, tuple) and not cast(tuple[object, ...], expected)
