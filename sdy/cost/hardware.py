"""The machines that programs can be costed on: links, memory and arithmetic of one device.

Bandwidths and rates are those of the data sheets. Link bandwidths are for one direction, which is half of the usual
figure. What collectives, copies and products reach of them, and how long they take however small, is measured.
The machines, with their sources, are in `sdy.cost.machines.table`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from sdy.model.html_repr import HtmlRepr


@dataclass(frozen=True, slots=True)
class Torus:
    """Chips in a grid, each linked to its two neighbours along every axis. A chip may hold several devices.

    More devices than `pod_size` (0: no limit) are several tori, between which each device sends `network_bandwidth`.
    """

    axis_count: int
    link_bandwidth: float  # bytes a second, of one link in one direction
    hop_seconds: float
    wrap_multiple: int  # an axis whose size is a multiple of this is a ring, any other a line
    is_bidirectional: bool = True  # both directions of a ring are used at the same time
    start_seconds: float = 0.0  # of a collective, beside its hops
    efficiency: float = 1.0  # the share of the link bandwidth that a collective reaches
    devices_per_chip: int = 1  # which share its links
    chip_bandwidth: float = 0.0  # bytes a second from one device of a chip to another
    pod_size: int = 0
    network_bandwidth: float = 0.0

    @property
    def send_bandwidth(self) -> float:
        """The bytes a second that a device sends over its fastest link."""
        return self.link_bandwidth

    def wraps(self, size: int) -> bool:
        """Return whether an axis of `size` devices is a ring."""
        return size % self.wrap_multiple == 0


@dataclass(frozen=True, slots=True)
class Switch:
    """Nodes of devices: a switch connects the devices of a node, and a slower network connects the nodes."""

    node_size: int
    node_bandwidth: float  # bytes a second that a device sends to other devices of its node
    network_bandwidth: float  # bytes a second that a device sends to other nodes
    hop_seconds: float  # for each device of the node in a collective
    start_seconds: float = 0.0  # of a collective, beside its hops
    efficiency: float = 1.0  # the share of the bandwidth that a collective reaches inside a node
    network_efficiency: float = 1.0  # and between nodes
    network_hop_seconds: float = 0.0  # for each device of other nodes
    reduction_bandwidth: float = 0.0  # bytes of the result a second of an all-reduce by the switch of a node; 0: none
    ramp_seconds: float = 0.0  # that large messages take longer to get going than small ones
    ramp_bytes: float = 0.0  # the size of a message that needs half of that

    @property
    def send_bandwidth(self) -> float:
        """The bytes a second that a device sends over its fastest link."""
        return max(self.node_bandwidth, self.network_bandwidth)

    def ramp(self, result_bytes: float) -> float:
        """Return the seconds that a message takes to reach its full bandwidth."""
        return self.ramp_seconds * result_bytes / (result_bytes + self.ramp_bytes) if self.ramp_seconds else 0.0


Network = Torus | Switch


@dataclass(frozen=True, slots=True)
class MatrixRates:
    """Operations per second of the matrix unit, by element type.

    32-bit floats are multiplied at the default precision: bfloat16 on a TPU, TF32 on a GPU. 0 for 4-bit floats: they
    are multiplied as 8-bit floats.
    """

    int8: float
    float8: float
    bits16: float
    bits32: float
    float4: float = 0.0


@dataclass(frozen=True, slots=True)
class Kernels:
    """The rates that kernels reach on a device. The defaults are those of an ideal one, as in its data sheet.

    A product is computed in tiles: its rows, columns and contracted dim are padded to multiples of `tile`, and
    `tile_units` tiles of the result are computed at the same time. `attention` is the share of the rate that flash
    attention reaches in the forward and in the backward pass; both are 0 if there is no such kernel. `fusion` names
    the fusions of the compiler (`sdy.cost.kernels.fusion_rules`).
    """

    fusion: str = "gpu"
    start_seconds: float = 0.0  # of a kernel
    hbm_efficiency: float = 1.0  # the share of the memory bandwidth that copies reach
    gather_efficiency: float = 1.0  # the share of that which gathers and scatters of rows reach
    matrix_efficiency: float = 1.0  # the share of the rate that large products reach
    grouped_efficiency: float = 1.0  # the share of that of many small products in one, such as those of experts
    float4_efficiency: float = 1.0  # the share of the rate that large products of 4-bit floats reach
    float4_start_seconds: float = 0.0  # of such a product, beside that of a kernel
    unhidden: float = 0.0  # the share of the shorter of arithmetic and memory accesses of a kernel that is not hidden
    tile: tuple[int, int, int] = (1, 1, 1)
    tile_units: int = 1
    attention: tuple[float, float] = (1.0, 1.0)
    pipelines_loops: bool = False  # collectives of one iteration of a loop may run in another
    unrolls_loops: bool = False  # loops are unrolled: what an iteration keeps for later is not copied to a stack
    decomposes_products: bool = False  # products run beside the collectives of their operands and results


IDEAL_KERNELS = Kernels()


@dataclass(frozen=True, slots=True)
class Hardware(HtmlRepr):
    """One device, and the network that connects it to others."""

    name: str
    network: Network
    hbm_bandwidth: float  # bytes a second
    hbm_bytes: float
    rates: MatrixRates
    kernels: Kernels = IDEAL_KERNELS
    host_bandwidth: float = 0.0  # bytes a second in one direction to the memory of the host; 0: not known
    error: float = 0.0  # within which 90 % of published steps without pipelines are predicted; 0: there are none

    def __repr__(self) -> str:
        return f"Hardware({self.name})"

    def ideal(self, fusion: str = "none") -> Hardware:
        """Return the machine with the numbers of its data sheet alone: kernels and collectives reach them at once.

        A hop still takes its time. `fusion` names what its compiler fuses, by default nothing.
        """
        network = self.network
        if isinstance(network, Torus):
            network = replace(network, start_seconds=0.0, efficiency=1.0)
        else:
            network = Switch(network.node_size, network.node_bandwidth, network.network_bandwidth, network.hop_seconds)
        return replace(self, network=network, kernels=Kernels(fusion))


def machine_json(machine: Hardware) -> dict[str, object]:
    """Return a machine as plain data."""
    kind = "torus" if isinstance(machine.network, Torus) else "switch"
    return {**asdict(machine), "network": {"kind": kind, **asdict(machine.network)}}
