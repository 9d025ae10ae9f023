"""Turn fragments into functions, one for all that compute the same. Source: docs/spec/08, 4.12 and 4.13.

before  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: T) { abs %x } : (M) -> M
after   %1 = mpmd.fragment_call<mesh="m", origin=["f"]> @p0_f.main(%0) : (M) -> M
        func.func @p0_f.main(%x: T) -> T attributes {mesh_shape = ...} { abs %x }
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, SymbolRefAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.diagnostics.diagnostic import Severity
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.symbols import MAIN, functions_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.attrs import MeshAttr, TensorShardingAttr, TensorShardingPerValueAttr
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import SHARDING
from sdy.mpmd.dialect.attrs import UserOrigin
from sdy.mpmd.dialect.functions import MESH_SHAPE, mesh_named, topology_of
from sdy.mpmd.dialect.ops import FragmentCallOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.types import MeshTensorType
from sdy.mpmd.dialect.value_attributes import ARG_ATTRS, RES_ATTRS, entries_of
from sdy.mpmd.passes.tools.fragments import REMAT
from sdy.mpmd.passes.tools.frame import Findings
from sdy.passes.rewriting.insertion import insert, replace_op

MAX_LENGTH = 200
_ELLIPSIS = "<...>"
_COUNTED = re.compile(r"(.*)_(-?[0-9]+)", re.DOTALL)


def direction_word(transpose_count: int, *, other: str = "transpose{}") -> str:
    """Return the word for a transpose count."""
    return {0: "fwd", 1: "bwd"}.get(transpose_count, other.format(transpose_count))


def split_counter(name: str) -> tuple[str, int | None]:
    """Return the head of a name and the number after its last underscore: `block_12` is `block` and 12."""
    found = _COUNTED.fullmatch(name)
    return (name, None) if found is None else (found[1], int(found[2]))


def origins_name(origins: Sequence[UserOrigin]) -> str:
    """Return a name for origins: the most frequent head, the range of its counters, and dots if there are others."""
    by_head: dict[str, set[int]] = {}
    frequency: dict[str, int] = {}
    for origin in origins:
        head, counter = split_counter(origin.name)
        by_head.setdefault(head, set()).update(() if counter is None else (counter,))
        frequency[head] = frequency.get(head, 0) + 1
    head = min(by_head, key=lambda each: (-frequency[each], each))
    counters = sorted(by_head[head])
    name = head
    if counters:
        if all(origin.transpose_count == 1 for origin in origins):
            counters.reverse()
        name += f"_{counters[0]}" if len(counters) == 1 else f"_{counters[0]}:{counters[-1]}"
    return name + ("..." if len(by_head) > 1 else "")


def fragment_name(fragment: FragmentOp, *, is_forward_only: bool) -> str:
    """Return a name for one fragment, with the directions of its origins unless the program has forward ones only."""
    origins = fragment.origins
    name = origins_name(origins) if origins else "inferred"
    if fragment.stage is not None:
        name = f"stage{fragment.stage}"
    counts = [] if is_forward_only else sorted({origin.transpose_count for origin in origins})
    return "_".join([name, *map(direction_word, counts)])


def group_name(group: Sequence[FragmentOp], *, is_forward_only: bool) -> str:
    """Return a name for the fragments that become one function, with their call counters if these are consecutive."""
    names = [fragment_name(fragment, is_forward_only=is_forward_only) for fragment in group]
    counters = [counter for fragment in group if (counter := fragment.call_counter) is not None]
    if len(counters) < len(group):
        return names[0]
    if len(group) == 1:
        return f"{names[0]}_call{counters[0]}"
    steps = {after - before for before, after in pairwise(counters)}
    if len(set(names)) > 1 or steps not in ({1}, {-1}):
        return names[0]
    return f"{names[0]}_calls{counters[0]}{'to' if steps == {1} else 'from'}{counters[-1]}"


def function_name(number: int, group: Sequence[FragmentOp], module_name: str, *, is_forward_only: bool) -> str:
    """Return the name of the function of a group of fragments."""
    name = f"p{number}_{group_name(group, is_forward_only=is_forward_only)}"
    if len(name) > MAX_LENGTH:
        name = name[: MAX_LENGTH - len(_ELLIPSIS)] + _ELLIPSIS
    return f"{name}.{module_name.removeprefix('jit_')}"


RESERVED_MEMORY = "reserved_hbm_bytes"
Key = tuple[object, ...]


@dataclass(frozen=True)
class LowerToFragmentCallsPass(ModulePass):
    """Move the bodies of fragments into functions, which equal fragments share, and call these.

    Fragments whose operands or results have different shardings do not share a function; in Shardy they do, and the
    function has the shardings of the first.
    """

    name = "mpmd-lower-to-fragment-calls"

    verbose_logging: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace all fragments. With `verbose-logging`, remarks list the functions of each mesh."""
        fragments = ops_of(op, FragmentOp)
        is_forward_only = all(origin.transpose_count == 0 for each in fragments for origin in each.origins)
        module_name = MAIN if op.sym_name is None else op.sym_name.data
        groups = _groups(fragments)
        names: dict[FragmentOp, str] = {}
        for number, group in enumerate(groups):
            name = function_name(number, group, module_name, is_forward_only=is_forward_only)
            names |= dict.fromkeys(group, name)
        if self.verbose_logging:
            _log(op, names, module_name, Findings(ctx), is_forward_only=is_forward_only)
        reserved = {names[group[0]]: _reserved(group) for group in groups}
        for fragment in fragments:
            name = names[fragment]
            if name not in functions_of(op):
                _add_function(op, fragment, name, reserved[name])
            call = FragmentCallOp.create(
                operands=fragment.operands,
                result_types=list(fragment.result_types),
                properties={
                    "origin": fragment.origin,
                    "mesh_name": fragment.mesh_name,
                    "callee": SymbolRefAttr(name),
                },
                attributes={key: each for key, each in fragment.attributes.items() if key == REMAT},
            )
            replace_op(fragment, call)


