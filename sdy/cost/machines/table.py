"""The table of machines, with the source of each number.

Rates, memory and links are those of data sheets, as in the scaling book of JAX (jax-ml.github.io/scaling-book):

* TPU: the pages "TPU v4" to "TPU7x" of cloud.google.com/tpu/docs. Links of v5p and tpu7x: 1,200 GB/s a chip over six
  links in both directions; the book rounds v5p to 90 GB/s a link. DCN: 25 GB/s a host (v5e), 6.25 GB/s a chip (v5p).
* NVIDIA: data sheets of A100, H100, H200, DGX B200, DGX B300, GB200 and GB300 NVL72; dense rates.
* AMD: data sheet of MI300X. Amazon: architecture pages of Trainium2 in awsdocs-neuron.

What kernels and collectives reach was fitted to groups of published measurements (docs/measured.md):

* TPU: a kernel takes 1.7 us and copies reach 87 % of the memory bandwidth (ten copies of 2 MB to 8 GB on tpu7x, one on
  v6e). An all-gather takes 11 us and 1 us a hop (scaling book), and reaches 89 % of the links (nine on tpu7x). Products
  reach 95 % on the older ones (scaling book, "How to think about TPUs"), 80 % on tpu7x (four products, 13 steps), and
  78 % on v6e (12 steps; a single product reaches 90 %).
* GPU: cuBLASLt products of 1024 to 32768 rows and BabelStream on a100, h100, h200 and gb200; NCCL all-reduces of 1 KB
  to 8 GB on nodes of a100, h100, h200 and gb200; fits of all-gathers and all-to-alls on up to 16 nodes of h100
  (meta-pytorch/autoparallel). Machines without measurements have the numbers of the one that is nearest.
* Products of 4-bit floats: six on gb200, of 1024 to 32768 rows.
* Flash attention: FlashAttention 3 and cuDNN on h100 with a causal mask; cuDNN 9.13 on b200 (together.ai, the page of
  FlashAttention 4); on TPU, 26 steps of llama and gemma. gb300 computes exponentials twice as fast as gb200 and draws
  more power: its shares are those of eight steps of llama, of which each half is within 6 % in the median.
* Products of experts: nine steps of mixtures of experts on tpu7x and v5p. Gathers of rows on TPU: eight such steps;
  the halves of them alone would give shares of 0.14 and 0.05.
* `error`: the share within which 90 % of the steps of high and medium confidence without pipelines are predicted.
* The arithmetic and the memory accesses of a kernel hide all but 28 % of the shorter one: the four products of 802816 x
  192 x 768 on a100, h100, h200 and gb200.
"""

from __future__ import annotations

from dataclasses import replace

from sdy.cost.hardware import Hardware, Kernels, MatrixRates, Switch, Torus

_TPU_ATTENTION = (0.6, 0.6)
_TPU = Kernels(
    fusion="tpu",
    start_seconds=1.7e-6,
    hbm_efficiency=0.87,
    gather_efficiency=0.17,
    matrix_efficiency=0.95,
    unhidden=0.28,
    tile=(8, 128, 128),
    attention=_TPU_ATTENTION,
    grouped_efficiency=0.6,
)
_TPU7X = replace(_TPU, matrix_efficiency=0.8, tile=(8, 256, 256))  # matrix units of 256 x 256
_V6E = replace(_TPU7X, matrix_efficiency=0.78)
_A100 = Kernels(
    fusion="gpu",
    start_seconds=5e-6,
    hbm_efficiency=0.82,
    matrix_efficiency=0.81,
    unhidden=0.28,
    tile=(128, 128, 32),
    tile_units=108,
    attention=(0.6, 0.5),
)
_HOPPER = replace(
    _A100, start_seconds=4e-6, hbm_efficiency=0.87, matrix_efficiency=0.7, tile_units=132, attention=(0.6, 0.48)
)
_BLACKWELL = replace(
    _HOPPER,
    start_seconds=1e-6,
    matrix_efficiency=0.6,
    float4_efficiency=0.77,
    float4_start_seconds=6e-6,
    tile_units=148,
    attention=(0.55, 0.45),
)
_B200 = replace(_BLACKWELL, matrix_efficiency=0.65)
_GB300 = replace(_BLACKWELL, matrix_efficiency=0.75, attention=(0.7, 0.55))
_MI300X = replace(_HOPPER, tile_units=304, matrix_efficiency=0.55)


def _tpu_rates(bits16: float, int8: float, float8: float = 0.0) -> MatrixRates:
    return MatrixRates(int8, float8=float8 or bits16, bits16=bits16, bits32=bits16)


def _gpu_rates(bits16: float, float8: float = 0.0, int8: float = 0.0, float4: float = 0.0) -> MatrixRates:
    float8 = float8 or 2 * bits16
    return MatrixRates(int8 or float8, float8, bits16, bits16 / 2, float4)


def _torus(axis_count: int, link_bandwidth: float, wrap_multiple: int, pod_size: int, network: float) -> Torus:
    return Torus(
        axis_count,
        link_bandwidth,
        hop_seconds=1e-6,
        wrap_multiple=wrap_multiple,
        start_seconds=11e-6,
        efficiency=0.89,
        pod_size=pod_size,
        network_bandwidth=network,
    )


