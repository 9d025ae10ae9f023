"""Codes of tools, passes and files, of contracts that a program broke, and of notebooks, editors and web pages."""

from __future__ import annotations

from sdy.diagnostics.code_tables import Code

TOOLS: dict[str, Code] = {
    "SDY-T001": Code("A file cannot be read or written.", "Check the path and its permissions."),
    "SDY-T002": Code("The command line has an unknown or malformed option.", "See the output of --help."),
    "SDY-T003": Code("No pass has this name.", "See the output of --list-passes."),
    "SDY-T004": Code(
        "A pass does not have the option, or the option does not accept the value.",
        "Use the options that the hint lists.",
    ),
    "SDY-T005": Code("The text of a pass pipeline is malformed.", "Write `builtin.module(pass,pass{option=value})`."),
    "SDY-T006": Code("A diagnostic that the file expects was not reported.", "Correct the expectation or the program."),
    "SDY-T007": Code(
        "A diagnostic was reported that the file does not expect.", "Correct the program, or add an expectation."
    ),
    "SDY-T008": Code(
        "A module that --load, SDY_LOAD, pyproject.toml or an entry point names cannot be imported.",
        "Correct its name, or fix the error in the module.",
    ),
    "SDY-T009": Code("A pass that was registered by a user raised an exception.", "Fix the error in the pass."),
    "SDY-T010": Code(
        "A field of a registered pass has a type that an option cannot have.",
        "Use bool, int, float, str, Literal, a tuple of these, or one of them or None.",
    ),
    "SDY-T011": Code(
        "A propagation strategy of a user returned something else than a projection that extends the one it got.",
        "Return the projection with more axes: `projection.with_tensors(...)`, `tensor.expanded(factor, axes)`.",
    ),
    "SDY-T013": Code(
        "No pass of a pipeline propagates shardings by a schedule, so the steps of the propagation cannot be recorded.",
        "Derive the pass that propagates from `sdy.extend.CustomPropagatePass`.",
    ),
    "SDY-T101": Code(
        "A module does not have a function @main, and does not have exactly one function; or the function has no body.",
        "Name the entry function @main.",
    ),
    "SDY-T103": Code(
        "The type of a result is not supported by propagation.",
        "Refine dynamic shapes and extract tuple elements first: propagation requires statically shaped tensors.",
    ),
    "SDY-T104": Code(
        "A value is in two sharding groups that have not been merged.", "Run -sdy-sharding-group-import first."
    ),
    "SDY-T105": Code(
        "The members of a sharding group have different initial shardings.",
        "Use one sharding for all of them, or leave it open.",
    ),
    "SDY-T106": Code("An option of a pass has an unknown value.", "Use one of the values that the hint lists."),
    "SDY-T107": Code(
        "A call refers to a function that the module does not define.", "Define the function, or correct the name."
    ),
    "SDY-T108": Code(
        "A sharding group has members both inside and outside of a manual computation.",
        "Use a separate group inside of the manual computation.",
    ),
    "SDY-T109": Code("The members of a sharding group have different shapes.", "Group tensors of one shape only."),
    "SDY-T110": Code(
        "A manual computation has manual axes, but no sharding that names a mesh.",
        "Add an operand or a result, so that its sharding names the mesh.",
    ),
    "SDY-T111": Code("The body of a function is required, but the function is only declared.", "Define the function."),
    "SDY-T112": Code(
        "A function is called more than once, so its body is copied.", "Run -sdy-flatten-call-graph first."
    ),
    "SDY-T113": Code("An auto-partitioner is already registered.", "Clear the registered one first."),
    "SDY-T114": Code(
        "Auto-partitioning is enabled, but no auto-partitioner is registered.",
        "Register one, or disable auto-partitioning.",
    ),
    "SDY-T115": Code(
        "A function calls itself, directly or through other functions.", "Write the recursion as a while loop."
    ),
    "SDY-T116": Code("A CHLO op cannot be legalized to StableHLO.", "Use static shapes, or avoid the op."),
    "SDY-T201": Code("A file of arrays cannot be read.", "Write the file with `numpy.savez`."),
    "SDY-T202": Code("The command is unknown.", "Use one of the commands that `sdy --help` lists."),
    "SDY-T203": Code(
        "No value has the requested name, or is defined on the requested line.", "See the hint of the message."
    ),
    "SDY-T204": Code("A command has too few or too many arguments.", "See the --help of the command."),
    "SDY-T205": Code("The operation requires JAX, which is not installed.", "Run `pip install 'sdy[jax]'`."),
    "SDY-T206": Code("The type of a tensor is malformed.", "Write `f32[1024,4096]` or `1024x4096xf32`."),
    "SDY-T207": Code("The axes of the mesh cannot express an HLO sharding.", "Omit the mesh, or use another one."),
    "SDY-T208": Code("A sharding names axes, but no mesh was given.", "Specify a mesh, for example --mesh x=4,y=2."),
    "SDY-T209": Code("No hardware has this name.", "Use one of the names that the hint lists."),
    "SDY-T210": Code(
        "A collective refers to a device that the mesh does not have.",
        "Declare a mesh of all devices, or correct the op.",
    ),
    "SDY-T211": Code(
        "The arguments of a function are on different devices, or on the same devices in different orders.",
        "Put them on one mesh with `jax.device_put`; uncommitted arrays follow the others.",
    ),
    "SDY-T212": Code(
        "A file does not hold a program in a format that sdy reads.",
        "Use MLIR text or bytecode, or HLO text or protos, which are read through JAX.",
    ),
    "SDY-T213": Code(
        "A function of the library was called with an argument of another type.", "Pass a value of the expected type."
    ),
    "SDY-T214": Code("The installed version of JAX is too old.", "Run `pip install --upgrade 'sdy[jax]'`."),
    "SDY-T215": Code(
        "A JAX function uses a `jax.Ref` that it did not create; a program is a function of arrays.",
        "Pass the value of the ref, and return the new one. Inside of the function, `jax.new_ref` is supported.",
    ),
    "SDY-T216": Code(
        "JAX cannot lower a function for an abstract mesh, or for the platform.",
        "See the hint of the message: simulate devices, or pass `platform` to `sdy.from_jax`.",
    ),
    "SDY-T217": Code("JAX cannot lower functions for a platform of this name.", "Use `cpu`, `tpu`, `cuda` or `rocm`."),
    "SDY-T218": Code(
        "A function that gives the cost of an op raised an exception, or returned something else than a cost.",
        "Return `sdy.extend.OpCost(flops=..., bytes=...)`, of one run of the op on its own shapes.",
    ),
    "SDY-T219": Code(
        "No cost is known for an op, so only the bytes of its operands and results count.",
        "Pass `costs` to `sdy.register_dialect`, or `flops` and `bytes` to `sdy.register_custom_call`.",
    ),
    "SDY-T220": Code(
        "A question names a dim that the value does not have, or an axis that no mesh has.",
        "See the hint of the message.",
    ),
    "SDY-T221": Code("A comparison names an unknown partitioner.", "Use one of those that the hint lists."),
    "SDY-T222": Code(
        "An option of `jax.jit` was passed with the arguments of the function.",
        "Write `sdy.from_jax(jax.jit(f, in_shardings=...), *args)`; the mesh is that of the shardings.",
    ),
    "SDY-T230": Code(
        "A file that describes a machine cannot be read, or has a wrong entry.", "See docs/costs.md for its entries."
    ),
    "SDY-T240": Code(
        "The name of a lint rule is unknown, or a setting of the linter is malformed.", "See the hint of the message."
    ),
    "SDY-T231": Code("The package has no example of this name.", "Use a name that `sdy examples` lists."),
    "SDY-T233": Code(
        "A file of measurements has no rows, lacks a column, or has a wrong cell.",
        "See `sdy calibrate --help` for its columns.",
    ),
    "SDY-T234": Code(
        "Measurements do not fit the data sheet of a machine, whatever share of it kernels and collectives reach.",
        "Correct the bandwidths and rates of the machine, or the units of the measurements.",
    ),
    "SDY-T232": Code(
        "The size of a dim of an argument or a result is not divisible by the axes that shard it.",
        "Use a size that the axes divide, or axes whose sizes divide the dim.",
    ),
    "SDY-T250": Code(
        "HiGHS is not installed, and the search is too large to be solved without it.",
        "Install it: pip install 'sdy[search]'.",
    ),
    "SDY-T251": Code(
        "The program has ops that depend on the mesh, so its shardings cannot be searched, nor its mesh be resized.",
        "Search it without collectives, on the mesh of its manual computations; lower it again for another mesh.",
    ),
    "SDY-T252": Code("An option of a search is malformed.", "Write it as `sdy search --help` shows."),
    "SDY-T253": Code(
        "The program has no mesh, and the search was given none.", "Give a mesh or a number of devices to search on."
    ),
    "SDY-T254": Code(
        "A tactic matches no argument and no result of the program.", "Use a name that the hint lists, or wildcards."
    ),
    "SDY-T255": Code(
        "A tactic can shard none of the values that it matches, or names an axis that the mesh does not have.",
        "Use another dim or another axis; the message says why the first of the values cannot be sharded so.",
    ),
    "SDY-T256": Code("No rule for shardings matches the path of a leaf.", "Add a rule, or a last one `*`."),
    "SDY-T257": Code(
        "A rule for shardings gives no leaf its sharding.",
        "Correct its pattern, or move it before the rules that match.",
    ),
    "SDY-T258": Code("A rule shards more dims than a leaf has.", "Shorten the `PartitionSpec`, or narrow the pattern."),
    "SDY-T259": Code(
        "A pytree is neither the arguments of the program of a plan nor one of them.",
        "Pass the tuple of all arguments, or a dict of some by name.",
    ),
    "SDY-T260": Code(
        "Completions for a shell need shtab, which is not installed.", "Run `pip install 'sdy[completion]'`."
    ),
    "SDY-T261": Code(
        "An environment variable that sdy reads has a value that is not allowed.",
        "Set it to one of the values in the message, or unset it.",
    ),
    "SDY-T262": Code(
        "One of several parallel processes ended before its result.",
        "Run one process at a time, with `--processes=1`: memory may have been full.",
    ),
    "SDY-T263": Code(
        "A search for a pipeline found no equal layers in the program, which stages could divide.",
        "Write three layers at least, one after the other or as a scan over their weights, of the same ops and shapes.",
    ),
    "SDY-T264": Code(
        "The batch of a program cannot be divided into microbatches.",
        "Choose other numbers of microbatches; see that each element of the batch is computed independently.",
    ),
    "SDY-T265": Code(
        "Neither the layers nor the devices can be divided by any number of stages that was given.",
        "Choose numbers of stages that divide the number of devices, at most as many as there are layers.",
    ),
    "SDY-T266": Code(
        "A plan shards a logical axis along different mesh axes in different leaves.",
        "Give the dims different names, or use the rules of the plan for paths.",
    ),
    "SDY-C001": Code(
        "The program sends more than its contract allows: more bytes, or more collectives of some kind.",
        "Change the annotation or the op that the notes name, or accept the program with `sdy check --update`.",
    ),
    "SDY-C002": Code(
        "The peak memory of a device is larger than the contract allows.",
        "Shard one of the values that the notes list, or accept the program with `sdy check --update`.",
    ),
    "SDY-C003": Code(
        "The predicted time is longer than the contract allows.",
        "Avoid the collectives that the notes list, or accept the program with `sdy check --update`.",
    ),
    "SDY-C004": Code(
        "A value has another sharding than the contract requires.",
        "Follow the notes to the annotation that its axes come from, or accept it with `sdy check --update`.",
    ),
    "SDY-C010": Code(
        "A contract is not TOML, or has a key or a value that contracts do not have.",
        "Correct the entry; `sdy check --update` writes a valid contract.",
    ),
    "SDY-C011": Code(
        "A contract selects collectives by an axis, a function or a source that the program does not have.",
        "Correct the name, or delete the table: its bounds hold for every program.",
    ),
    "SDY-T270": Code(
        "Reduced verification got arrays of the original sizes.",
        "Pass no arrays: it draws its own inputs, of the reduced sizes.",
    ),
    "SDY-T288": Code(
        "Gradients of a program were to be compared, which only functions of JAX have.",
        "Pass functions, and then the arguments of a call; or programs that return their gradients.",
    ),
    "SDY-T283": Code(
        "A program of several meshes, in the dialect mpmd, was given to a command that partitions programs of one.",
        "Use `sdy verify`, `sdy cost`, `sdy report` or `sdy-run`; `sdy-opt` runs the passes of the dialect.",
    ),
    "SDY-T271": Code(
        "An audit checked nothing: the program has no op with a sharding rule, or none that can be run.",
        "Audit a program with small tensors; for ops of your own, register kernels with `--load`.",
    ),
    "SDY-N410": Code("The language server needs pygls, which is not installed.", "Run `pip install 'sdy[lsp]'`."),
}
