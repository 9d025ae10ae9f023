"""The seconds that `sdy` predicts for a row of the table, by the public interface alone."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

import sdy
from sdy.cost.hardware import Hardware, Torus
from sdy.cost.machines.table import HARDWARE
from support.measured.published import Row
from support.measured.training import program_of

ALIASES = {"tpu_v4": "tpu_v4p"}
DTYPES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "tf32": "float32",
    **dict.fromkeys(("fp8", "mxfp8", "float8"), "float8_e4m3fn"),
    **dict.fromkeys(("fp4", "nvfp4"), "float4_e2m1fn"),
}


@dataclass(frozen=True)
class Priced:
    """A row with its predicted seconds, and of a step, the peak with flash kernels as a share of the memory."""

    row: Row
    seconds: float
    memory: float = 0.0

    @property
    def error(self) -> float:
        """The relative error: 0.1 if 10 % too long is predicted."""
        return self.seconds / self.row.seconds - 1


class NoProgramError(Exception):
    """A row cannot be priced; the message is the reason."""


def priced(row: Row) -> Priced:
    """Return a row with its predicted seconds. Raises: NoProgramError if it has no program or an unknown machine."""
    price = {"collectives.csv": _collective, "rooflines.csv": _roofline, "steps.csv": _step}[row.file]
    try:
        found = price(row, machine_of(row))
        if row.seconds <= 0:
            raise NoProgramError("no positive time is published")
    except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError, sdy.SdyError) as error:
        reason = str(error).strip().split("\n")[0]
        raise NoProgramError(f"its program cannot be built: {type(error).__name__}: {reason}") from error
    return found


def dtype_of(row: Row) -> str:
    """Return the type of the elements of a row, by its name in NumPy."""
    return DTYPES.get(row["dtype"], row["dtype"])


def machine_of(row: Row) -> Hardware:
    """Return the machine of a row. Raises: NoProgramError if `sdy` does not know it."""
    name = ALIASES.get(row["machine"], row["machine"])
    found = _VARIANTS[name]() if name in _VARIANTS else HARDWARE.get(name)
    if found is None:
        raise NoProgramError(f"sdy has no machine {name}")
    kernels = found.kernels
    if row["attention"] == "not stated":
        kernels = replace(kernels, attention=(0.0, 0.0))
    if row["id"].endswith("eager") or "Eager" in row["remark"]:
        kernels = replace(kernels, fusion="eager")
    if row["sharding"].startswith("torchtitan"):
        # Attention is FlashAttention 2.
        kernels = replace(kernels, attention=_FLASH_ATTENTION_2)
    if row["scan_layers"] == "no" or row["sharding"].startswith(("torchtitan", "megatron")):
        kernels = replace(kernels, unrolls_loops=True)  # PyTorch has no loops over layers
    if row["sharding"].startswith("megatron: tensor") or "async" in row["id"]:
        kernels = replace(kernels, decomposes_products=True)  # the user buffers of Transformer Engine
    network = found.network
    if isinstance(network, Torus) and row.pods > 1:
        network = replace(network, pod_size=row.count("devices") // row.pods)
    return replace(found, kernels=kernels, network=network)


def _grand_teton() -> Hardware:
    """Return the machine of the rows of torchtitan: 96 GB of slower memory, and 500 W instead of 700 W."""
    h100 = HARDWARE["h100"]
    kernels = replace(h100.kernels, matrix_efficiency=0.55)
    return replace(h100, name="h100_grand_teton", hbm_bandwidth=2.4e12, hbm_bytes=96e9, kernels=kernels)


_FLASH_ATTENTION_2 = (0.35, 0.28)
_VARIANTS: Mapping[str, Callable[[], Hardware]] = {"h100_grand_teton": _grand_teton}


COLLECTIVES: Mapping[str, Callable[[jax.Array], jax.Array]] = {
    "all_reduce": lambda x: jax.lax.psum(x, "x"),
    "all_gather": lambda x: jax.lax.all_gather(x, "x", tiled=True),
    "reduce_scatter": lambda x: jax.lax.psum_scatter(x, "x", tiled=True),
    "all_to_all": lambda x: jax.lax.all_to_all(x, "x", 0, 0, tiled=True),
}


def _collective(row: Row, machine: Hardware) -> Priced:
    """Return the row of a collective along all axes of a mesh of the devices of one group."""
    devices, size = row.count("devices"), max(row.count("bytes"), 4)
    if devices < 2:
        raise NoProgramError("a collective of one device takes no time")
    if row["collective"] not in COLLECTIVES:
        raise NoProgramError(f"no program has the collective {row['collective']}")
    chip = machine.network.devices_per_chip if isinstance(machine.network, Torus) else 1
    groups = max(prod(row.pod_shape) // devices, 1)
    mesh = AbstractMesh((groups, devices, chip), ("groups", "x", "chip"))
    dtype = dtype_of(row)
    elements = max(size // jnp.dtype(dtype).itemsize // devices, 1) * devices

    def placed(spec: PartitionSpec) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((elements,), dtype, sharding=NamedSharding(mesh, spec))

    whole, parts = PartitionSpec(), PartitionSpec("x")

    def run(x: jax.Array) -> jax.Array:
        inside = COLLECTIVES[row["collective"]]
        before = parts if row["collective"] == "all_gather" else whole
        after = parts if row["collective"] in ("reduce_scatter", "all_to_all") else whole
        return jax.shard_map(inside, mesh=mesh, in_specs=before, out_specs=after, check_vma=False)(x)

    program = sdy.from_jax(jax.jit(run), placed(parts if row["collective"] == "all_gather" else whole))
    return Priced(row, program.cost(machine).communication_seconds)


def _roofline(row: Row, machine: Hardware) -> Priced:
    """Return the row of one op on one device."""
    if row["op"] != "matmul" and not row["operand_bytes"]:
        raise NoProgramError(f"the shapes of {row['op']} are not published")
    mesh = AbstractMesh((1,), ("x",))

    def shape(*sizes: int, dtype: str = dtype_of(row)) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(sizes, dtype, sharding=NamedSharding(mesh, PartitionSpec()))

    if row["op"] == "matmul":
        m, n, k = (row.count(each) for each in "mnk")

        def multiply(a: jax.Array, b: jax.Array) -> jax.Array:
            return jnp.matmul(a, b, preferred_element_type=jnp.bfloat16)

        return Priced(row, sdy.from_jax(jax.jit(multiply), shape(m, k), shape(k, n)).cost(machine).seconds)
    kinds: dict[str, tuple[int, Callable[..., jax.Array]]] = {
        "copy": (1, lambda a: a + 1),  # a program cannot copy without an op: one that reads and writes as much
        "scale": (1, lambda a: a * 3),
        "mul": (1, lambda a: a * 3),
        "add": (2, lambda a, b: a + b),
        "triad": (2, lambda a, b: a + 3 * b),
        "dot": (2, lambda a, b: (a * b).sum()),
    }
    if row["op"] not in kinds:
        raise NoProgramError(f"the op {row['op']} has no program")
    count, run = kinds[row["op"]]
    dtype = dtype_of(row).replace("64", "32")
    elements = row.count("operand_bytes") // jnp.dtype(dtype).itemsize
    return Priced(row, sdy.from_jax(jax.jit(run), *[shape(elements, dtype=dtype)] * count).cost(machine).seconds)


def _step(row: Row, machine: Hardware) -> Priced:
    if "gated delta nets" in row["model_details"]:
        raise NoProgramError("gated delta nets have no program")
    cost = program_of(row).cost(machine)
    stages, chunks = row.count("stage"), row.count("virtual_stages")
    # Without accumulation, the schedules of torchtitan have as many micro-batches as stages.
    rounds = max(row.count("micro_batches"), stages)
    with_flash = cost.peak_bytes - cost.attention_bytes
    return Priced(row, cost.seconds * (1 + (stages - 1) / (chunks * rounds)), with_flash / machine.hbm_bytes)
