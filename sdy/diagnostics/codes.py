"""Every diagnostic code, with its cause and its cure. Codes are stable: tests match them, people read the words.

P: text that does not parse. S: shardings and meshes. D: ops that do not verify. R: sharding rules.
T: tools, passes and files. X: execution. L: lowering to per-device code.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """Why a diagnostic is given, and what to do about it."""

    cause: str
    cure: str


CODES: dict[str, Code] = {
    "SDY-P001": Code(
        "The text does not follow the syntax at this place.", "Write one of the tokens that the hint lists."
    ),
    "SDY-P002": Code(
        "The op is not known, and unregistered dialects are not allowed.",
        "Check the name; or pass -allow-unregistered-dialect.",
    ),
    "SDY-P003": Code("The text uses a value or a block that it does not define.", "Define it, or correct the name."),
    "SDY-P004": Code("A name stands for two values.", "Give one of them another name."),
    "SDY-P005": Code("A value is used with another type than it has.", "Correct the type, or convert the value."),
    "SDY-P006": Code(
        "The attribute or type is not known, and unregistered dialects are not allowed.",
        "Check the name; or pass -allow-unregistered-dialect.",
    ),
    "SDY-P007": Code("Brackets or regions nest too deeply.", "Nest less deeply."),
    "SDY-P008": Code("The file is not text in UTF-8.", "Give a file of MLIR text; bytecode is not read."),
    "SDY-P009": Code("An op has more or fewer results than names are given for.", "Give one name per result."),
    "SDY-P010": Code("An op has more or fewer operands than types.", "Write one type per operand."),
    "SDY-P101": Code(
        "The sharding notation has something else at this place.", "Write one of the tokens that the hint lists."
    ),
    "SDY-P102": Code("The sharding notation ends too early.", "Add one of the tokens that the hint lists."),
    "SDY-P103": Code(
        "The word after a dim sharding is not a priority.",
        "Write `p` and a number without leading zeros, such as `p0` or `p12`.",
    ),
    "SDY-P104": Code(
        "An integer of the sharding notation does not fit 64 bits.", "Write a number between -2^63 and 2^63 - 1."
    ),
    "SDY-P105": Code("A sharding lists its replicated or its unreduced axes twice.", "Join the two lists to one."),
    "SDY-P106": Code(
        "A word of a sharding rule is not made of factor symbols.",
        "Write symbols `i` to `z`, then `z_1`, `z_2` and so on.",
    ),
    "SDY-P107": Code(
        "The factor sizes of a sharding rule do not name the factors in order.",
        "List every factor once: `i`, `j`, `k` and so on.",
    ),
    "SDY-P108": Code(
        "An alias in the sharding notation is not defined, or stands for another kind of attribute.",
        "Define it before, or write the attribute in place of the alias.",
    ),
    "SDY-P110": Code(
        "An attribute of the sharding notation does not begin with what its kind begins with.",
        "Write the body right after the name of the attribute.",
    ),
    "SDY-P111": Code("A sharding in the notation of HLO, of JAX or of subscripts cannot be read.", "See the hint."),
    "SDY-P112": Code("The numbers of an HLO sharding do not fit together.", "Each device holds one piece."),
    "SDY-S001": Code(
        "A sharding names a mesh that the module does not have.",
        "Define the mesh with `sdy.mesh`, or correct the name.",
    ),
    "SDY-S002": Code(
        "A sharding that puts a value on one device, or has no axes to speak of, says something of dims or axes.",
        "Write it as `<@mesh, []>`.",
    ),
    "SDY-S003": Code(
        "A tuple of other than one element has a sharding.", "Take the elements out of the tuple and shard them."
    ),
    "SDY-S004": Code(
        "A value without a shape, such as a token, has a sharding with dims or axes.",
        "Write the sharding as `<@mesh, []>`, or leave it out.",
    ),
    "SDY-S005": Code("A tensor without a rank has a sharding.", "Give the tensor a rank."),
    "SDY-S006": Code("A sharding speaks of more or fewer dims than the tensor has.", "Write one `{...}` per dim."),
    "SDY-S007": Code("The priority of a dim sharding is negative.", "Use 0 or a larger number."),
    "SDY-S008": Code(
        "A closed dim without axes has a priority, though nothing can be propagated to it.",
        "Drop the priority, or open the dim with `?`.",
    ),
    "SDY-S010": Code(
        "A dim is not divisible by the number of pieces it is cut into.",
        "Use axes whose size divides the dim, or pad the tensor.",
    ),
    "SDY-S014": Code(
        "A sharding within a manual computation uses one of the axes that the computation is manual on.",
        "Use the other axes: the body sees one shard along the manual ones.",
    ),
    "SDY-S022": Code("There are more or fewer shardings than values.", "Write one sharding per value."),
    "SDY-S031": Code(
        "An attribute that describes shardings is of another kind of attribute.",
        "Write the kind of attribute that the message names.",
    ),
    "SDY-S101": Code("An axis of a mesh has no device.", "Give it a size of 1 or more."),
    "SDY-S102": Code("A device id is negative.", "Use 0 to the number of devices - 1."),
    "SDY-S103": Code("A mesh without axes has several device ids.", "Give the mesh an axis, or list one device."),
    "SDY-S104": Code("Two axes of a mesh have the same name.", "Rename one of them."),
    "SDY-S105": Code(
        "A mesh lists more or fewer device ids than the product of its axis sizes.", "List every device once."
    ),
    "SDY-S106": Code(
        "The device ids of a mesh do not name every device once.", "List 0 to the number of devices - 1 in any order."
    ),
    "SDY-S201": Code("An axis is not an axis of the mesh.", "Use one of the axes that the hint lists."),
    "SDY-S202": Code("The same axis is used twice.", "Use every axis, and every part of an axis, once."),
    "SDY-S203": Code("Two adjacent sub-axes follow each other.", "Write them as one longer sub-axis."),
    "SDY-S204": Code(
        "A list of axes that stands for a set is not in the order of the mesh.",
        "Sort the axes as the mesh lists them, parts of one axis from major to minor.",
    ),
    "SDY-S205": Code("An axis is used in whole and in part.", "Use either the axis or its parts."),
    "SDY-S206": Code(
        "The pre-size of a sub-axis is below 1.",
        "The pre-size is the product of the sizes of all that is major to the sub-axis: at least 1.",
    ),
    "SDY-S207": Code("The size of a sub-axis is below 2.", "Leave out sub-axes of one device."),
    "SDY-S208": Code(
        "The pre-size times the size of a sub-axis does not divide the axis.", "Cut the axis into whole parts."
    ),
    "SDY-S209": Code("A sub-axis is as large as its axis.", "Write the axis without the sub-axis."),
    "SDY-S210": Code("Two sub-axes of one axis overlap.", "Use disjoint parts of the axis."),
    "SDY-S301": Code("A propagation step has a negative index.", "Count steps from 0."),
    "SDY-S302": Code("Two propagation steps have the same index.", "Join them to one step."),
    "SDY-S303": Code("A propagation edge goes from a value to itself.", "Remove the value from the targets."),
    "SDY-S304": Code("A propagation edge lists a target twice.", "List every target once."),
    "SDY-S305": Code(
        "None of the values that propagation edges name has a sharding.", "Remove the edges, or shard the values."
    ),
    "SDY-S306": Code(
        "The values that propagation edges name are sharded on different meshes.", "Shard them on one mesh."
    ),
    "SDY-S307": Code("A propagation edge is of an axis that the mesh does not have.", "Use an axis of the mesh."),
    "SDY-S308": Code(
        "A propagation edge names an operand or a result that the op does not have.",
        "Count operands and results from 0.",
    ),
    "SDY-R001": Code(
        "A sharding rule maps more or fewer tensors than the op has.", "Write one `[...]` per operand and per result."
    ),
    "SDY-R002": Code("An op without operands, or without results, has a sharding rule.", "Remove the rule."),
    "SDY-R003": Code(
        "An op with a sharding rule has a value that is not a tensor of static shape.", "Remove the rule."
    ),
    "SDY-R004": Code("A sharding rule maps more or fewer dims of a tensor than it has.", "Map every dim."),
    "SDY-R005": Code("A dim of a sharding rule maps to no factor.", "Map it to a factor of its own."),
    "SDY-R006": Code(
        "A dim of a sharding rule maps to a factor whose size is not listed.", "List the sizes of all factors."
    ),
    "SDY-R007": Code("A tensor of a sharding rule has a factor twice.", "Use every factor once per tensor."),
    "SDY-R008": Code(
        "A dim of a sharding rule maps to several factors, one of them of size 1.", "Leave out the factor of size 1."
    ),
    "SDY-R009": Code(
        "No tensor of a sharding rule has one of the factors.", "Remove the size of the factor, or use it."
    ),
    "SDY-R010": Code(
        "A list of factors of one kind is not ascending, has duplicates, or names an unknown factor.",
        "List every such factor once, in order.",
    ),
    "SDY-R011": Code(
        "A factor of a sharding rule is of two kinds.", "Choose one of reduction, need_replication and permutation."
    ),
    "SDY-R013": Code(
        "A result of a sharding rule has a reduction factor.",
        "A factor that a result has is not reduced: correct the kind or the result.",
    ),
    "SDY-D001": Code(
        "An op has not the operands, results, regions or properties that its kind asks for.",
        "Write the op as its documentation says.",
    ),
    "SDY-D002": Code("A region does not end in a return.", "Add the return of its dialect."),
    "SDY-D003": Code("A value is used where it is not defined yet.", "Move the definition before the use."),
    "SDY-D004": Code(
        "An op uses a value from outside the function or module around it.", "Pass the value as an argument."
    ),
    "SDY-D011": Code(
        "A value is no ranked tensor, or has not the dims that the op asks for.", "Give a tensor of another type."
    ),
    "SDY-D012": Code(
        "The type of a value is not what the other types and the parameters of its op give.",
        "Use the type that the message names, or correct the parameters.",
    ),
    "SDY-D013": Code("Two values whose types or sizes should agree do not.", "Convert or reshape one of them."),
    "SDY-D014": Code("A list of numbers is longer or shorter than there are dims.", "Give one number per dim."),
    "SDY-D015": Code("A dim is named that does not exist, or twice.", "Count dims from 0, and name each once."),
    "SDY-D016": Code("A parameter of an op is out of its range.", "Use a value in the range that the message names."),
    "SDY-D017": Code("An op cannot compute with elements of this kind.", "Convert the value first."),
    "SDY-D018": Code(
        "A region takes or gives other values than its op asks for.",
        "Give the region the types that the message names.",
    ),
    "SDY-D021": Code("The body of a function has other arguments than its type says.", "Give both the same types."),
    "SDY-D022": Code(
        "A return gives other types than its function, or stands outside of one.",
        "Return values of the types that the function names.",
    ),
    "SDY-D023": Code(
        "A call names no function, or takes or gives other types than it.", "Correct the name or the types."
    ),
    "SDY-D101": Code("A mesh is defined elsewhere than directly in a module.", "Move `sdy.mesh` to the module."),
    "SDY-D102": Code("Two symbols of a module have the same name.", "Rename one of them."),
    "SDY-D111": Code(
        "A manual computation is manual on an axis that an enclosing one is manual on already.",
        "Remove the axis from the inner one.",
    ),
    "SDY-D112": Code(
        "A manual computation has more or fewer global values than local ones.",
        "Give the body one argument per operand and return one value per result.",
    ),
    "SDY-D113": Code(
        "In a dim sharding of a manual computation an axis that it is not manual on comes before one that it is.",
        "Put the manual axes first, or make the computation manual on the other axis too.",
    ),
    "SDY-D114": Code(
        "A dim of a manual computation does not divide by its manual axes.",
        "Pad the tensor, or cut the dim by other axes.",
    ),
    "SDY-D115": Code(
        "The type of a value in the body of a manual computation is not that of one shard along the manual axes.",
        "Use the type that the message gives.",
    ),
    "SDY-D116": Code("The shardings of a manual computation are on different meshes.", "Use one mesh."),
    "SDY-D117": Code("A manual axis of a manual computation is not an axis of its mesh.", "Use an axis of the mesh."),
    "SDY-D121": Code(
        "The body of a named computation does not match its operands or results.", "Give body and op the same types."
    ),
    "SDY-D131": Code("A data flow edge is on a value whose shape is not static.", "Remove the edge."),
    "SDY-D132": Code("A value with a data flow edge has other uses.", "Let every use take the result of the edge."),
    "SDY-D133": Code(
        "A data flow edge stands on a value that owns no data flow edge.",
        "Put edges on results and block arguments of region ops only.",
    ),
    "SDY-D134": Code(
        "An edge between a call and a function stands on something else.",
        "Put it on an argument of a function or on a result of a call.",
    ),
    "SDY-D141": Code("A propagation barrier blocks nothing.", "Use NONE, FORWARD or BACKWARD, or remove the barrier."),
    "SDY-D142": Code("The type of a constant is not that of its value.", "Give both the same type."),
    "SDY-D201": Code("The tensor of a collective has no sharding.", "Give the op that makes it an `sdy.sharding`."),
    "SDY-D202": Code(
        "Operand and result of a collective are on different meshes.",
        "Use one mesh; only sdy.collective_permute may change it.",
    ),
    "SDY-D203": Code(
        "The shardings of operand and result of a collective have different ranks.",
        "Write one `{...}` per dim in both.",
    ),
    "SDY-D211": Code(
        "A collective has more or fewer lists of axes than the tensor has dims.",
        "Write one list per dim; it may be empty.",
    ),
    "SDY-D212": Code(
        "A collective takes off a dim an axis that is not at its minor end.", "Gather axes from the minor end."
    ),
    "SDY-D213": Code(
        "A dim of the result of a collective is not cut as the parameters make it.",
        "Correct the parameters or out_sharding.",
    ),
    "SDY-D221": Code("An all-to-all has no parameters.", "Remove the op."),
    "SDY-D222": Code("An all-to-all names a dim that the tensor does not have.", "Count dims from 0."),
    "SDY-D223": Code("An all-to-all uses a dim twice.", "Join the axes in one parameter, or use two ops."),
    "SDY-D224": Code("The parameters of an all-to-all are not sorted by source dim.", "Sort them."),
    "SDY-D231": Code(
        "A collective-permute goes to a mesh with other axes.", "Use meshes that differ in the order of devices alone."
    ),
    "SDY-D232": Code("A collective-permute only renames the mesh.", "Use one name for the mesh."),
    "SDY-D233": Code(
        "A collective-permute changes the number of pieces of a dim.", "Cut the dim by axes of the same size."
    ),
    "SDY-D241": Code(
        "An all-reduce changes how the tensor is cut.", "Use the mesh and the dims of the operand's sharding."
    ),
    "SDY-D242": Code(
        "An all-reduce reduces over an axis that the operand is sharded or replicated on.", "Reduce over other axes."
    ),
    "SDY-D243": Code(
        "An all-reduce leaves an axis unreduced that it reduces over.",
        "Remove the axis from the unreduced ones of the result.",
    ),
    "SDY-D244": Code(
        "Unreduced axes appear or disappear at an op that does not do this.",
        "Keep the unreduced axes, or use an op that changes them.",
    ),
    "SDY-D245": Code(
        "Unreduced axes appear or disappear by another reduction than the sharding says.", "Use one kind of reduction."
    ),
    "SDY-D246": Code("An axis stays unreduced with another kind of reduction.", "Keep the kind."),
    "SDY-D251": Code(
        "An op that makes axes unreduced gives a kind of reduction other than the sum.", "Write `unreduced={...}`."
    ),
    "SDY-D252": Code(
        "The unreduced axes of the result are not those of the operand and of the op together.",
        "List them in mesh order, adjacent sub-axes merged.",
    ),
    "SDY-D253": Code(
        "An op that makes replicated axes unreduced changes the dims.", "Copy the dim shardings of the operand."
    ),
    "SDY-D254": Code("An op that makes replicated axes unreduced has no axes.", "Remove the op."),
    "SDY-D255": Code(
        "An op that makes replicated axes unreduced is given an axis that is not replicated.",
        "Use axes that the operand does not mention, or lists as replicated.",
    ),
    "SDY-T101": Code(
        "A module with several functions, or none, has no function called main.", "Call the entry function @main."
    ),
    "SDY-T102": Code(
        "A sharding gives its mesh inline where a pass wants the name of one.", "Run -sdy-lift-inlined-meshes first."
    ),
    "SDY-T103": Code(
        "An op gives a value of a type that propagation does not handle.",
        "Propagation needs tensors of static shape: refine the shapes, or take tuples apart, first.",
    ),
    "SDY-T104": Code(
        "A value is in two sharding groups, which must be one then.", "Run -sdy-sharding-group-import first."
    ),
    "SDY-T105": Code(
        "The members of a sharding group start with different shardings.", "Give them one sharding, or leave it open."
    ),
    "SDY-T106": Code("An option of a pass has a value that it does not know.", "Use one of those that the hint lists."),
    "SDY-D143": Code("A number that stands for a word of an op stands for none.", "Write the word."),
    "SDY-L001": Code("An op on cut tensors has no form for one shard.", "Keep its operands and results replicated."),
    "SDY-L002": Code(
        "Two tensors of an op are cut differently along what they share.",
        "Cut them along the same factors, or insert explicit reshards.",
    ),
    "SDY-L003": Code("A dim does not divide by the axes that cut it.", "Pad the dim, or cut it by other axes."),
    "SDY-L004": Code("Devices are counted both as replicas and as partitions.", "Set one of the two counts to 1."),
    "SDY-L011": Code(
        "An op mixes elements along a dim that is cut.", "Reshard the tensor so that the dim is whole on every device."
    ),
    "SDY-L012": Code(
        "A shard needs elements that another device holds.",
        "Exchange halos by -sdy-resolve-permutation-factors, or make the dim whole.",
    ),
    "SDY-L013": Code(
        "A value is cut otherwise than where it is handed over to: a result, a region, a function.",
        "Insert an explicit reshard between them.",
    ),
    "SDY-L014": Code(
        "A dim is cut unevenly at the border of a manual computation, or becomes partial, where no padding can be.",
        "Keep the dim whole on every device, or use a size that its axes divide.",
    ),
    "SDY-L015": Code(
        "An argument or result of a function does not divide by the axes that cut it.",
        "Run -sdy-update-non-divisible-input-output-shardings first, or use axes whose sizes divide.",
    ),
    "SDY-L016": Code(
        "The results of an op are to be computed on different devices, or on one device and on many.",
        "Put all results of the op on one device.",
    ),
    "SDY-L017": Code(
        "An argument or result of a function is put on one device.",
        "Replicate it over a mesh, and put the ops that use it on the device.",
    ),
    "SDY-L018": Code(
        "The tensors of an op that is to be partitioned on its own are on different meshes.",
        "Put them on one mesh, or leave the op out by the filter.",
    ),
    "SDY-L111": Code(
        "No efficient form on shards is known of an op, so that its tensors are gathered.",
        "Keep the dim whole, or do without the op where it costs too much.",
    ),
    "SDY-L112": Code(
        "A dim inside of a program does not divide by all the axes that would cut it.",
        "Use a size that divides, or axes whose sizes do.",
    ),
    "SDY-L120": Code(
        "Ops are run otherwise than propagation left them, so that devices send each other less.",
        "Switch the rewrites off that are not wanted: sdy-optimize-communication has an option for each.",
    ),
    "SDY-L121": Code(
        "Collectives that are alike are launched together.",
        "Lower the most-bytes of sdy-combine-collectives where they should run one by one; 0 combines none.",
    ),
    "SDY-L122": Code(
        "Dims inside of a program that do not divide by their axes are padded, so that they stay cut.",
        "Use a size that divides where the padding is too much to compute with.",
    ),
    "SDY-L125": Code(
        "A permute and an all-to-all are launched as one all-to-all of larger groups.",
        "It sends as many bytes; take sdy-fuse-permutes out of the pipeline where larger groups are slower.",
    ),
    "SDY-L101": Code(
        "An op takes partial values, and its results are not all unreduced on the same axes.",
        "Reduce the operands, or make the results unreduced alike.",
    ),
    "SDY-X001": Code(
        "A value has elements that no NumPy dtype holds.",
        "Use i1 to i64, ui2 to ui64, index, f4 to f64, bf16 or complex.",
    ),
    "SDY-X002": Code("The interpreter has no kernel for an op.", "Lower or remove the op before the program is run."),
    "SDY-X003": Code(
        "No kernel computes a custom call.", "Replace it by ops, or by one of the targets that the hint lists."
    ),
    "SDY-X004": Code("A function or mesh that the program names is not defined.", "Define it, or correct the name."),
    "SDY-X005": Code(
        "A value that decides a shape differs between devices.", "Compute it from what all devices know alike."
    ),
    "SDY-X006": Code("A function is given more or fewer inputs than it has arguments.", "Give one input per argument."),
    "SDY-X007": Code(
        "An input does not have the shape or the elements of its argument.", "Give an array of the type that is named."
    ),
    "SDY-X008": Code(
        "A check of the program does not hold.", "Compare the two values; correct the program or the check."
    ),
    "SDY-X009": Code(
        "Replica groups do not partition the devices as the collective needs, or do not divide its dim.",
        "List every device once, in groups of one size, and cut a dim that the group divides.",
    ),
    "SDY-X010": Code(
        "A device waits for another one that does not come.", "Let all devices of a group reach the same collective."
    ),
    "SDY-X011": Code("An infeed finds no more input.", "List one function per infeed in run_parallel."),
    "SDY-X012": Code("Calls nest without end.", "StableHLO knows no recursion: use a while loop."),
    "SDY-X013": Code(
        "The programs of run_parallel do not form a grid, or do not fit its inputs and results.",
        "Write rows of equal length, and one input and result per argument and result of each program.",
    ),
    "SDY-X014": Code("A probe saw fewer values than a check asks for.", "Correct the probe's name or the iteration."),
    "SDY-X015": Code(
        "The arguments of a tool are not a list of constants.", "Write --args=[dense<1> : tensor<2xi32>, ...]."
    ),
    "SDY-X016": Code(
        "A manual computation is reached by other devices than those of its mesh.",
        "Move it out of the reduction, or of the branch that only some devices take.",
    ),
    "SDY-T001": Code("A file cannot be read or written.", "Check the path and its permissions."),
    "SDY-T002": Code("The tool has no such option.", "See --help."),
    "SDY-T003": Code("There is no such pass.", "See the list of --help."),
    "SDY-T004": Code(
        "A pass has no such option, or the option takes other values.", "Use the options that the hint lists."
    ),
    "SDY-T005": Code(
        "The text of a pipeline does not follow its syntax.", "Write builtin.module(pass,pass{option=value})."
    ),
    "SDY-T006": Code("A diagnostic that the file expects was not given.", "Correct the expectation, or the program."),
    "SDY-T007": Code("A diagnostic was given that the file does not expect.", "Correct the program, or expect it."),
    "SDY-T008": Code("A module that --load names cannot be imported.", "Correct its name, or what it does."),
    "SDY-T107": Code("A call names a function that the module does not have.", "Define it, or correct the name."),
    "SDY-T108": Code(
        "A sharding group has values inside and outside of a manual computation.", "Use a group of its own inside."
    ),
    "SDY-T109": Code("A sharding group has tensors of different shapes.", "Group tensors of one shape."),
    "SDY-T201": Code("A file of arrays cannot be read.", "Write it with numpy.savez."),
    "SDY-X101": Code(
        "Two devices that should hold the same result do not.",
        "Make the manual computation give what its out_shardings promise; report it where there is none.",
    ),
    "SDY-T202": Code("The command is not known.", "Use one of those that `sdy --help` lists."),
    "SDY-X102": Code(
        "There are more or fewer expected outputs than the program has results.", "Give one per result, or none."
    ),
    "SDY-X103": Code(
        "A run is asked for a result, value or device that it does not have.", "Use one that the hint names."
    ),
    "SDY-T110": Code(
        "A manual computation has manual axes, but no sharding that names a mesh.", "Pass a value in or out."
    ),
    "SDY-T111": Code("A function that is only declared is called where its body is needed.", "Define it."),
    "SDY-T112": Code(
        "A function is called more than once, and its body is copied.", "Run -sdy-flatten-call-graph first."
    ),
    "SDY-T113": Code("A second auto-partitioner is registered.", "Clear the first one."),
    "SDY-T114": Code(
        "Auto-partitioning is enabled, and no auto-partitioner is registered.", "Register one, or leave it disabled."
    ),
    "SDY-T116": Code("An op of CHLO cannot be expressed in StableHLO.", "Give its tensors static shapes, or avoid it."),
    "SDY-T115": Code("The calls of a function lead back to it.", "Write the recursion as a while loop."),
    "SDY-T203": Code("No value has the name, or stands on the line, that the command asks for.", "See the hint."),
    "SDY-T204": Code("A command has too few or too many words.", "See its --help."),
    "SDY-T205": Code("What is asked for needs JAX, which is not installed.", "pip install 'sdy[jax]'."),
    "SDY-T206": Code("The type of a tensor cannot be read.", "Write f32[1024,4096] or 1024x4096xf32."),
    "SDY-T207": Code(
        "No axes of the mesh cut a tensor as an HLO sharding does.", "Leave the mesh out, or give another."
    ),
    "SDY-T208": Code("A sharding names axes, and there is no mesh.", "Give one: --mesh x=4,y=2."),
    "SDY-X106": Code(
        "A call does not have the structure of the function that the program was.",
        "Give the arguments as to the function; static ones are left out.",
    ),
    "SDY-X107": Code(
        "The interpreter cannot run an op on quantized elements.",
        "Turn its operands into floats first, by uniform_dequantize, and its results back.",
    ),
    "SDY-X108": Code(
        "A custom call is not given what its target takes.",
        "Give it the operands, of the shapes, and the options that the routine of this name has.",
    ),
    "SDY-X104": Code("The devices of a program do not fit those of JAX.", "See the hint."),
    "SDY-X105": Code("A program needs 64 bits that JAX has turned off.", "Set jax_enable_x64."),
    "SDY-T209": Code("No hardware of that name is known.", "Use one of those that the hint names."),
    "SDY-T210": Code(
        "A collective names a device that the mesh does not have.", "Declare a mesh of all devices, or correct the op."
    ),
    "SDY-T211": Code(
        "The arguments of a function lie on different devices, or on the same ones in another order.",
        "Put them on one mesh by jax.device_put; arrays that were put nowhere go where the others are.",
    ),
    "SDY-R101": Code(
        "No sharding rule is known for an op, so that nothing propagates through it.",
        "Write a custom sharding rule on it.",
    ),
}
