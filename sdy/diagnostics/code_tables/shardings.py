"""Codes of shardings, meshes and sharding rules, and of the findings of `sdy lint` (S4xx)."""

from __future__ import annotations

from sdy.diagnostics.code_tables import Code

SHARDINGS: dict[str, Code] = {
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
    "SDY-S080": Code(
        "A tensor cannot be moved between two shardings: one names its mesh, has another rank or other partial values.",
        "Inline the meshes, and give both shardings the rank of the tensor.",
    ),
    "SDY-S081": Code(
        "The devices of a mesh, or the elements that a device may send in a round, have the wrong number.",
        "List each device of the mesh once, and allow at least one element per round.",
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
    "SDY-S417": Code(
        "An axis of an operand does not reach the result, of which another dim is sharded along it.",
        "Constrain the result as in the hint: what follows is sharded like it.",
    ),
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
}
