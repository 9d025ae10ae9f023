"""Turn fragments into functions, one for all that compute the same. Source: docs/spec/08, 4.13.

before  %1 = mpmd.fragment<mesh="m", origin=["f"]> (%0) (%x: T) { abs %x } : (M) -> M
after   %1 = mpmd.fragment_call<mesh="m", origin=["f"]> @p0_f.main(%0) : (M) -> M
        func.func @p0_f.main(%x: T) -> T attributes {mesh_shape = ...} { abs %x }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, SymbolRefAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

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
from sdy.mpmd.passes.export.fragment_names import direction_word, function_name
from sdy.mpmd.passes.tools.fragment_facts import REMAT
from sdy.mpmd.passes.tools.frame import Findings
from sdy.mpmd.passes.tools.uses import move_to_start
from sdy.passes.rewriting.insertion import replace_op

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
        declaration = MeshOp(fragment.mesh, mesh)
        declaration.location = fragment.location
        module.body.block.add_op(declaration)
        move_to_start(declaration, module.body.block)


def _value_attributes(fragment: FragmentOp, name: str, types: Sequence[Attribute]) -> ArrayAttr[DictionaryAttr] | None:
    """Return the attributes of the arguments or results of a function, with the shardings of the fragment's types."""
    entries = entries_of(fragment, name, len(types))
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
