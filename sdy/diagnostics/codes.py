"""The table of all diagnostic codes, with a cause and a fix for each.

Codes are stable: tests match them, people read the messages. The letter of a code names its subject:
P: text that does not parse. S: shardings and meshes, S4xx the findings of `sdy lint`. R: sharding rules.
D: ops that do not verify. T: tools, passes and files. L: lowering to per-device code. X: execution.
C: contracts that a program broke. N: notebooks, editors and web pages.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """The cause of a diagnostic, and how to fix it."""

    cause: str
    fix: str


CODES: dict[str, Code] = {
    "SDY-P001": Code(
        "The text does not follow the MLIR syntax at this location.", "Write one of the tokens that the hint lists."
    ),
    "SDY-P002": Code(
        "The op is not registered, and unregistered dialects are not allowed.",
        "Check the op name, or pass -allow-unregistered-dialect.",
    ),
    "SDY-P003": Code(
        "The text uses a value, a block or an alias that it does not define.", "Define it, or correct the name."
    ),
    "SDY-P004": Code("The same name is defined twice.", "Rename one of the two definitions."),
    "SDY-P005": Code(
        "A value is used with a type other than the one it was defined with.", "Correct the type, or convert the value."
    ),
    "SDY-P006": Code(
        "The attribute or type is not registered, and unregistered dialects are not allowed.",
        "Check the name, or pass -allow-unregistered-dialect.",
    ),
    "SDY-P007": Code("Brackets or regions are nested too deeply.", "Reduce the nesting depth."),
    "SDY-P008": Code("The file is not valid UTF-8.", "Pass MLIR in text form; MLIR bytecode is not supported."),
    "SDY-P009": Code("The number of result names differs from the number of results.", "Write one name per result."),
    "SDY-P010": Code("The number of operands differs from the number of operand types.", "Write one type per operand."),
    "SDY-P101": Code(
        "The sharding notation contains an unexpected token.", "Write one of the tokens that the hint lists."
    ),
    "SDY-P102": Code("The sharding notation ends too early.", "Add one of the tokens that the hint lists."),
    "SDY-P103": Code(
        "The token after a dim sharding is not a priority.",
        "Write `p` and a number without leading zeros, such as `p0` or `p12`.",
    ),
    "SDY-P104": Code(
        "An integer in the sharding notation does not fit in 64 bits.", "Write a number between -2^63 and 2^63 - 1."
    ),
    "SDY-P105": Code(
        "A sharding has two lists of replicated axes, or two lists of unreduced axes.", "Merge the two lists."
    ),
    "SDY-P106": Code(
        "A token of a sharding rule is not a sequence of factor symbols.",
        "Use the symbols `i` to `z`, then `z_1`, `z_2` and so on.",
    ),
    "SDY-P107": Code(
        "The factor sizes of a sharding rule do not name the factors in order.",
        "List every factor once, in the order `i`, `j`, `k` and so on.",
    ),
    "SDY-P108": Code(
        "An alias in the sharding notation is undefined, or refers to another kind of attribute.",
        "Define the alias before its first use, or write the attribute instead of the alias.",
    ),
    "SDY-P110": Code(
        "The body of a sharding attribute does not start as its kind requires.",
        "Write the body directly after the name of the attribute.",
    ),
    "SDY-P111": Code(
        "A sharding in HLO, PartitionSpec or subscript notation is malformed.", "See the hint of the message."
    ),
    "SDY-P112": Code(
        "The numbers of an HLO sharding are inconsistent.",
        "List every device once; the number of devices must equal the number of shards times the number of copies.",
    ),
    "SDY-S001": Code(
        "A sharding refers to a mesh that is not defined in the module.",
        "Define the mesh with `sdy.mesh`, or correct the name.",
    ),
    "SDY-S002": Code(
        "A sharding on a single-device mesh, or of an op without results, lists dims or axes.",
        "Write the sharding as `<@mesh, []>`.",
    ),
    "SDY-S003": Code(
        "A tuple that does not have exactly one element has a sharding.",
        "Extract the elements of the tuple and shard those.",
    ),
    "SDY-S004": Code(
        "A value without a shape, such as a token, has a sharding with dims or axes.",
        "Write the sharding as `<@mesh, []>`, or remove it.",
    ),
    "SDY-S005": Code("An unranked tensor has a sharding.", "Use a ranked tensor type."),
    "SDY-S006": Code("The rank of a sharding differs from the rank of the tensor.", "Write one `{...}` per dim."),
    "SDY-S007": Code("The priority of a dim sharding is negative.", "Use a priority of 0 or more."),
    "SDY-S008": Code(
        "A closed dim without axes has a priority, although nothing can be propagated to it.",
        "Remove the priority, or open the dim with `?`.",
    ),
    "SDY-S010": Code(
        "The size of a dim is not divisible by its number of shards.",
        "Use axes whose total size divides the dim, or pad the tensor.",
    ),
    "SDY-S014": Code(
        "A sharding in the body of a manual computation uses one of its manual axes.",
        "Use the other axes only: the body already sees one shard along the manual axes.",
    ),
    "SDY-S022": Code("The number of shardings differs from the number of values.", "Write one sharding per value."),
    "SDY-S031": Code(
        "An attribute that describes shardings has the wrong kind.", "Use the kind of attribute that the message names."
    ),
    "SDY-S101": Code("The size of a mesh axis is less than 1.", "Use a size of 1 or more."),
    "SDY-S102": Code("A device id is negative.", "Use device ids from 0 to the number of devices - 1."),
    "SDY-S103": Code("A mesh without axes lists several device ids.", "Add an axis, or list a single device."),
    "SDY-S104": Code("Two axes of a mesh have the same name.", "Rename one of them."),
    "SDY-S105": Code(
        "The number of device ids of a mesh differs from the product of its axis sizes.", "List every device once."
    ),
    "SDY-S106": Code(
        "The device ids of a mesh are not a permutation of 0 to the number of devices - 1.",
        "List every device once, in any order.",
    ),
    "SDY-S201": Code("The mesh does not have the axis.", "Use one of the axes that the hint lists."),
    "SDY-S202": Code("An axis or sub-axis is used twice.", "Use every axis, and every sub-axis, at most once."),
    "SDY-S203": Code("Two consecutive sub-axes of a list could be merged.", "Write them as one sub-axis."),
    "SDY-S204": Code(
        "A list of axes whose order has no meaning is not sorted in mesh order.",
        "Sort the axes as the mesh lists them, and the sub-axes of one axis from major to minor.",
    ),
    "SDY-S205": Code("A list uses both an axis and a sub-axis of it.", "Use either the full axis or its sub-axes."),
    "SDY-S206": Code(
        "The pre-size of a sub-axis is less than 1.",
        "Use the product of the sizes of all more major sub-axes, which is at least 1.",
    ),
    "SDY-S207": Code("The size of a sub-axis is less than 2.", "Omit sub-axes of size 1."),
    "SDY-S208": Code(
        "The pre-size times the size of a sub-axis does not divide the size of the axis.",
        "Split the axis into sub-axes whose sizes divide it.",
    ),
    "SDY-S209": Code("A sub-axis is as large as its axis.", "Write the full axis."),
    "SDY-S210": Code("Two sub-axes of one axis overlap.", "Use disjoint sub-axes."),
    "SDY-S301": Code("The index of a propagation step is negative.", "Count steps from 0."),
    "SDY-S302": Code("Two propagation steps have the same index.", "Merge them into one step."),
    "SDY-S303": Code(
        "The source of a propagation edge is also one of its targets.", "Remove the source from the targets."
    ),
    "SDY-S304": Code("A propagation edge lists a target twice.", "List every target once."),
    "SDY-S305": Code(
        "None of the values in the propagation edges of an op has a sharding.",
        "Remove the edges, or add shardings to the values.",
    ),
    "SDY-S306": Code(
        "The values in the propagation edges of an op are sharded on different meshes.", "Shard them on one mesh."
    ),
    "SDY-S307": Code("A propagation edge refers to an axis that the mesh does not have.", "Use an axis of the mesh."),
    "SDY-S308": Code(
        "A propagation edge refers to an operand or a result that the op does not have.",
        "Count operands and results from 0.",
    ),
    "SDY-S401": Code(
        "An argument or a result is replicated along an axis of the mesh that could shard it.",
        "Shard it along the axis, as the hint shows.",
    ),
    "SDY-S402": Code(
        "No tensor is sharded along an axis of the mesh, so the devices along it all compute the same.",
        "Shard a dim along the axis, such as the batch, or use a mesh without it.",
    ),
    "SDY-S403": Code(
        "An argument is gathered more than once along the same axes.",
        "Constrain it once, if its unsharded copy fits in memory; or store it sharded along fewer axes.",
    ),
    "SDY-S404": Code(
        "Every device uses a slice alone of the result of an all-gather.",
        "Keep the value sharded: constrain it to the sharding of the slice, or remove the constraint that gathers it.",
    ),
    "SDY-S405": Code(
        "Every device uses a slice alone of the result of an all-reduce.",
        "Constrain the sum to the sharding of the slice, so that a reduce-scatter sends half the bytes.",
    ),
    "SDY-S406": Code("A loop reshards a value that is the same in every trip.", "Constrain the value before the loop."),
    "SDY-S407": Code(
        "Arguments propagate one axis to different dims of the same tensors, as the batch and the weights of FSDP do.",
        'Give the annotations of the weights a later priority: `{"data"}p1`.',
    ),
    "SDY-S408": Code(
        "The program is partitioned the same without a sharding constraint.", "Remove the sharding constraint."
    ),
    "SDY-S409": Code(
        "A value is resharded for a sharding constraint, and again for each use of the constraint.",
        "Remove the sharding constraint, or constrain to the sharding that the uses have.",
    ),
    "SDY-S410": Code(
        "The tensors of an op have conflicting shardings, which costs the collectives listed.",
        "Resolve the conflict: open a dim, give an annotation a later priority, or annotate another dim.",
    ),
    "SDY-S411": Code(
        "The axes of a dim do not divide it, so that its shards are padded.", "Shard another dim along the axis."
    ),
    "SDY-S412": Code(
        "Many small collectives take as long as their latency.",
        "Stack the tensors, so that one collective communicates all of them.",
    ),
    "SDY-S413": Code(
        "An operand is gathered for an op that could run on shards, so that every device computes its result in full.",
        "Constrain the result to the sharding of the operand.",
    ),
    "SDY-S414": Code(
        "A donated argument is sharded otherwise than the result that is to reuse its memory.",
        "Give both the same sharding.",
    ),
    "SDY-S415": Code(
        "An axis shards a dim of an argument or a constraint, where another dim would cost less.",
        "Shard the dim of the hint along the axis.",
    ),
    "SDY-S416": Code("Optimizer state is sharded less than its weight.", "Shard it and its result like the weight."),
    "SDY-R001": Code(
        "The number of tensors in a sharding rule differs from the number of operands and results.",
        "Write one `[...]` per operand and per result.",
    ),
    "SDY-R002": Code("An op without operands, or without results, has a sharding rule.", "Remove the rule."),
    "SDY-R003": Code(
        "An op with a sharding rule has an operand or result that is not a statically shaped tensor.",
        "Remove the rule.",
    ),
    "SDY-R004": Code(
        "The number of dims that a sharding rule maps differs from the rank of the tensor.", "Map every dim."
    ),
    "SDY-R005": Code("A dim of a sharding rule is mapped to no factor.", "Map it to a factor that no other dim uses."),
    "SDY-R006": Code(
        "A dim of a sharding rule is mapped to a factor whose size is not listed.", "List the sizes of all factors."
    ),
    "SDY-R007": Code("A tensor of a sharding rule uses a factor twice.", "Use every factor at most once per tensor."),
    "SDY-R008": Code(
        "A dim of a sharding rule is mapped to several factors, one of which has size 1.",
        "Remove the factor of size 1.",
    ),
    "SDY-R009": Code(
        "No tensor of a sharding rule uses one of the listed factors.",
        "Remove the size of the factor, or use the factor.",
    ),
    "SDY-R010": Code(
        "A list of factors is not sorted, has duplicates, or contains an unknown factor.",
        "List every factor of the kind once, in ascending order.",
    ),
    "SDY-R011": Code(
        "A factor of a sharding rule has two kinds.", "Choose one of reduction, need_replication and permutation."
    ),
    "SDY-R013": Code(
        "A result of a sharding rule uses a reduction factor.", "Remove the factor from the result, or change its kind."
    ),
    "SDY-R101": Code(
        "The op has no sharding rule, so no sharding propagates through it.",
        "Add a custom `sdy.sharding_rule` to the op.",
    ),
    "SDY-R102": Code(
        "The function that a user registered for the sharding rule of an op raised an exception.",
        "Fix the error at the line of the message; `SDY_LOG=debug` prints the traceback.",
    ),
    "SDY-R103": Code(
        "The function that a user registered for the sharding rule of an op returned neither a rule nor None.",
        "Return an `OpShardingRule`, built with `RuleBuilder`, or None for an op without a rule.",
    ),
    "SDY-D001": Code(
        "The operands, results, regions or properties of an op do not match its definition.",
        "Write the op as its documentation shows.",
    ),
    "SDY-D002": Code("A region does not end in a return op.", "Add the return op of the dialect."),
    "SDY-D003": Code("A value is used before it is defined.", "Move the definition before the use."),
    "SDY-D004": Code(
        "An op uses a value from outside of the enclosing function, module or manual computation.",
        "Pass the value as an argument of the function or as an operand of the manual computation.",
    ),
    "SDY-D005": Code(
        "The method `verify_` of an op that a user registered raised another exception than `VerifyException`.",
        "Fix the error at the line of the message; raise `VerifyException` for an invalid op.",
    ),
    "SDY-D011": Code(
        "A value is not a ranked tensor, or does not have the rank that the op requires.",
        "Use a tensor of the required type.",
    ),
    "SDY-D012": Code(
        "The type of a value does not match the type inferred from the other types and the parameters of the op.",
        "Use the type that the message names, or correct the parameters.",
    ),
    "SDY-D013": Code("Two values whose types or sizes must match differ.", "Convert or reshape one of them."),
    "SDY-D014": Code("The length of a list differs from the number of dims.", "Write one number per dim."),
    "SDY-D015": Code("An index is out of range, or a dim is listed twice.", "Count from 0, and list each dim once."),
    "SDY-D016": Code("A parameter of an op is out of range.", "Use a value in the range that the message gives."),
    "SDY-D017": Code("The op does not support this element type.", "Convert the value first."),
    "SDY-D018": Code(
        "The arguments or returned values of a region do not have the types that its op requires.",
        "Use the types that the message names.",
    ),
    "SDY-D021": Code("The arguments of a function body do not match the function type.", "Use the same types in both."),
    "SDY-D022": Code(
        "The types of a return op do not match the function, or the return op is outside of a function.",
        "Return values of the types that the function type lists.",
    ),
    "SDY-D023": Code(
        "A call refers to an undefined function, or its types do not match those of the function.",
        "Correct the name or the types.",
    ),
    "SDY-D024": Code("An attribute of an argument or result is of no dialect.", "Remove it, or name its dialect."),
    "SDY-D101": Code(
        "A mesh is not defined at the top level of a module.", "Move `sdy.mesh` to the top level of the module."
    ),
    "SDY-D102": Code("Two symbols of a module have the same name.", "Rename one of them."),
    "SDY-D111": Code(
        "A manual computation lists an axis that is already manual in an enclosing manual computation.",
        "Remove the axis from the inner one.",
    ),
    "SDY-D112": Code(
        "The numbers of global and local values of a manual computation differ.",
        "Declare one block argument per operand, and return one value per result.",
    ),
    "SDY-D113": Code(
        "In a dim sharding of a manual computation, a free axis comes before a manual axis.",
        "List the manual axes first, or make the other axis manual too.",
    ),
    "SDY-D114": Code(
        "A dim of a manual computation is not divisible by the size of its manual axes.",
        "Pad the tensor, or shard the dim along other axes.",
    ),
    "SDY-D115": Code(
        "The type of a local value of a manual computation is not that of one shard along the manual axes.",
        "Use the type that the message gives.",
    ),
    "SDY-D116": Code("The shardings of a manual computation are on different meshes.", "Use one mesh."),
    "SDY-D117": Code("A manual axis of a manual computation is not an axis of its mesh.", "Use an axis of the mesh."),
    "SDY-D121": Code(
        "The types in the body of a named computation do not match its operands or results.",
        "Use the same types in both.",
    ),
    "SDY-D131": Code("The type of a data flow edge does not have a static shape.", "Remove the edge."),
    "SDY-D132": Code("A value with a data flow edge has other uses.", "Use the result of the edge everywhere else."),
    "SDY-D133": Code(
        "The operand of a data flow edge is not an edge owner of a region op.",
        "Add edges to the results and block arguments of region ops only.",
    ),
    "SDY-D134": Code(
        "The operand of a `sdy.func_data_flow_edge` is neither a function argument nor the result of a call.",
        "Move the edge to a function argument or to the result of a `func.call`.",
    ),
    "SDY-D141": Code(
        "A propagation barrier allows both directions, so it has no effect.",
        "Use NONE, FORWARD or BACKWARD, or remove the barrier.",
    ),
    "SDY-D142": Code("The type of a constant differs from the type of its value.", "Use the same type in both."),
    "SDY-D143": Code("An integer is not a valid case of its enum attribute.", "Write the enum case by name."),
    "SDY-D201": Code(
        "The operand of a collective has no sharding.", "Add an `sdy.sharding` to the op that produces the operand."
    ),
    "SDY-D202": Code(
        "The operand and the result of a collective are on different meshes.",
        "Use one mesh; only `sdy.collective_permute` may change the mesh.",
    ),
    "SDY-D203": Code(
        "The shardings of the operand and the result of a collective have different ranks.",
        "Write one `{...}` per dim in both.",
    ),
    "SDY-D211": Code(
        "The number of axis lists of a collective differs from the rank of the tensor.",
        "Write one list per dim; a list may be empty.",
    ),
    "SDY-D212": Code(
        "A collective removes axes from a dim that are not its most minor axes.", "Gather axes from the minor end."
    ),
    "SDY-D213": Code(
        "A dim of the result of a collective does not have the sharding that the parameters imply.",
        "Correct the parameters or the `out_sharding`.",
    ),
    "SDY-D221": Code("An all-to-all has no parameters.", "Remove the op."),
    "SDY-D222": Code("A parameter of an all-to-all names a dim that the tensor does not have.", "Count dims from 0."),
    "SDY-D223": Code(
        "The parameters of an all-to-all use a dim twice.", "Merge the axes into one parameter, or use two ops."
    ),
    "SDY-D224": Code("The parameters of an all-to-all are not sorted by source dim.", "Sort them."),
    "SDY-D231": Code(
        "The meshes of the operand and the result of a collective-permute have different axes.",
        "Use meshes that differ in the order of devices only.",
    ),
    "SDY-D232": Code(
        "A collective-permute changes the name of the mesh only.",
        "Use the same mesh name for the operand and the result.",
    ),
    "SDY-D233": Code(
        "A collective-permute changes the number of shards of a dim.",
        "Shard the dim along axes of the same total size.",
    ),
    "SDY-D241": Code("An all-reduce changes the sharding of a dim.", "Use the mesh and dim shardings of the operand."),
    "SDY-D242": Code(
        "An all-reduce reduces over an axis that the operand is sharded or explicitly replicated along.",
        "Reduce over other axes.",
    ),
    "SDY-D243": Code(
        "The result of an all-reduce is still unreduced along an axis that the op reduces over.",
        "Remove the axis from the unreduced axes of the result.",
    ),
    "SDY-D244": Code(
        "Unreduced axes change at an op that cannot change them.",
        "Keep the unreduced axes, or use an op that changes them.",
    ),
    "SDY-D245": Code(
        "Unreduced axes change by a kind of reduction other than the one in the sharding.",
        "Use one kind of reduction in both.",
    ),
    "SDY-D246": Code("An axis stays unreduced, but its kind of reduction changes.", "Keep the kind of reduction."),
    "SDY-D251": Code(
        "An op that makes axes unreduced has a result with a kind of reduction other than sum.",
        "Write `unreduced={...}`.",
    ),
    "SDY-D252": Code(
        "The unreduced axes of the result are not the union of those of the operand and of the op.",
        "List the union in mesh order, with adjacent sub-axes merged.",
    ),
    "SDY-D253": Code(
        "An op that changes replicated axes to unreduced axes also changes a dim sharding.",
        "Copy the dim shardings of the operand.",
    ),
    "SDY-D254": Code("An op that changes replicated axes to unreduced axes lists no axes.", "Remove the op."),
    "SDY-D255": Code(
        "An op that changes replicated axes to unreduced axes lists an axis along which the operand is not replicated.",
        "Use axes that the operand does not use, or that it lists as replicated.",
    ),
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
        "A module passed to --load cannot be imported.", "Correct its name, or fix the error in the module."
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
    "SDY-T101": Code(
        "A module does not have a function @main, and does not have exactly one function; or the function has no body.",
        "Name the entry function @main.",
    ),
    "SDY-T102": Code(
        "A sharding has an inline mesh where a pass requires a mesh name.", "Run -sdy-lift-inlined-meshes first."
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
    "SDY-T220": Code(
        "A question names a dim that the value does not have, or an axis that no mesh has.",
        "See the hint of the message.",
    ),
    "SDY-T221": Code("A comparison names an unknown partitioner.", "Use one of those that the hint lists."),
    "SDY-T230": Code(
        "A file that describes a machine cannot be read, or has a wrong entry.", "See docs/costs.md for its entries."
    ),
    "SDY-T240": Code(
        "The name of a lint rule is unknown, or a setting of the linter is malformed.", "See the hint of the message."
    ),
    "SDY-T231": Code("The package has no example of this name.", "Use a name that `sdy examples` lists."),
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
        "Search it without manual computations, reshards and collectives; lower it again for a mesh of other sizes.",
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
    "SDY-L001": Code("An op on sharded tensors cannot run on shards.", "Replicate its operands and results."),
    "SDY-L002": Code(
        "Two tensors of an op have different shardings along a shared factor.",
        "Shard them along the same axes, or insert explicit reshards.",
    ),
    "SDY-L003": Code(
        "The size of a dim is not divisible by the axes that shard it.", "Pad the dim, or shard it along other axes."
    ),
    "SDY-L004": Code("The module has both several replicas and several partitions.", "Set one of the two counts to 1."),
    "SDY-L011": Code("An op mixes elements along a sharded dim.", "Reshard the tensor so that the dim is unsharded."),
    "SDY-L012": Code(
        "A shard requires elements that are on another device.",
        "Exchange halos with -sdy-resolve-permutation-factors, or leave the dim unsharded.",
    ),
    "SDY-L013": Code(
        "A value is passed to a result, a region or a function that requires another sharding.",
        "Insert an explicit reshard between the two.",
    ),
    "SDY-L014": Code(
        "A dim that is sharded unevenly cannot be padded: it crosses a manual computation boundary or becomes partial.",
        "Leave the dim unsharded, or use a size that its axes divide.",
    ),
    "SDY-L015": Code(
        "The size of an argument or result of a function is not divisible by the axes that shard it.",
        "Run -sdy-update-non-divisible-input-output-shardings first, or use axes whose sizes divide it.",
    ),
    "SDY-L016": Code(
        "The results of an op are assigned to different devices, or some to one device and some to a mesh.",
        "Put all results of the op on one device.",
    ),
    "SDY-L017": Code(
        "An argument or result of a function is assigned to a single device.",
        "Replicate it over a mesh, and assign the ops that use it to the device.",
    ),
    "SDY-L018": Code(
        "The tensors of an op that is partitioned individually are on different meshes.",
        "Put them on one mesh, or exclude the op with the filter.",
    ),
    "SDY-L019": Code(
        "An op on shards requires a table or groups of all devices, but the mesh has too many to list.",
        "Use a smaller mesh, or shardings with which the op needs no communication and no table.",
    ),
    "SDY-L020": Code(
        "The meshes of a program have different devices.",
        "Give all meshes the same number of devices, or remove the shardings on the other mesh.",
    ),
    "SDY-L101": Code(
        "An op with partial operands has results that are not all unreduced along the same axes.",
        "Reduce the operands, or use the same unreduced axes in all results.",
    ),
    "SDY-L111": Code(
        "No efficient implementation of an op on shards is known, so its tensors are gathered.",
        "Leave the dim unsharded, or avoid the op where the all-gather is too expensive.",
    ),
    "SDY-L112": Code(
        "A dim of an intermediate value is not divisible by all the axes that would shard it.",
        "Use a size that the axes divide, or axes whose sizes divide the dim.",
    ),
    "SDY-L120": Code(
        "An op is rewritten to use other shardings than propagation chose, so that devices send fewer bytes.",
        "Disable unwanted rewrites with the options of sdy-optimize-communication.",
    ),
    "SDY-L121": Code(
        "Collectives of the same kind are combined.",
        "Lower the most-bytes option of sdy-combine-collectives to keep them separate; 0 combines none.",
    ),
    "SDY-L122": Code(
        "Dims of values that their axes do not divide, or that windows shorten, are padded, so that they stay sharded.",
        "Use a size that the axes divide if the padding costs too much.",
    ),
    "SDY-L125": Code(
        "A permute and an all-to-all are fused into one all-to-all with larger groups.",
        "Remove sdy-fuse-permutes from the pipeline if larger groups are slower; the number of bytes sent is the same.",
    ),
    "SDY-L126": Code(
        "Permutes that send the same elements are shared, or merged into one if they are between different devices.",
        "Remove sdy-merge-permutes from the pipeline to keep them apart; each device sends no more bytes than before.",
    ),
    "SDY-V001": Code(
        "No lemma shows that an op of the local program computes what the global program does.",
        "Run `sdy verify`. If it finds no difference, the proof does not support this op yet: docs/guides/proof.md.",
    ),
    "SDY-V002": Code(
        "The proof does not support an op of the global program.", "Use `sdy verify`, which runs both programs."
    ),
    "SDY-V003": Code(
        "A result of the local program is not proved to be that of the global program.",
        "Look at the ops that are not proved; `sdy verify` tells whether the result differs.",
    ),
    "SDY-X001": Code(
        "NumPy has no dtype for the element type of a value.",
        "Use i1 to i64, ui2 to ui64, index, f4 to f64, bf16 or complex.",
    ),
    "SDY-X002": Code("The interpreter has no kernel for an op.", "Lower or remove the op before running the program."),
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
    "SDY-X150": Code(
        "A run would take more memory than is available.", "Verify in smaller sizes: `sdy verify --reduced`."
    ),
    "SDY-X151": Code(
        "A program takes too long or too much memory even in reduced sizes.",
        "The message names the largest size that is kept, and the reason.",
    ),
    "SDY-X152": Code(
        "The sizes of a program cannot be reduced: an op has unknown sizes, or sizes that are not understood.",
        "Prove the program instead, which does not run it: `sdy prove`.",
    ),
    "SDY-T270": Code(
        "Reduced verification got arrays of the original sizes.",
        "Pass no arrays: it draws its own inputs, of the reduced sizes.",
    ),
    "SDY-N410": Code("The language server needs pygls, which is not installed.", "Run `pip install 'sdy[lsp]'`."),
}
