"""Choose the annotations with which propagation gives a program its planned shardings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.advice.edits import Edit, edited
from sdy.compile.options import CompileOptions
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import make_context
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import argument_sharding, function_result_sharding, sharding_of
from sdy.model.axis import AxisList
from sdy.model.mesh_digits import NumberedDigits
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed
from sdy.partitioner.layout_search.layout import Layout
from sdy.passes.export.layers.fold_layers import has_folded_layers
from sdy.passes.run import run_passes
from sdy.report.explanation.counterparts import Counterparts
from sdy.search.layout_choices import keeps
from sdy.search.planned_shardings import PlannedShardings

MAX_ROUNDS = 12


def boundary_edits(
    module: ModuleOp, planned: PlannedShardings, digits: NumberedDigits, *, with_results: bool = True
) -> list[Edit]:
    """Return the planned annotations of the arguments, and of the results, of the main function.

    There is none where the plan would break an annotation of the user: a plan cannot have uneven shards, for example.
    """
    main, count = main_function(module), len(planned.results) if with_results else 0
    arguments = main.body.block.args
    targets = (*arguments, *range(count))
    shardings = (*planned.arguments, *planned.results[:count])
    own = (
        *(argument_sharding(main, each.index) for each in arguments),
        *(function_result_sharding(main, index) for index in range(count)),
    )
    return [
        Edit(target, sharding)
        for target, sharding, annotation in zip(targets, shardings, own, strict=True)
        if sharding is not None and (annotation is None or keeps(annotation, digits, _layout_of(sharding, digits)))
    ]


def for_jit(module: ModuleOp, edits: Sequence[Edit], state: Mapping[int, int], mesh_name: str) -> Sequence[Edit]:
    """Return edits that leave no sharding of an argument to XLA, nor of a result of `state`, the next value of one.

    An argument without a sharding is replicated.
    """
    main, by_target = main_function(module), {edit.target: edit for edit in edits}
    shardings: list[TensorSharding] = []
    for argument in main.body.block.args:
        own = argument_sharding(main, argument.index)
        if own is None:
            closed = fully_closed(mesh_name, len(static_shape(argument.type) or ()))
            own = by_target.setdefault(argument, Edit(argument, closed)).sharding
        shardings.append(own)
    returned = {result: Edit(result, shardings[argument]) for result, argument in state.items()}
    return list((by_target | returned).values())


def _layout_of(sharding: TensorSharding, digits: NumberedDigits) -> Layout:
    """Return a planned sharding, whose axes are digits, as a layout."""
    return Layout(tuple(digits.split(dim.axes) or () for dim in sharding.dims))


def with_constraints(
    module: ModuleOp,
    planned: PlannedShardings,
    start: Sequence[Edit],
    options: CompileOptions,
    rounds: int = MAX_ROUNDS,
) -> list[Edit]:
    """Return edits with sharding constraints for values to which propagation gives other shardings than planned.

    In each round, the values with another sharding that do not depend on other such values get a constraint, together
    with those that are equal to them in other layers. Then the shardings are propagated again.
    """
    edits = list(start)
    constrained = {edit.target for edit in start if isinstance(edit.target, SSAValue)}
    for _ in range(rounds):
        wrong = _other_than_planned(module, planned, edits, options)
        first = [value for value in wrong if value not in constrained and not _operands(value) & wrong.keys()]
        if not first:
            break
        kinds = {_kind(value, planned, wrong) for value in first}
        chosen = [value for value in wrong if _kind(value, planned, wrong) in kinds and value not in constrained]
        edits += [Edit(value, planned.inside[value], keeps_annotation=True) for value in chosen]
        constrained.update(chosen)
    return edits


def share_as_planned(
    module: ModuleOp, planned: PlannedShardings, edits: Sequence[Edit], options: CompileOptions
) -> float:
    """Return the share of the values inside the program to which propagation gives the planned shardings."""
    count = sum(static_shape(value.type) is not None for value in planned.inside)
    return 1 - len(_other_than_planned(module, planned, edits, options)) / max(1, count)


@garbage_collection_paused()
def _other_than_planned(
    module: ModuleOp, planned: PlannedShardings, edits: Sequence[Edit], options: CompileOptions
) -> dict[SSAValue, TensorSharding | None]:
    """Return the values to which propagation gives another sharding than planned, in program order."""
    copy, _ = edited(module, edits)
    once_per_function = has_folded_layers(module)
    passes = options.propagates(dedup_functions_fully=once_per_function)
    run_passes(make_context(), copy, passes, verify_each=False)
    found: dict[SSAValue, TensorSharding | None] = {}
    counterparts = Counterparts(module, copy)
    for value, sharding in planned.inside.items():
        propagated = [sharding_of(each) for each in counterparts.transformed(value)]
        different = [each for each in propagated if _axes(each) != _axes(sharding)]
        if static_shape(value.type) and different:
            found[value] = different[0]
    return found


def _axes(sharding: TensorSharding | None) -> tuple[AxisList, ...]:
    """Return the axes per dim; nothing for a replicated tensor."""
    axes = () if sharding is None else tuple(dim.axes for dim in sharding.dims)
    return axes if any(axes) else ()


def _operands(value: SSAValue) -> set[SSAValue]:
    return set(value.owner.operands) if isinstance(value.owner, Operation) else set()


def _kind(value: SSAValue, planned: PlannedShardings, wrong: Mapping[SSAValue, TensorSharding | None]) -> Hashable:
    """Return a key that is equal for values that are likely to be the same value in different layers."""
    types = tuple(operand.type for operand in value.owner.operands) if isinstance(value.owner, Operation) else ()
    return type(value.owner), value.type, types, planned.inside[value], wrong[value]
