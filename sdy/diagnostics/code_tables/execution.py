"""Codes of the execution of programs."""

from __future__ import annotations

from sdy.diagnostics.code_tables import Code

EXECUTION: dict[str, Code] = {
    "SDY-X001": Code(
        "NumPy has no dtype for the element type of a value.",
        "Use i1 to i64, ui2 to ui64, index, f4 to f64, bf16 or complex.",
    ),
    "SDY-X002": Code(
        "The interpreter has no kernel for an op.",
        "Lower or remove the op before running the program, or register a kernel: `sdy.register_dialect(kernels=...)`.",
    ),
    "SDY-X003": Code(
        "The interpreter has no kernel for the target of a custom call.",
        "Replace it with ops or a target that the hint lists, or call `sdy.register_custom_call` with a kernel.",
    ),
    "SDY-X004": Code("A function or mesh that the program refers to is undefined.", "Define it, or correct the name."),
    "SDY-X005": Code(
        "A value that determines a shape differs between devices.",
        "Compute it from values that are equal on all devices.",
    ),
    "SDY-X006": Code(
        "The number of inputs differs from the number of arguments of the function.", "Pass one input per argument."
    ),
    "SDY-X007": Code(
        "An input does not have the shape or the element type of its argument.",
        "Pass an array of the type that the message names.",
    ),
    "SDY-X008": Code(
        "A check op of the program failed.", "Compare the two values, then correct the program or the check."
    ),
    "SDY-X009": Code(
        "The replica groups of a collective are not a partition of the devices, or do not divide a dim.",
        "List every device once, use groups of equal size, and split a dim that is divisible by the group size.",
    ),
    "SDY-X010": Code(
        "A device waits for another device that never arrives.",
        "Make all devices of a group execute the same collective.",
    ),
    "SDY-X011": Code("An infeed has no input left.", "List one function per infeed in `interpreter.run_parallel`."),
    "SDY-X012": Code("Calls are nested without end.", "Use a while loop: StableHLO does not support recursion."),
    "SDY-X013": Code(
        "The programs of `interpreter.run_parallel` do not form a grid, or do not match its inputs and results.",
        "Write rows of equal length, with one input and result per argument and result of each program.",
    ),
    "SDY-X014": Code(
        "A probe observed fewer values than a check expects.", "Correct the name of the probe or the iteration."
    ),
    "SDY-X015": Code(
        "The value of --args is not a list of constants.", "Write --args=[dense<1> : tensor<2xi32>, ...]."
    ),
    "SDY-X016": Code(
        "A manual computation runs on devices other than those of its mesh.",
        "Move it out of the reduction, or out of the branch that only some devices take.",
    ),
    "SDY-X017": Code(
        "An op or an input of a run needs more memory than there is.",
        "Run the program with smaller tensors; propagation, partitioning and costs need no memory for them.",
    ),
    "SDY-X018": Code("An op is not defined for its sizes, types or options.", "Use those that the message lists."),
    "SDY-X019": Code(
        "A loop never ends: what its condition is computed from repeats.",
        "Let the body change a value that the condition compares, as a counter, or correct the comparison.",
    ),
    "SDY-X021": Code(
        "Numbers of a finite field are in a program that runs in floats.", "Run the module that the user wrote."
    ),
    "SDY-X022": Code(
        "An op has no form in exact numbers, so that a verification cannot decide by them.",
        "Read the verdict as one about floats: they agree within rounding.",
    ),
    "SDY-X023": Code(
        "The loops of a local program run far more iterations than those of the program that it stands for.",
        "Correct the condition of the loop, or the counter that it compares.",
    ),
    "SDY-X101": Code(
        "Two devices that must hold equal copies of a result hold different values.",
        "Make the manual computation return what its out_shardings promise. If there is none, report a bug in sdy.",
    ),
    "SDY-X102": Code(
        "The number of expected outputs differs from the number of results.",
        "Pass one expected output per result, or none.",
    ),
    "SDY-X103": Code("The requested result, value or device is not in the run.", "Use one that the hint lists."),
    "SDY-X104": Code("The devices of a program do not match the devices of JAX.", "See the hint of the message."),
    "SDY-X105": Code("A program requires 64-bit types, which are disabled in JAX.", "Set `jax_enable_x64`."),
    "SDY-X106": Code(
        "The pytree structure of a call differs from the structure for which the function was lowered.",
        "Pass the arguments as to the original function, without the static ones.",
    ),
    "SDY-X107": Code(
        "The interpreter does not support an op on quantized elements.",
        "Convert its operands to floats with `uniform_dequantize`, and quantize its results.",
    ),
    "SDY-X108": Code(
        "A custom call does not have the operands or options that its target requires.",
        "Pass the operands, shapes and options of the routine of that name.",
    ),
    "SDY-X109": Code(
        "A custom call of JAX, a callback for example, calls a Python function that the program does not have.",
        "Run the program that `sdy.from_jax` returns, on simulated devices; XLA gets only the text of a program.",
    ),
    "SDY-X111": Code(
        "A kernel of a custom call or of an op, a Python function of the user, raised an exception.",
        "Mend the function at the line of the message. A custom call gets the arrays of one device, of the "
        "shapes of shards; an op gets the arrays of all devices, whose first dims are those of the devices.",
    ),
    "SDY-X112": Code(
        "A kernel of a custom call or of an op returned arrays of other shapes or dtypes than the program has.",
        "Return one array per result, of the type in the program: on shards, of the shape of a shard.",
    ),
    "SDY-X114": Code(
        "The function that `to_jax` returns was differentiated or batched; it runs the text of a partitioned program.",
        "Transform the original function before `sdy.from_jax`: `sdy.from_jax(jax.grad(f), ...)`.",
    ),
    "SDY-X115": Code(
        "A result of a function of `sdy.jit` is unreduced: `jax.jit` compiles the function.",
        "Reduce the result inside of the function, by `jax.reshard` for example.",
    ),
    "SDY-X150": Code(
        "A run would take more memory than is available.", "Verify in smaller sizes: `sdy verify --reduced`."
    ),
    "SDY-X151": Code(
        "A program takes too long or too much memory even in reduced sizes.",
        "The message names the largest size that is kept, and the reason.",
    ),
    "SDY-X152": Code(
        "The sizes of a program cannot be reduced: an op has unknown sizes, or sizes that are not understood.",
        "Prove the program instead, which does not run it: `sdy verify --prove`.",
    ),
}
