"""Codes of the lowering to the program of one device, and of its proof."""

from __future__ import annotations

from sdy.diagnostics.code_tables import Code

PARTITIONING: dict[str, Code] = {
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
    "SDY-L126": Code(
        "Permutes that send the same elements are shared, or merged into one if they are between different devices.",
        "Remove sdy-merge-permutes from the pipeline to keep them apart; each device sends no more bytes than before.",
    ),
    "SDY-L127": Code(
        "The program is partitioned without the communication optimizer, which would send more or need more memory.",
        "Nothing is required; `--no-optimizer` partitions it so without the comparison.",
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
    "SDY-V005": Code(
        "Ops that no lemma covers were run in exact numbers, and results differ, or the runs did not decide.",
        "Correct the local program; `sdy verify` shows the elements that differ.",
    ),
    "SDY-V006": Code(
        "Two programs that were run in exact numbers differ, and this is the first op whose value shows it.",
        "Look at this op and what it reads: a sum over devices may be missing, or an offset, mask or group be wrong.",
    ),
    "SDY-V007": Code(
        "Two programs are compared whose arguments or results have other types.",
        "Give both programs the same arguments, and let them return the same results.",
    ),
    "SDY-V008": Code(
        "A transfer between two meshes does not deliver the shards of its result.",
        "This is a fault of sdy: report it with the program.",
    ),
    "SDY-V004": Code(
        "A local program does not fit the program that it stands for: its arguments, results, or devices are others.",
        "Give it one argument per argument and one result per result of the program, each a shard by its sharding.",
    ),
}
