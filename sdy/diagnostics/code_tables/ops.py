"""Codes of ops that do not verify."""

from __future__ import annotations

from sdy.diagnostics.code_tables import Code

OPS: dict[str, Code] = {
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
    "SDY-D024": Code(
        "The name of an attribute of an argument or result has no dialect, as `jax.result_info` has.",
        "Remove the attribute, or put the name of a dialect and a dot before its name.",
    ),
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
}
