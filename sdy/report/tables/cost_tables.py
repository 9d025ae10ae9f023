"""Tables of the estimated cost of a program on a machine, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from sdy.cost.hardware import Hardware, Network, Switch, Torus
from sdy.cost.program_cost import ProgramCost
from sdy.cost.quantities import seconds_text
from sdy.cost.schedule import Overlap
from sdy.report.tables.fitted_table import FittedTable, fitted_table, tables_text
from sdy.report.tables.program_tables import bytes_text


def cost_tables(cost: ProgramCost, overlap: Overlap = Overlap.COMPILER) -> tuple[FittedTable, FittedTable, FittedTable]:
    """Return the tables of the collectives by mesh axes, of the time by cause, and of the memory."""
    collectives = (
        (
            each.kind.value,
            each.axes,
            str(each.places),
            str(each.runs),
            bytes_text(each.bytes_sent),
            seconds_text(each.seconds),
            _bound_text(each.latency_bound_runs, each.runs),
        )
        for each in cost.collectives
    )
    columns = ("kind", "axes", "ops", "runs", "bytes sent", "time", "bound by")
    seconds, error = cost.seconds_with(overlap), cost.hardware.error
    total = "time with collectives beside ops" if overlap is Overlap.COMPILER else "time"
    times = [
        ("arithmetic of dots and convolutions", cost.compute_seconds),
        ("memory traffic of kernels", cost.memory_seconds),
        ("ops (for each kernel, the larger of the two, and its start)", cost.op_seconds),
        ("collectives", cost.communication_seconds),
        ("time without overlap", cost.seconds_in_turn),
        ("time with perfect overlap", cost.seconds_overlapped),
        (f"{total} (±{error:.0%})" if error else total, seconds),
        ("of that, waiting for collectives or the host", max(0.0, seconds - cost.op_seconds)),
    ]
    if cost.attention_seconds:
        times.insert(3, ("of that, attention as flash kernels", cost.attention_seconds))
    if cost.host_seconds:
        times.insert(-4, ("transfers to and from the host", cost.host_seconds))
    memory = [
        ("peak live bytes", bytes_text(cost.peak_bytes)),
        ("free bytes", bytes_text(cost.free_bytes)),
        ("fits", "yes" if cost.fits else "no"),
    ]
    if cost.attention_bytes:
        with_flash = cost.peak_bytes - cost.attention_bytes
        memory.insert(1, ("peak with flash kernels of attention", bytes_text(with_flash)))
        if not cost.fits and with_flash <= cost.free_bytes:
            memory[-1] = ("fits", "with flash kernels")
    return (
        fitted_table(
            f"collectives of sdy's partitioner on {cost.hardware.name}", columns, collectives, right=(2, 3, 4, 5)
        ),
        fitted_table("time on one device", ("", "time"), ((name, seconds_text(time)) for name, time in times), (1,)),
        fitted_table("memory of one device", ("", "value"), memory, right=(1,)),
    )


def cost_text(cost: ProgramCost) -> str:
    """Return the tables as text."""
    return tables_text(cost_tables(cost))


def machines_table(machines: Iterable[Hardware]) -> FittedTable:
    """Return a table of machines: the network, the links, the memory and the rate of one device."""
    rows = (
        (
            each.name,
            *_network_texts(each.network),
            f"{each.hbm_bytes / 1e9:g} GB",
            f"{each.hbm_bandwidth / 1e12:g} TB/s",
            f"{each.rates.bits16 / 1e12:.4g} TFLOP/s",
        )
        for each in machines
    )
    columns = ("machine", "network", "link, one way", "memory", "bandwidth", "16-bit rate")
    return fitted_table("machines for --on", columns, rows, right=(2, 3, 4, 5))


def _network_texts(network: Network) -> tuple[str, str]:
    match network:
        case Torus():
            return f"{network.axis_count}D torus", f"{network.link_bandwidth / 1e9:g} GB/s"
        case Switch():
            return f"nodes of {network.node_size}", f"{network.node_bandwidth / 1e9:g} GB/s"


def _bound_text(latency_bound: int, runs: int) -> str:
    if latency_bound in (0, runs):
        return "latency" if latency_bound else "bandwidth"
    return f"latency in {latency_bound} of {runs}"
