"""Machines of the user's own as TOML files.

hbm_bytes = "96GB"
hbm_bandwidth = "2.8TB/s"

[torus]                      # or [switch]
axes = 3
link_bandwidth = "90GB/s"    # of one link in one direction
wrap_multiple = 4            # an axis whose size is a multiple of this is a ring

[rates]                      # operations a second of the matrix unit
bits16 = 459e12

[kernels]                    # optional: what kernels reach of these numbers
matrix_efficiency = 0.9
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, cast

from sdy.cost.hardware import Hardware, Kernels, MatrixRates, Network, Switch, Torus
from sdy.cost.kernels.fusion_rules import FUSION_RULES
from sdy.cost.machines.table import HARDWARE
from sdy.cost.quantities import parse_bytes
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.toml_tables import (
    Reader,
    Table,
    WrongEntryError,
    boolean_value,
    file_text,
    positive_count,
    positive_number,
    read_table,
    read_toml,
)
from sdy.diagnostics.user_code import require_type
from sdy.diagnostics.wording import similar_name_hint

SUFFIX = ".toml"
HOP_SECONDS = 1e-6  # as for the machines of the table

Readers = Mapping[str, Reader]


def resolve_hardware(machine: str | Path | Hardware) -> Hardware:
    """Return the hardware: one of the table by its name, one from a TOML file by its path, or the argument itself.

    Raises: SdyError SDY-T209 if no machine has this name, SDY-T230 if the file cannot be read or is malformed.
    """
    require_type(machine, (str, Path, Hardware), "machine", f"{_known()}, or a path to a file{SUFFIX}")
    if isinstance(machine, Hardware):
        return machine
    if Path(machine).suffix == SUFFIX:
        return read_hardware(file_text(str(machine), "SDY-T230"), str(machine))
    found = HARDWARE.get(str(machine))
    if found is None:
        hint = similar_name_hint(str(machine), HARDWARE) or f"{_known()}, or a path to a file{SUFFIX}"
        raise SdyError(Diagnostic("SDY-T209", f"unknown hardware {machine}", hint=hint))
    return found


def read_hardware(text: str, file_name: str) -> Hardware:
    """Return the machine that a TOML text describes. Its name is that of the file, by which it is found again.

    Raises: SdyError SDY-T230 if the text is not TOML, or if a key or a value is not one of a machine.
    """
    return read_toml(text, file_name, "SDY-T230", lambda table: _machine(table, file_name))


def _known() -> str:
    return f"known hardware: {', '.join(HARDWARE)}"


def _amount(value: object) -> float:
    """Read a positive number of bytes, which may have a unit."""
    number = parse_bytes(value) if isinstance(value, str) else value
    return positive_number(number)


def _bandwidth(value: object) -> float:
    """Read a number of bytes a second, such as `90GB/s`."""
    return _amount(value.removesuffix("/s") if isinstance(value, str) else value)


def _share(value: object) -> float:
    """Read a number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError(f"expected a number from 0 to 1, got {value}")
    return float(value)


def _list_of(read: Reader, count: int) -> Reader:
    """Return a reader of a list of `count` entries."""

    def read_list(value: object) -> object:
        if not isinstance(value, list) or len(found := cast("list[object]", value)) != count:
            raise ValueError(f"expected a list of {count} numbers, got {value}")
        return tuple(read(each) for each in found)

    return read_list


def _fusion(value: object) -> str:
    """Read the name of what a compiler fuses."""
    if not isinstance(value, str) or value not in FUSION_RULES:
        raise ValueError(f"expected one of {', '.join(FUSION_RULES)}, got {value}")
    return value


_TOML_NAMES = {"axis_count": "axes", "is_bidirectional": "bidirectional"}  # of fields that have another name in files
_BY_TYPE: Readers = {
    "int": positive_count,
    "bool": boolean_value,
    "str": _fusion,
    "tuple[int, int, int]": _list_of(positive_count, 3),
    "tuple[float, float]": _list_of(_share, 2),
}
_BY_UNIT: Readers = {"bandwidth": _bandwidth, "bytes": _amount, "seconds": positive_number}