_NVLINK = Switch(
    8,
    node_bandwidth=4.5e11,
    network_bandwidth=5e10,
    hop_seconds=3.8e-6,
    efficiency=0.76,
    network_efficiency=0.85,
    network_hop_seconds=0.5e-6,
    reduction_bandwidth=2.75e11,
    ramp_seconds=75e-6,
    ramp_bytes=20e6,
)
_A100_SWITCH = Switch(
    8,
    node_bandwidth=3e11,
    network_bandwidth=2.5e10,
    hop_seconds=5.2e-6,
    efficiency=0.78,
    network_efficiency=0.85,
    network_hop_seconds=0.5e-6,
    ramp_seconds=300e-6,
    ramp_bytes=50e6,
)
_XGMI = replace(_NVLINK, node_bandwidth=4.48e11, efficiency=0.75, reduction_bandwidth=0.0, ramp_seconds=0.0)
_NVLINK5 = replace(_NVLINK, node_bandwidth=9e11, reduction_bandwidth=4.4e11, ramp_bytes=1e8)
_B300_NODE = replace(_NVLINK5, network_bandwidth=1e11)
_GB200_RACK, _GB300_RACK = replace(_NVLINK5, node_size=72), replace(_B300_NODE, node_size=72)
_HOPPER_RATES = MatrixRates(int8=1.979e15, float8=1.979e15, bits16=9.89e14, bits32=4.95e14)
_TPU7X_TORUS = replace(_torus(3, 1e11, 4, 18432, 6.25e9), devices_per_chip=2, chip_bandwidth=6e11)
_TPU_ERRORS = {"tpu_v5p": 0.22, "tpu_v5e": 0.17, "tpu_v6e": 0.17, "tpu7x": 0.28}
_ERRORS = _TPU_ERRORS | {"h100": 0.37, "h200": 0.11, "b200": 0.64, "gb200": 0.35, "gb300": 0.29}
# Each with its network, bytes a second and bytes of HBM, matrix rates, kernels, and bytes a second to the host.
# Cubes of 4x4x4 are joined by optical switches, which close an axis whose size is a multiple of 4 to a ring. Of v5e and
# v6e, only an axis of a full pod, 16x16, is a ring.
HARDWARE = {
    device.name: replace(device, error=_ERRORS.get(device.name, 0.0))
    for device in (
        Hardware(
            "tpu_v4p", _torus(3, 4.5e10, 4, 4096, 6.25e9), 1.228e12, 32e9, _tpu_rates(2.75e14, 2.75e14), _TPU, 1.5e10
        ),
        Hardware(
            "tpu_v5p", _torus(3, 9e10, 4, 8960, 6.25e9), 2.765e12, 96e9, _tpu_rates(4.59e14, 9.18e14), _TPU, 1.5e10
        ),
        Hardware(
            "tpu_v5e", _torus(2, 4.5e10, 16, 256, 3.125e9), 8.1e11, 16e9, _tpu_rates(1.97e14, 3.94e14), _TPU, 1.5e10
        ),
        Hardware(
            "tpu_v6e", _torus(2, 9e10, 16, 256, 6.25e9), 1.64e12, 32e9, _tpu_rates(9.18e14, 1.836e15), _V6E, 3.2e10
        ),
        # A device is one of two cores of a chip, which share its links; the link between them is six times as fast.
        Hardware(
            "tpu7x", _TPU7X_TORUS, 3.69e12, 103e9, _tpu_rates(1.1535e15, 2.307e15, float8=2.307e15), _TPU7X, 3.2e10
        ),
        Hardware(
            "a100", _A100_SWITCH, 2.039e12, 80e9, _gpu_rates(3.12e14, float8=3.12e14, int8=6.24e14), _A100, 2.5e10
        ),
        Hardware("h100", _NVLINK, 3.35e12, 80e9, _HOPPER_RATES, _HOPPER, 5e10),
        Hardware("h200", _NVLINK, 4.8e12, 141e9, _HOPPER_RATES, _HOPPER, 5e10),
        Hardware("b200", _NVLINK5, 8e12, 180e9, _gpu_rates(2.25e15, float4=9e15), _B200, 5e10),
        Hardware("gb200", _GB200_RACK, 8e12, 186e9, _gpu_rates(2.5e15, float4=1e16), _BLACKWELL, 2e11),
        Hardware("gb300", _GB300_RACK, 8e12, 279e9, _gpu_rates(2.5e15, int8=1.65e14, float4=1.5e16), _GB300, 2e11),
        Hardware("b300", _B300_NODE, 7.7e12, 270e9, _gpu_rates(2.25e15, int8=1.5e14, float4=1.35e16), _GB300, 5e10),
        # Seven links of 64 GB/s each way join a device to every other one of its node; 75 % of that is usable
        # (rocm.blogs.amd.com, mi300x-rccl-xgmi).
        Hardware("mi300x", _XGMI, 5.3e12, 192e9, _gpu_rates(1.307e15, float8=2.615e15), _MI300X, 6.4e10),
        # A 4x4 torus of chips in an instance; four of them are a 4x4x4 torus.
        Hardware(
            "trainium2",
            _torus(2, 6.4e10, 4, 16, 2.5e10),
            2.9e12,
            96e9,
            MatrixRates(int8=6.67e14, float8=1.299e15, bits16=6.67e14, bits32=1.81e14),
            _TPU,
            3.2e10,
        ),
    )
}
DEFAULT_MACHINE = "tpu_v5e"  # for reports that need a machine and are not given one
