"""Turn the annotations of XLA's partitioners into meshes and shardings of `sdy`.

    before  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[1,2]<=[2]}"} : ...
    after   sdy.mesh @mesh = <["_axis_0"=2]>    %0 = sdy.sharding_constraint %a <@mesh, [{}, {"_axis_0"}]> : ...

Read: `mhlo.sharding` and the frontend attributes `xla.sdy.*` of arguments, results and ops; the custom calls
`@Sharding`, whose groups (`shard_as 1`) are those of `sdy.sharding_group`, `@xla.sdy.ShardingGroup`,
`@xla.sdy.FuncResultSharding`, and the borders of manual computations. Of two annotations of one value, that of Shardy
is exact, and is the one that is read. An annotation that no mesh expresses stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, StringAttr, TupleType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from sdy.dialects.ir.symbols import MAIN, functions_of
from sdy.dialects.ir.walk import enclosing, ops_of, pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import (
    ManualAxesAttr,
    MeshAttr,
    OpShardingRuleAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from sdy.dialects.sdy.ops import MeshOp, ShardingConstraintOp, ShardingGroupOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.sdy.types import rank_of_type
from sdy.dialects.shardings import SHARDING, set_function_result_sharding
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.dialects.stablehlo.tokens import GetTupleElementOp, TupleOp
from sdy.model.devices.hlo_sharding import (
    HloSharding,
    Maximal,
    Tiled,
    Untiled,
    common_mesh_of_hlo,
    manual_axes_of_hlo,
    sharding_of_hlo,
)
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed, fully_open
from sdy.passes.import_.hlo_annotations import (
    Attributes,
    hlo_shardings,
    shardy_attribute,
    without_annotations,
    without_shard_group,
)
from sdy.passes.import_.import_manual_computations import (
    ENTRIES,
    Borders,
    import_manual_computations,
    is_sharding_call,
)
from sdy.passes.rewriting.call_graph import UniqueNames
from sdy.passes.rewriting.insertion import erase, insert_before, replace_by, replace_op
from sdy.passes.rewriting.op_order import forget_order

_UNSPECIFIED = re.compile(r"unspecified_dims=\[([\d, ]*)\]")
_RULE = "sdy.sharding_rule"
_PER_VALUE = ("arg_attrs", "res_attrs")  # the properties of a function with the attributes of arguments and results


class ImportHloShardingsPass(ModulePass):
    """Turn annotations of XLA, such as `mhlo.sharding` and `@Sharding`, into meshes and shardings of sdy."""

    name = "sdy-import-hlo-shardings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Define the meshes, then convert manual computations, functions and ops."""
        import_hlo_shardings(op)


def import_hlo_shardings(module: ModuleOp) -> None:
    """Express the annotations of XLA in a module by meshes and shardings; those that cannot be expressed stay."""
    forget_order(module)
    _remove_tuples(module)
    _Import(module).run()


def _remove_tuples(module: ModuleOp) -> None:
    """Replace elements of tuples by values, and calls that return a tuple, as in HLO, by calls with several results."""
    main = functions_of(module).get(MAIN)
    if main is not None:
        _return_elements(main)
    for element in ops_of(module, GetTupleElementOp):
        owner = element.operand.owner
        if isinstance(owner, TupleOp):
            replace_by(element, owner.operands[element.index.value.data])
    for made in reversed([*ops_of(module, TupleOp)]):
        if made.results[0].first_use is None:
            erase(made)
    for call in ops_of(module, CustomCallOp):
        kind = call.results[0].type if len(call.results) == 1 else None
        if isinstance(kind, TupleType):
            uses = [use.operation for use in call.results[0].uses]
            elements = [each for each in uses if isinstance(each, GetTupleElementOp)]
            if len(elements) < len(uses):
                continue
            types, stated = kind.types.data, call.attributes
            new = CustomCallOp.create(
                operands=call.operands, result_types=types, properties=call.properties, attributes=stated
            )
            insert_before(call, new)
            for each in elements:
                replace_by(each, new.results[each.index.value.data])
            erase(call)


