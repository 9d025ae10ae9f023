"""Checks of compiled programs: merged fragments, scheduling units, transfers, reshards, backward dependencies.

Source: docs/spec/07, 6.13 and 6.20; docs/spec/08, 4.9, 4.11, 4.14 and 4.15.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import NameLoc, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from sdy.dialects.ir.walk import ops_of
from sdy.grammar.write import write_sharding
from sdy.mpmd.dialect.attrs import comes_before
from sdy.mpmd.dialect.functions import callee_of, is_mpmd
from sdy.mpmd.dialect.ops import FragmentCallOp, TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.types import is_inter_mesh, mesh_type
from sdy.mpmd.dialect.value_attributes import RES_ATTRS, get
from sdy.mpmd.passes.sharding.extract_reshards import MADE_BY as EXTRACT_RESHARDS
from sdy.mpmd.passes.tools.fragments import (
    REMAT,
    inferring_passes,
    schedulable_meshes,
    scheduling_units,
    single_count,
    split_type,
)
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.mpmd.passes.tools.uses import distinct


class VerifyStageMergingPass(FunctionPass):
    """Check that each stage has one fragment per mesh, direction, microbatch and part."""

    name = "mpmd-verify-stage-merging"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Report each fragment that equals an earlier one. An absent call counter is equal to any."""
        seen: dict[tuple[object, ...], list[int | None]] = {}
        for fragment in ops_of(func, FragmentOp):
            if fragment.stage is None:
                continue
            is_remat = REMAT in fragment.attributes
            count = single_count(fragment)
            if count is None and is_remat:
                count = max((origin.transpose_count for origin in fragment.origins), default=None)
            counters = seen.setdefault((fragment.mesh, fragment.stage, count, split_type(fragment), is_remat), [])
            counter = fragment.call_counter
            if any(None in (counter, earlier) or counter == earlier for earlier in counters):
                origins = ", ".join(map(str, fragment.origins))
                microbatch = "" if counter is None else f", call counter {counter}"
                message = (
                    f"stage {fragment.stage} of mesh {fragment.mesh} already has a fragment with the same transpose "
                    f"count {count}{microbatch}; this one has the origins {origins}"
                )
                findings.error(fragment, "SDY-M103", message, "connect the computations of a stage, so that they merge")
            else:
                counters.append(counter)


class SchedulingUnitsVerifierPass(FunctionPass):
    """Warn where the number of forward or backward units of a mesh is not the number of microbatches."""

    name = "mpmd-scheduling-units-verifier"
    ON = is_mpmd

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Count the units of each mesh."""
        counters = [each.call_counter for each in ops_of(func, FragmentOp)]
        count = max((each for each in counters if each is not None), default=0) + (0 in counters)
        if not count:
            return
        units = scheduling_units(func).values()
        for mesh in schedulable_meshes(func):
            for direction, is_backward in (("forward", False), ("backward", True)):
                actual = sum(unit.mesh == mesh and unit.is_backward is is_backward for unit in units)
                if actual != count:
                    message = f"mesh {mesh} must have {count} {direction} scheduling units, one per microbatch"
                    findings.warn(func, "SDY-M104", f"{message}, got {actual}")


# Fragments of these passes may be left: they do what no computation of the user contains.
_MAY_BE_LEFT = frozenset(
    (
        "uniquify",
        "infer_mesh_wrap_meshless_ops",
        EXTRACT_RESHARDS,
        "infer_mesh_wrap_resultless_ops",
        "infer_mesh_convert_reduce_ops",
        "introduce_transfers",
    )
)


def name_of(value: SSAValue | Operation, findings: Findings) -> str:
    """Return the name that the program gives as location of a value or an op; empty if it gives none."""
    location: Attribute | None = None
    op = value.op if isinstance(value, OpResult) else value
    if findings.locations is not None and isinstance(op, BlockArgument):
        location = findings.locations.of_argument(op)
    elif findings.locations is not None and isinstance(op, Operation):
        location = findings.locations.of_op(op)
    return location.desc.data if isinstance(location, NameLoc) else ""


@dataclass(frozen=True)
class ValidateNoParamTransfersPass(FunctionPass):
    """Report transfers between meshes of values whose names say that they are parameters.

    Names are the locations of the text, `loc("params['w']")`: without `SdyContext.locations` no value has one.
    """

    name = "mpmd-validate-no-param-transfers"
    ON = is_mpmd

    fail_on_param_transfers: bool = False
    param_pattern: str = "params['transformer"

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Compare the names of each transfer and of its operand with the pattern, which they may contain anywhere."""
        for transfer in ops_of(func, TransferOp):
            source, target = transfer.source_type, transfer.target_type
            names = distinct(name_of(each, findings) for each in (transfer.tensor, transfer))
            found = [name for name in names if self.param_pattern in name]
            if found and is_inter_mesh(source, target):
                message = (
                    f"a parameter is transferred from mesh {source.mesh} to {target.mesh}: {', '.join(found)} "
                    f"contains {self.param_pattern}"
                )
                findings.report(transfer, "SDY-M305", message, fails=self.fail_on_param_transfers)


