"""Codes of programs on several meshes: their ops (M0xx), and the passes that import, propagate and export them."""

from __future__ import annotations

from sdy.diagnostics.code_tables import Code

MPMD: dict[str, Code] = {
    "SDY-M001": Code(
        "An op names a mesh that the topology of its function does not have, or the function has no topology.",
        "Add the mesh to the attribute `topology` of the function.",
    ),
    "SDY-M002": Code(
        "An op of the dialect `mpmd` has values, attributes or a place that it does not allow.",
        "Write the op as its documentation shows.",
    ),
    "SDY-M003": Code(
        "A call of the dialect `mpmd` and the function that it calls do not fit together.",
        "Use the types and the mesh of the function; a called function with a topology is private.",
    ),
    "SDY-M010": Code(
        "The text of rules about fragments, the name of a schedule, or an assignment of names to meshes is not valid.",
        "Write it as the message and docs/spec/08 show.",
    ),
    "SDY-M101": Code(
        "A loop of the dialect `mpmd` is in another loop, or is not to be unrolled fully.",
        "Unroll the inner loop in the program, and set `unroll_factor` to the number of iterations.",
    ),
    "SDY-M102": Code(
        "Rules about fragments contradict each other or the program.",
        "Name each fragment in one rule, and merge only fragments that do not wait for each other.",
    ),
    "SDY-M103": Code(
        "Two fragments of one stage were not merged.",
        "Let one computation of the stage use a result of the other, or give them different stages.",
    ),
    "SDY-M104": Code(
        "A mesh has more or fewer forward or backward fragments than microbatches.",
        "Call the computations of each mesh once per microbatch.",
    ),
    "SDY-M105": Code("A rule about fragments has no effect.", "Name fragments that exist, on one mesh."),
    "SDY-M106": Code(
        "A named computation is not assigned to a mesh.",
        "Add it to the assignment: `name-to-mesh-assignment=name@mesh`.",
    ),
    "SDY-M107": Code(
        "A name is inside of one that is assigned to another mesh, or outside of functions with a topology.",
        "Assign nested names to one mesh; give the function a topology, or call it from one that has.",
    ),
    "SDY-M108": Code(
        "The uses of an argument or of a value that a loop carries ask for different meshes or memory kinds.",
        "Transfer the value explicitly, or use one mesh and one memory kind.",
    ),
    "SDY-M109": Code(
        "A value or an op cannot be placed on a mesh: what it needs is on different ones.",
        "Name the computation, transfer an operand explicitly, or set `infer-transfers`.",
    ),
    "SDY-M110": Code(
        "Mesh inference left an op without a mesh.",
        "Transfer the value that the op needs explicitly, or set `infer-transfers`.",
    ),
    "SDY-M201": Code(
        "An argument or a result of a program on several meshes is sharded along a part of an axis.",
        "Shard it along whole axes; the sharding ends before the part.",
    ),
    "SDY-M202": Code(
        "A transfer changes the sharding of a value and not its mesh, or goes from host to host.",
        "Reshard the value in a computation before or after the transfer.",
    ),
    "SDY-M203": Code(
        "A transfer between meshes changes the sharding, so the value is resharded on one of them.",
        "Give both sides the same sharding.",
    ),
    "SDY-M301": Code(
        "The memory kind of an argument or a result of a function is not that of its users or its value.",
        "Write `mhlo.memory_kind` of the argument or result as the program uses it.",
    ),
    "SDY-M302": Code(
        "One value is an argument or result of a function several times, with different layouts.",
        "Use one `mhlo.layout_mode` for all, or `auto`.",
    ),
    "SDY-M303": Code(
        "A value with a layout of its own is transferred to a CPU, which takes the default layout only.",
        "Use the default layout or `auto`.",
    ),
    "SDY-M304": Code(
        "A function that is exported contains other ops than fragments, transfers and a return.",
        "Run `mpmd-import-pipeline` first.",
    ),
    "SDY-M305": Code(
        "A parameter is transferred between meshes, which costs time in each step.",
        "Assign the parameter to the mesh that uses it.",
    ),
    "SDY-M306": Code(
        "A fragment that the compiler made was not merged with a computation of the user.",
        "Put the computation into a named computation.",
    ),
    "SDY-M307": Code(
        "A fragment does nothing but change the sharding of values.",
        "Give what makes and what uses the values the same sharding.",
    ),
    "SDY-M308": Code(
        "A remark: the functions that each mesh executes.", "It is emitted with the option `verbose-logging`."
    ),
    "SDY-M309": Code(
        "A forward-only pipeline has a backward dependency.",
        "Assign the computations to meshes in the order in which values flow.",
    ),
    "SDY-M401": Code(
        "A program of several meshes cannot run: it has no topology, or an op or a value of it belongs to no mesh.",
        "Run `mpmd-import-pipeline`, which places every op and value on a mesh.",
    ),
    "SDY-M402": Code(
        "A schedule deadlocks: fragments wait for each other.",
        "Order the units of each mesh so that none runs before what it needs; the notes name a cycle.",
    ),
    "SDY-M403": Code(
        "A program has nothing that a schedule orders: no fragments of named computations with a call counter.",
        "Call the computations of each microbatch by `mpmd.call` with a `call_counter`; order before the export.",
    ),
}
