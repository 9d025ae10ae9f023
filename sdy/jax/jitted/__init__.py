"""Functions jitted by `sdy.jit`: JAX traces, dispatches and compiles, and the partitioner of `sdy` comes in between."""