def _groups(fragments: Sequence[FragmentOp]) -> list[list[FragmentOp]]:
    """Return the fragments that share a function, in order of first appearance."""
    groups: list[list[FragmentOp]] = []
    by_key: dict[Key, list[list[FragmentOp]]] = {}
    for fragment in fragments:
        similar = by_key.setdefault(_key(fragment), [])
        body = fragment.body
        group = next((each for each in similar if each[0].body.is_structurally_equivalent(body)), None)
        if group is None:
            group = list[FragmentOp]()
            similar.append(group)
            groups.append(group)
        group.append(fragment)
    return groups


def _key(fragment: FragmentOp) -> Key:
    """Return what is equal for fragments that share a function, besides their bodies."""
    shardings = (
        each.sharding if isinstance(each, MeshTensorType) else None
        for each in (*fragment.operand_types, *fragment.result_types)
    )
    attributes = (fragment.attributes.get(name) for name in (ARG_ATTRS, RES_ATTRS))
    ops = (op.name for op in fragment.block.ops)
    return fragment.mesh, *attributes, *fragment.block.arg_types, *shardings, *ops


def _reserved(group: Sequence[FragmentOp]) -> int | None:
    """Return the largest number of reserved bytes of some fragments; None if none has it."""
    found = (fragment.attributes.get(RESERVED_MEMORY) for fragment in group)
    return max((each.value.data for each in found if isinstance(each, IntegerAttr)), default=None)


def _add_function(module: ModuleOp, fragment: FragmentOp, name: str, reserved: int | None) -> None:
    """Append the function of a fragment to the module, with its body."""
    mesh = mesh_named(fragment, fragment.mesh)
    end = terminator_of(fragment.body)
    function_type = FunctionType.from_lists(fragment.block.arg_types, list(end.operand_types))
    body = fragment.body.clone()
    func = FuncOp(
        name,
        function_type,
        body,
        arg_attrs=_value_attributes(fragment, ARG_ATTRS, list(fragment.operand_types)),
        res_attrs=_value_attributes(fragment, RES_ATTRS, list(fragment.result_types)),
    )
    func.sym_visibility = None
    replace_op(terminator_of(body), ReturnOp(*terminator_of(body).operands))
    func.attributes[MESH_SHAPE] = MeshAttr(mesh)
    if reserved is not None:
        func.attributes[RESERVED_MEMORY] = IntegerAttr(reserved, i64)
    func.location = fragment.location
    module.body.block.add_op(func)
    renamed = [_rename_mesh(op, fragment.mesh) for op in ops_of(func, ManualComputationOp)]
    declared = [op.sym_name.data for op in module.ops if isinstance(op, MeshOp)]
    if any(renamed) and fragment.mesh not in declared:
        insert(MeshOp(fragment.mesh, mesh), InsertPoint.at_start(module.body.block), fragment.location)


def _value_attributes(fragment: FragmentOp, name: str, types: Sequence[Attribute]) -> ArrayAttr[DictionaryAttr] | None:
    """Return the attributes of the arguments or results of a function, with the shardings of the fragment's types."""
    entries = entries_of(fragment, name)
    for entry, value_type in zip(entries, types, strict=True):
        if isinstance(value_type, MeshTensorType) and value_type.sharding is not None:
            entry[SHARDING] = TensorShardingAttr(value_type.sharding)
    return ArrayAttr(map(DictionaryAttr, entries)) if any(entries) else None


def _rename_mesh(op: ManualComputationOp, mesh: str) -> bool:
    """Let the shardings of a manual computation refer to a mesh; return whether any referred to another."""
    changed = False
    for name in ("in_shardings", "out_shardings"):
        shardings = op.properties[name]
        assert isinstance(shardings, TensorShardingPerValueAttr)  # the op was verified
        if any(sharding.mesh != mesh for sharding in shardings.data):
            changed = True
            renamed = tuple(replace(sharding, mesh=mesh) for sharding in shardings.data)
            op.properties[name] = TensorShardingPerValueAttr(renamed)
    return changed


def _log(
    module: ModuleOp, names: dict[FragmentOp, str], module_name: str, findings: Findings, *, is_forward_only: bool
) -> None:
    """Emit a remark per mesh of the main function with the functions that it executes."""
    topology = topology_of(functions_of(module).get(MAIN))
    for mesh in () if topology is None else topology.data:
        lines = [f"Module {module_name} on mesh {mesh.name} will execute the following XLA programs:"]
        for fragment, name in names.items():
            if fragment.mesh == mesh.name:
                origins = ", ".join(_shown(each, is_forward_only=is_forward_only) for each in fragment.origins)
                parts = [f"\t- {name} from program with origins [{origins}]"]
                parts += [] if fragment.stage is None else [f"stage id {fragment.stage}"]
                parts += [] if (counter := fragment.call_counter) is None else [f"call counter {counter}"]
                lines.append(", ".join(parts) + ".")
        findings.warn(functions_of(module)[MAIN], "SDY-M308", "\n".join(lines), Severity.REMARK)


def _shown(origin: UserOrigin, *, is_forward_only: bool) -> str:
    word = direction_word(origin.transpose_count, other="TransposeCount={}")
    return origin.name if is_forward_only else f"{origin.name}({word})"