@dataclass(frozen=True)
class ValidateNoInferredFragmentsPass(FunctionPass):
    """Report fragments that the compiler made and that were not merged with the user's."""

    name = "mpmd-validate-no-inferred-fragments"

    fail_on_inferred_fragments: bool = True

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Report each; those of passes that make what no computation contains only by a warning."""
        for fragment in ops_of(func, FragmentOp):
            if fragment.is_user_fragment:
                continue
            producers = inferring_passes(fragment)
            if not producers:
                findings.error(fragment, "SDY-M306", "an inferred fragment does not say which pass made it")
                continue
            message = f"an inferred fragment, made by {', '.join(producers)}, was not merged with a computation"
            is_allowed = not _MAY_BE_LEFT.isdisjoint(producers)
            fails = self.fail_on_inferred_fragments and not is_allowed
            findings.report(fragment, "SDY-M306", message, fails=fails)


@dataclass(frozen=True)
class ValidateNoReshardsPass(FunctionPass):
    """Report fragments that only change the sharding of values."""

    name = "mpmd-validate-no-reshards"

    fail_on_reshard_only_fragments: bool = False

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Report each call of a function that only returns arguments."""
        for call in ops_of(func, FragmentCallOp):
            end = callee_of(call, call.callee_name).body.block.first_op
            if not isinstance(end, ReturnOp):
                continue
            if call.origins:
                message = f"@{call.callee_name} only returns arguments, but comes from a named computation"
                findings.error(call, "SDY-M307", message)
                continue
            operands = ", ".join(f"{_shown(each)} {name_of(each, findings)}".rstrip() for each in call.operands)
            results = ", ".join(f"{_shown(each)} {_names_of_result(func, each)}".rstrip() for each in call.results)
            message = f"@{call.callee_name} only reshards values: {operands} to {results}"
            findings.report(call, "SDY-M307", message, fails=self.fail_on_reshard_only_fragments)


def _shown(value: SSAValue) -> str:
    value_type = mesh_type(value.type)
    sharding = "replicated" if value_type.sharding is None else write_sharding(value_type.sharding)
    return f"{value_type.tensor} {sharding}"


def _names_of_result(func: FuncOp, value: SSAValue) -> str:
    returned = [use.index for use in value.uses if isinstance(use.operation, ReturnOp)]
    infos = (get(func, RES_ATTRS, index, "jax.result_info") for index in returned)
    return " ".join(info.data for info in infos if isinstance(info, StringAttr))


@dataclass(frozen=True)
class ValidateNoBackwardDepsPass(FunctionPass):
    """Report, in a program with forward fragments only, values that flow from a later mesh to an earlier one."""

    name = "mpmd-validate-no-backward-deps"
    ON = is_mpmd

    fail_on_backward_deps: bool = False

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Report each; with the option, a program with other than forward fragments is an error, too."""
        calls = ops_of(func, FragmentCallOp)
        if any(origin.transpose_count for call in calls for origin in call.origins):
            if self.fail_on_backward_deps:
                message = "expected a program with forward fragments only, but some are not"
                findings.error(func, "SDY-M309", message)
            return
        for call in calls:
            for operand in call.operands:
                producer = _producer_of(operand)
                if producer is None or producer.mesh == call.mesh or comes_before(producer.mesh, call.mesh):
                    continue
                message = (
                    f"@{producer.callee_name} on mesh {producer.mesh} makes a value that @{call.callee_name} uses on "
                    f"the earlier mesh {call.mesh}"
                )
                findings.report(call, "SDY-M309", message, fails=self.fail_on_backward_deps)


def _producer_of(value: SSAValue) -> FragmentCallOp | None:
    while isinstance(value.owner, TransferOp):
        value = value.owner.tensor
    return value.owner if isinstance(value.owner, FragmentCallOp) else None
