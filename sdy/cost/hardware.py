"""The machines that programs can be costed on: links, memory and arithmetic of one device.

Bandwidths and rates are those of the data sheets, rounded as in the scaling book of JAX
(jax-ml.github.io/scaling-book). Link bandwidths are for one direction, which is half of the usual figure. Sources by
device:

* TPU v4p, v5e, v5p, v6e: the pages "TPU v4" to "TPU v6e" of cloud.google.com/tpu/docs; scaling book, "How to think
  about TPUs".
* B200, H100 SXM, A100 SXM 80 GB: NVIDIA's data sheets (a DGX B200 has eight B200), dense rates; scaling book, "How to
  think about GPUs".

A hop takes about a microsecond on the links of a TPU (scaling book, "Sharded matrices"). No figure is published for
NVLink with its switch; a microsecond is used for it too, as an order of magnitude.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sdy.model.html_repr import HtmlRepr


@dataclass(frozen=True, slots=True)
class Torus:
    """Devices in a grid, each linked to its two neighbours along every axis."""

    axis_count: int
    link_bandwidth: float  # bytes a second, of one link in one direction
    hop_seconds: float
    wrap_multiple: int  # an axis whose size is a multiple of this is a ring, any other a line
    is_bidirectional: bool = True  # both directions of a ring are used at the same time

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
    hop_seconds: float

    @property
    def send_bandwidth(self) -> float:
        """The bytes a second that a device sends over its fastest link."""
        return max(self.node_bandwidth, self.network_bandwidth)


Network = Torus | Switch


@dataclass(frozen=True, slots=True)
class MatrixRates:
    """Operations per second of the matrix unit, by element type.

    32-bit floats are multiplied at the default precision: bfloat16 on a TPU, TF32 on a GPU.
    """

    int8: float
    float8: float
    bits16: float
    bits32: float


@dataclass(frozen=True, slots=True)
class Hardware(HtmlRepr):
    """One device, and the network that connects it to others."""

    name: str
    network: Network
    hbm_bandwidth: float  # bytes a second
    hbm_bytes: float
    rates: MatrixRates

    def __repr__(self) -> str:
        return f"Hardware({self.name})"


def machine_json(machine: Hardware) -> dict[str, object]:
    """Return a machine as plain data."""
    kind = "torus" if isinstance(machine.network, Torus) else "switch"
    return {**asdict(machine), "network": {"kind": kind, **asdict(machine.network)}}


def _tpu_rates(bits16: float, int8: float) -> MatrixRates:
    """Return the rates of a TPU. None of those in the table has a separate rate for 8-bit floats."""
    return MatrixRates(int8, float8=bits16, bits16=bits16, bits32=bits16)


def _torus(axis_count: int, link_bandwidth: float, wrap_multiple: int) -> Torus:
    return Torus(axis_count, link_bandwidth, hop_seconds=1e-6, wrap_multiple=wrap_multiple)


HARDWARE = {
    device.name: device
    for device in (
        # Cubes of 4x4x4 are joined by optical switches, which close an axis whose size is a multiple of 4 to a ring.
        Hardware("tpu_v4p", _torus(3, 4.5e10, wrap_multiple=4), 1.2e12, 32e9, _tpu_rates(2.75e14, int8=2.75e14)),
        Hardware("tpu_v5p", _torus(3, 9e10, wrap_multiple=4), 2.8e12, 96e9, _tpu_rates(4.59e14, int8=9.18e14)),
        # Only an axis of a full pod, 16x16, is a ring.
        Hardware("tpu_v5e", _torus(2, 4.5e10, wrap_multiple=16), 8.1e11, 16e9, _tpu_rates(1.97e14, int8=3.94e14)),
        Hardware("tpu_v6e", _torus(2, 9e10, wrap_multiple=16), 1.6e12, 32e9, _tpu_rates(9.2e14, int8=1.84e15)),
        Hardware(
            "b200",
            Switch(8, node_bandwidth=9e11, network_bandwidth=5e10, hop_seconds=1e-6),
            8e12,
            180e9,
            MatrixRates(int8=4.5e15, float8=4.5e15, bits16=2.25e15, bits32=1.1e15),
        ),
        Hardware(
            "h100",
            Switch(8, node_bandwidth=4.5e11, network_bandwidth=5e10, hop_seconds=1e-6),
            3.4e12,
            80e9,
            MatrixRates(int8=1.98e15, float8=1.98e15, bits16=9.9e14, bits32=4.95e14),
        ),
        Hardware(
            "a100",
            Switch(8, node_bandwidth=3e11, network_bandwidth=2.5e10, hop_seconds=1e-6),
            2e12,
            80e9,
            MatrixRates(int8=6.24e14, float8=3.12e14, bits16=3.12e14, bits32=1.56e14),
        ),
    )
}
DEFAULT_MACHINE = "tpu_v5e"  # for reports that need a machine and are not given one