def _readers(of: type[Torus | Switch | Kernels]) -> Readers:
    """Return the readers of the fields of a class. The last word of the name of a number is its unit, or it is a share.

    >>> _readers(Switch)["ramp_bytes"]("20MB")
    20000000.0
    """
    return {
        _TOML_NAMES.get(each.name, each.name): _BY_TYPE.get(str(each.type))
        or _BY_UNIT.get(each.name.rpartition("_")[2], _share)
        for each in fields(of)
    }


_RATES: Readers = dict.fromkeys((each.name for each in fields(MatrixRates)), positive_number)


def _torus(value: object) -> Torus:
    found = read_table(value, _readers(Torus), ["torus"], ["axes", "link_bandwidth", "wrap_multiple"])
    names = {toml: name for name, toml in _TOML_NAMES.items()}
    found = {names.get(key, key): entry for key, entry in found.items()}
    return Torus(**cast("dict[str, Any]", {"hop_seconds": HOP_SECONDS, **found}))


def _switch(value: object) -> Switch:
    found = read_table(value, _readers(Switch), ["switch"], ["node_size", "node_bandwidth", "network_bandwidth"])
    return Switch(**cast("dict[str, Any]", {"hop_seconds": HOP_SECONDS, **found}))


def _rates(value: object) -> MatrixRates:
    """Read the rates; an element type without one is multiplied at the rate of 16-bit floats."""
    found = cast("dict[str, float]", read_table(value, _RATES, ["rates"], ["bits16"]))
    return MatrixRates(**dict.fromkeys(("bits16", "bits32", "float8", "int8"), found["bits16"]) | found)


_MACHINE: Readers = {
    "hbm_bytes": _amount,
    "hbm_bandwidth": _bandwidth,
    "torus": _torus,
    "switch": _switch,
    "rates": _rates,
    "kernels": lambda value: read_table(value, _readers(Kernels), ["kernels"]),
    "host_bandwidth": _bandwidth,
}


def _machine(table: Table, name: str) -> Hardware:
    found = read_table(table, _MACHINE, required=["hbm_bytes", "hbm_bandwidth", "rates"])
    networks = [found[key] for key in ("torus", "switch") if key in found]
    if len(networks) != 1:
        raise WrongEntryError((), f"expected one of the tables [torus] and [switch], got {len(networks) or 'none'}")
    return Hardware(
        name,
        cast(Network, networks[0]),
        cast(float, found["hbm_bandwidth"]),
        cast(float, found["hbm_bytes"]),
        cast(MatrixRates, found["rates"]),
        replace(
            Kernels(fusion="tpu" if "torus" in found else "gpu"), **cast("dict[str, Any]", found.get("kernels", {}))
        ),
        cast(float, found.get("host_bandwidth", 0.0)),
    )


def machine_toml(machine: Hardware, comments: Iterable[str] = ()) -> str:
    """Return the TOML text of a machine, as `read_hardware` reads it. What a machine does not have is left out."""
    network, is_torus = asdict(machine.network), isinstance(machine.network, Torus)
    tables = {
        "": {key: getattr(machine, key) for key in ("hbm_bytes", "hbm_bandwidth", "host_bandwidth")},
        "torus" if is_torus else "switch": {_TOML_NAMES.get(key, key): each for key, each in network.items()},
        "rates": asdict(machine.rates),
        "kernels": asdict(machine.kernels),
    }
    lines = [f"# {each}" for each in comments]
    for name, table in tables.items():
        lines += [f"[{name}]"] if name else []
        lines += [f"{key} = {_toml(value)}" for key, value in table.items() if value or isinstance(value, bool)]
        lines.append("")
    return "\n".join(lines)


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case float():
            return f"{value:.6g}"
        case tuple():
            return f"[{', '.join(map(_toml, cast('tuple[object, ...]', value)))}]"
        case _:
            return str(value)
