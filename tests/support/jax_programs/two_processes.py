"""Run programs as one of two processes with four devices each, and compare the shards of its own devices.

Then train by `sdy.jit` and by `jax.jit`, and compare the losses; and run a pipeline with a mesh in each process.

usage: python -m support.jax_programs.two_processes PORT PROCESS FILE ...
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import jax
import numpy as np

import sdy
from sdy.evidence.runs.arrays import load_arrays
from support.jax_programs.pipelined_step import arguments, lowered_step, step, topology
from support.jax_programs.training_loop import losses


def main(port: str, process: int, files: Sequence[str]) -> None:
    """Print `agrees FILE` for each program whose results equal those stored beside it."""
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=process)
    assert (jax.local_device_count(), jax.device_count()) == (4, 8)
    for file in files:
        stored = load_arrays(str(Path(file).with_suffix(".npz")))
        results = sdy.load(file).partition().to_jax()(*stored.inputs)
        for ours, theirs in zip(cast(list[jax.Array], results), stored.outputs, strict=True):
            for shard in ours.addressable_shards:
                expected = theirs[shard.index].astype(np.float64)
                np.testing.assert_allclose(np.asarray(shard.data), expected, rtol=1e-4, atol=1e-5)
        print(f"agrees {file}", flush=True)  # flushed, because libraries print too
    with warnings.catch_warnings(action="error", category=sdy.JitFallbackWarning):
        np.testing.assert_allclose(losses(sdy.jit, 5), losses(jax.jit, 5), rtol=1e-4)
    print("agrees sdy.jit", flush=True)
    params, *data = arguments()
    wanted = cast("dict[str, jax.Array]", jax.jit(step)(params, *data))
    for name, found in lowered_step().compile()(params, *data).items():
        assert found.sharding.device_set == set(topology()["m0" if name == "a" else "m1"].devices.flat)
        for shard in found.addressable_shards:
            np.testing.assert_allclose(np.asarray(shard.data), np.asarray(wanted[name])[shard.index], rtol=1e-5)
    print("agrees sdy.mpmd", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
