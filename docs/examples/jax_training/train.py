"""Train a network with a step that sdy partitioned, next to the same step of `jax.jit`, and compare the losses.

python train.py                                                     # eight devices of the host
python train.py --processes 2 --process 0 --coordinator HOST:PORT   # in each of two processes, with four devices
"""

import argparse
import os


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--process", type=int, default=0)
    parser.add_argument("--coordinator", metavar="HOST:PORT")
    return parser.parse_args()


options = arguments()
# JAX reads this when it is imported.
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={8 // options.processes}"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import sdy  # noqa: E402

BATCH, INPUTS, HIDDEN, CLASSES = 64, 32, 128, 8
RATE, MOMENTUM = 0.1, 0.9


def loss_of(params: dict[str, jax.Array], x: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean cross entropy of a network with one hidden layer."""
    hidden = jax.nn.gelu(x @ params["up"] + params["bias"])
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(hidden @ params["down"]) * labels, axis=-1))


def step(params, momenta, x, labels):
    """Return the parameters and momenta after a step, and the loss before it."""
    loss, gradients = jax.value_and_grad(loss_of)(params, x, labels)
    momenta = jax.tree.map(lambda old, gradient: MOMENTUM * old + gradient, momenta, gradients)
    return jax.tree.map(lambda old, momentum: old - RATE * momentum, params, momenta), momenta, loss


def main() -> None:
    """Train twice, and compare."""
    if options.processes > 1:
        jax.distributed.initialize(options.coordinator, options.processes, options.process)
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    random = np.random.default_rng(0)

    def placed(array, *spec):
        """Return an array on all devices, of which each process holds its shards."""
        value = np.asarray(array, np.float32)
        return jax.make_array_from_callback(value.shape, NamedSharding(mesh, P(*spec)), value.__getitem__)

    specs = {"up": (None, "model"), "bias": ("model",), "down": ("model", None)}
    shapes = {"up": (INPUTS, HIDDEN), "bias": (HIDDEN,), "down": (HIDDEN, CLASSES)}
    params = {name: placed(0.1 * random.standard_normal(shapes[name]), *specs[name]) for name in specs}
    momenta = {name: placed(np.zeros(shapes[name]), *specs[name]) for name in specs}
    teacher = random.standard_normal((INPUTS, CLASSES))

    def batch():
        x = random.standard_normal((BATCH, INPUTS))
        return placed(x, "data"), placed(np.eye(CLASSES)[np.argmax(x @ teacher, axis=-1)], "data")

    program = sdy.from_jax(step, params, momenta, *batch())
    steps = {"sdy": program.partition().to_jax(), "jax.jit": jax.jit(step)}
    states = dict.fromkeys(steps, (params, momenta))
    losses = {name: [] for name in steps}
    for _ in range(options.steps):
        x, labels = batch()
        for name, run in steps.items():
            *state, loss = run(*states[name], x, labels)
            states[name] = tuple(state)
            losses[name].append(float(loss))
    for number in range(0, options.steps, 10):
        print(f"step {number:3}", *(f"{name} {values[number]:.6f}" for name, values in losses.items()), flush=True)
    np.testing.assert_allclose(losses["sdy"], losses["jax.jit"], rtol=1e-4)
    assert losses["sdy"][-1] < 0.7 * losses["sdy"][0]
    print(f"the losses of {options.steps} steps agree", flush=True)


if __name__ == "__main__":
    main()