def _return_elements(main: FuncOp) -> None:
    """Let a function that returns one tuple, as front ends of HLO write it, return its elements."""
    for end in ops_of(main, ReturnOp):
        owner = end.operands[0].owner if len(end.operands) == 1 else None
        if isinstance(owner, TupleOp) and (main.res_attrs is None or len(owner.operands) == 1):
            end.operands = owner.operands
            types = [each.type for each in owner.operands]
            main.properties["function_type"] = FunctionType.from_lists(main.function_type.inputs.data, types)


class _Import:
    """The meshes of a module, on which its annotations are expressed."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._define_meshes_of_shardy()
        self._name, self._mesh = self._mesh_of_tiles()

    def run(self) -> None:
        """Convert all annotations that can be read."""
        import_manual_computations(self._module, self._borders)
        main = functions_of(self._module).get(MAIN)
        for func in ops_of(self._module, FuncOp):
            self._convert_function(func, in_manual=func is not main)
        for op in pre_order(self._module):
            if op.attributes and not isinstance(op, ModuleOp | FuncOp):
                self._convert_op(op)

    def _define_meshes_of_shardy(self) -> None:
        found = shardy_attribute(self._module.attributes, "meshes")
        if isinstance(found, DictionaryAttr):
            known = meshes_of(self._module)
            for name, mesh in found.data.items():
                if isinstance(mesh, MeshAttr) and name not in known:
                    self._define(name, mesh.data)
            self._module.attributes = without_annotations(self._module.attributes, "meshes")

    def _define(self, name: str, mesh: Mesh) -> None:
        op = MeshOp(name, mesh)
        op.location = self._module.location
        self._module.body.block.insert_op_before(op, next(iter(self._module.ops)))

    def _mesh_of_tiles(self) -> tuple[str, Mesh]:
        """Return the mesh on which HLO shardings are expressed: one of the module, or a new one for all of them."""
        tiled: list[Tiled] = []
        is_annotated = False
        for attributes in self._all_attributes():
            found = hlo_shardings(without_shard_group(attributes)[0])
            is_annotated |= bool(found)
            tiled += [hlo for hlo in found if isinstance(hlo, Tiled)]
        number = self._module.attributes.get("mhlo.num_partitions")
        count = number.value.data if isinstance(number, IntegerAttr) else 1
        count = count if count > 1 else max((len(hlo.devices) for hlo in tiled), default=1)
        meshes = meshes_of(self._module)
        if not is_annotated or count == 1:
            return next(iter(meshes.items()), ("", Mesh(())))
        for name, mesh in meshes.items():
            if mesh.device_count == count:
                return name, mesh
        name, mesh = UniqueNames(self._module).new("mesh"), common_mesh_of_hlo(tiled, count)
        self._define(name, mesh)
        return name, mesh

    def _all_attributes(self) -> Iterator[Attributes]:
        for op in pre_order(self._module):
            if op.attributes:
                yield op.attributes
            if isinstance(op, FuncOp):
                for values in (op.arg_attrs, op.res_attrs):
                    yield from (each.data for each in values or ())

    # Shardings

    def _shardings(
        self, attributes: Attributes, types: Sequence[Attribute], *, in_manual: bool
    ) -> tuple[TensorSharding, ...] | None:
        """Return the sharding of each value with one of these types; None without one, or if no axes express it."""
        exact = shardy_attribute(attributes, "sharding")
        if isinstance(exact, TensorShardingAttr):
            return (exact.data,) if len(types) == 1 else None
        if isinstance(exact, TensorShardingPerValueAttr):
            return exact.data if len(types) == len(exact.data) else None
        if isinstance(exact, StringAttr):  # malformed
            return None
        written = hlo_shardings(attributes)
        if len(written) == 1:
            written *= len(types)
        is_given = any(hlo is not Untiled.UNKNOWN for hlo in written)
        if not types or len(written) != len(types) or not self._mesh.axes or not is_given:
            return None
        found = [self._sharding(hlo, each, in_manual) for hlo, each in zip(written, types, strict=True)]
        known = [self._with_open_dims(sharding, attributes) for sharding in found if sharding is not None]
        return tuple(known) if len(known) == len(types) else None

    def _sharding(self, hlo: HloSharding, value_type: Attribute, in_manual: bool) -> TensorSharding | None:
        rank = rank_of_type(value_type)
        if hlo is Untiled.UNKNOWN:
            return fully_open(self._name, rank)
        if isinstance(hlo, Maximal):
            return None
        found = sharding_of_hlo(hlo, self._mesh, rank, in_manual=in_manual)
        return None if found is None else replace(found, mesh=self._name)

    def _with_open_dims(self, sharding: TensorSharding, attributes: Attributes) -> TensorSharding:
        """Return the sharding with the dims open that the configuration of a `@Sharding` lists."""
        config = attributes.get("backend_config")
        match = _UNSPECIFIED.search(config.data) if isinstance(config, StringAttr) else None
        opened = {int(dim) for dim in match[1].split(",") if dim.strip()} if match else set[int]()
        dims = (
            replace(dim, is_closed=dim.is_closed and index not in opened) for index, dim in enumerate(sharding.dims)
        )
        return replace(sharding, dims=tuple(dims))

    def _borders(self, call: CustomCallOp) -> Borders | None:
        """Return the shardings of the global values at one side of a manual computation, and its manual axes."""
        attributes = _attributes(call)
        is_entry = call.call_target_name.data in ENTRIES
        exact = shardy_attribute(attributes, "in_shardings" if is_entry else "out_shardings")
        axes = shardy_attribute(attributes, "manual_axes")
        if isinstance(exact, TensorShardingPerValueAttr) and isinstance(axes, ManualAxesAttr):
            return Borders(exact.data, axes.data)
        if isinstance(exact, StringAttr) or isinstance(axes, StringAttr):  # malformed
            return None
        if len(call.operands) != 1 or not is_sharding_call(source := call.operands[0].owner):
            return None
        # At an entry, the sharding of the global value is on the call before, and the manual axes are on the entry.
        outside, inside = _attributes(source), attributes
        if not is_entry:
            outside, inside = inside, outside
        written = hlo_shardings(inside), hlo_shardings(outside)
        manual, around = (manual_axes_of_hlo(each[0], self._mesh) if len(each) == 1 else None for each in written)
        value = (call.operands if is_entry else call.results)[0]
        found = self._shardings(outside, [value.type], in_manual=_is_in_manual(call))
        if found is None or manual is None:
            return None
        return Borders(found, tuple(axis for axis in manual if axis not in (around or ())))

    # Functions and ops

    def _convert_function(self, func: FuncOp, *, in_manual: bool) -> None:
        types = (func.function_type.inputs.data, func.function_type.outputs.data)
        for name, attrs, value_types in zip(_PER_VALUE, (func.arg_attrs, func.res_attrs), types, strict=True):
            if attrs is not None:
                entries = zip(attrs, value_types, strict=True)
                func.properties[name] = ArrayAttr([self._converted(*each, in_manual) for each in entries])

    def _converted(self, entry: DictionaryAttr, value_type: Attribute, in_manual: bool) -> DictionaryAttr:
        found = self._shardings(entry.data, [value_type], in_manual=in_manual)
        if found is None or SHARDING in entry.data:
            is_kept = not _says_nothing(entry.data, in_manual=in_manual)
            return entry if is_kept else DictionaryAttr(without_annotations(entry.data))
        return DictionaryAttr({**without_annotations(entry.data, "sharding"), SHARDING: TensorShardingAttr(found[0])})

    def _convert_op(self, op: Operation) -> None:
        attributes = _attributes(op)
        types = [result.type for result in op.results]
        in_manual = _is_in_manual(op)
        found = self._shardings(attributes, types, in_manual=in_manual)
        if isinstance(op, CustomCallOp) and op.call_target_name.data in (_CONSTRAINT, _RESULT):
            attributes, group = without_shard_group(attributes)
            if group is not None and op.next_op is not None:
                found = self._shardings(attributes, types, in_manual=in_manual)
                insert_before(op.next_op, ShardingGroupOp(op.results[0], group))
            if found is not None and len(op.operands) == 1:
                self._convert_constraint(op, found[0])
            elif _says_nothing(attributes, in_manual=in_manual):
                replace_by(op, op.operands[0])
            return
        if isinstance(op, CustomCallOp) and op.call_target_name.data == _GROUP and not types:
            self._convert_group(op)
            return
        if isinstance(op, CustomCallOp) and found is None:
            found = _on_one_device(attributes)
        if found is not None and SHARDING not in op.attributes:
            op.attributes = without_annotations(op.attributes, "sharding")
            op.attributes[SHARDING] = TensorShardingPerValueAttr(found)
        elif _says_nothing(attributes, in_manual=in_manual):
            op.attributes = without_annotations(op.attributes)
        self._convert_rule(op)

    def _convert_group(self, op: CustomCallOp) -> None:
        group = shardy_attribute(op.attributes, "sharding_group_id")
        if isinstance(group, IntegerAttr) and len(op.operands) == 1:
            replace_op(op, ShardingGroupOp(op.operands[0], group.value.data))

    def _convert_rule(self, op: Operation) -> None:
        rule = shardy_attribute(op.attributes, "sharding_rule")
        if isinstance(rule, OpShardingRuleAttr):
            op.attributes = {**without_annotations(op.attributes, "sharding_rule"), _RULE: rule}

    def _convert_constraint(self, op: CustomCallOp, sharding: TensorSharding) -> None:
        returned = [use for use in op.results[0].uses if isinstance(use.operation, ReturnOp)]
        if op.call_target_name.data == _RESULT and returned:
            for use in returned:
                func = use.operation.parent_op()
                if isinstance(func, FuncOp):
                    set_function_result_sharding(func, use.index, sharding)
            replace_by(op, op.operands[0])
        else:
            replace_op(op, ShardingConstraintOp(op.operands[0], sharding))


_CONSTRAINT, _RESULT, _GROUP = "Sharding", "xla.sdy.FuncResultSharding", "xla.sdy.ShardingGroup"


def _attributes(op: object) -> Attributes:
    """Return the attributes and properties of an op."""
    return {**op.attributes, **op.properties} if isinstance(op, Operation) else {}


def _is_in_manual(op: Operation) -> bool:
    """Return whether an op is in a manual computation, or in another function than the main one."""
    func = enclosing(op, FuncOp)
    return enclosing(op, ManualComputationOp) is not None or (func is not None and func.sym_name.data != MAIN)


def _on_one_device(attributes: Attributes) -> tuple[TensorSharding, ...] | None:
    """Return the sharding of a call that runs on one device, as JAX writes it for callbacks; None for other calls."""
    found = hlo_shardings(attributes)
    first = found[0] if len(found) == 1 else None
    return (fully_closed(Mesh((), (first.device,)), 0),) if isinstance(first, Maximal) else None


def _says_nothing(attributes: Attributes, *, in_manual: bool = False) -> bool:
    """Return whether an HLO sharding leaves nothing to express.

    That is, it leaves the choice to the partitioner, is of a program for one device, or is of a shard of a manual
    computation over all axes.
    """
    ignorable = (Untiled.UNKNOWN, Untiled.REPLICATED, *([Untiled.MANUAL] if in_manual else ()))
    found = hlo_shardings(attributes)
    return bool(found) and all(hlo in ignorable for hlo in found)
