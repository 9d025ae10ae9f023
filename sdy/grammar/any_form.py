"""The reader of texts in any form that the grammar allows. Importing it imports Lark.

Model values are built from syntax trees by one function per grammar rule. `write` is the inverse.
"""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.grammar._lark import ParseNode, parse_tree
from sdy.grammar.common_forms import Aliases, no_aliases
from sdy.grammar.errors import NotationError
from sdy.model.axis import AxisList, AxisRef, SubAxis, symbol_name, unquoted
from sdy.model.checks.check_edges import check_propagation_edges
from sdy.model.checks.check_mesh import check_mesh, check_mesh_axis
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.propagation_edges import AxisFlow, EdgeNode, EdgeNodeKind, PropagationEdges, PropagationStep
from sdy.model.rule import DimMapping, FactorIndex, OpShardingRule, TensorMapping, factor_symbol, parse_factor_symbols
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding

_INT64_MAX = 2**63 - 1


def error_at(token: Token, code: str, message: str, hint: str | None = None) -> NotationError:
    """Return an error that points at `token`."""
    start = token.start_pos or 0
    return NotationError(code, message, start, start + len(token), hint)


def _require_valid(problem: Diagnostic | None, node: ParseNode) -> None:
    if problem is not None:
        raise NotationError(problem.code, problem.message, *node.extent(), problem.hint)


def integer(node: ParseNode) -> int:
    """Build `int`: a decimal or hexadecimal number of 64 bits. Raises: NotationError SDY-P104 if it is too large."""
    number = node.token(1)
    magnitude = _magnitude(number)
    if magnitude is None or magnitude > (_INT64_MAX + 1 if node.has(0) else _INT64_MAX):
        raise error_at(number, "SDY-P104", f"integer {'-' if node.has(0) else ''}{number} does not fit in 64 bits")
    return -magnitude if node.has(0) else magnitude


def _magnitude(number: str) -> int | None:
    """Return the magnitude; None if the number is so long that Python might refuse to convert it."""
    base = 16 if number.startswith("0x") else 10
    digits = number.removeprefix("0x").lstrip("0")
    return int(digits or "0", base) if len(digits) <= len(str(_INT64_MAX)) else None


# Meshes, which are checked when they are built


def mesh(node: ParseNode, _: Aliases = no_aliases) -> Mesh:
    """Build `mesh`. Raises: NotationError if it is not valid."""
    axes = tuple(mesh_axis(child) for child in node.node(0).nodes())
    ids = tuple(integer(child) for child in node.node(1).nodes()) if node.has(1) else ()
    _require_valid(check_mesh(axes, ids), node)
    return Mesh(axes, ids)


def mesh_axis(node: ParseNode, _: Aliases = no_aliases) -> MeshAxis:
    """Build `mesh_axis`. Raises: NotationError if its size is not positive."""
    axis = MeshAxis(unquoted(node.token(0)), integer(node.node(1)))
    _require_valid(check_mesh_axis(axis), node)
    return axis


# Axes


def axis_ref(node: ParseNode, _: Aliases = no_aliases) -> AxisRef:
    """Build `axis_ref`."""
    return AxisRef(unquoted(node.token(0)), sub_axis(node.node(1)) if node.has(1) else None)


def sub_axis(node: ParseNode, _: Aliases = no_aliases) -> SubAxis:
    """Build `sub_axis`."""
    return SubAxis(integer(node.node(0)), integer(node.node(1)))


def axis_list(node: ParseNode, _: Aliases = no_aliases) -> AxisList:
    """Build `axis_list` and `axes`."""
    return tuple(axis_ref(child) for child in node.nodes())


def axes_per_dim(node: ParseNode, _: Aliases = no_aliases) -> AxesPerDim:
    """Build `axes_per_dim`."""
    return tuple(axis_list(child) for child in node.nodes())


def manual_axes(node: ParseNode, _: Aliases = no_aliases) -> tuple[str, ...]:
    """Build `manual_axes`."""
    return tuple(unquoted(token) for token in node.tokens())


# Shardings


def dim_sharding(node: ParseNode, _: Aliases = no_aliases) -> DimSharding:
    """Build `dim_sharding`."""
    is_closed = not any(token.type == "OPEN" for token in node.tokens())
    return DimSharding(
        tuple(axis_ref(child) for child in node.nodes()), is_closed, _priority(node.token(-1)) if node.has(-1) else None
    )


def _priority(token: Token) -> int:
    digits = token[1:]
    is_number = digits.isdigit() and (digits == "0" or digits[0] != "0")
    priority = _magnitude(digits) if token[0] == "p" and is_number else None
    if priority is None or priority > _INT64_MAX:
        hint = "write `p` and a number without leading zeros, such as `p1`"
        raise error_at(token, "SDY-P103", f"expected a priority, got `{token}`", hint)
    return priority


def tensor_sharding(node: ParseNode, aliases: Aliases = no_aliases) -> TensorSharding:
    """Build `tensor_sharding`."""
    first = node.children[0]
    on_mesh = symbol_name(first) if isinstance(first, Token) else _mesh_item(node.node(0), aliases)
    dims = tuple(dim_sharding(child) for child in node.node(1).nodes())
    replicated: AxisList | None = None
    unreduced: AxisList | None = None
    kind = ReductionKind.SUM
    for group in [child for child in node.nodes() if child.data == "axis_group"]:
        keyword, axes = group.token(0), axis_list(group.node(-1))
        if (replicated if keyword.type == "REPLICATED" else unreduced) is not None:
            raise error_at(keyword, "SDY-P105", f"{keyword} axes are listed twice")
        if keyword.type == "REPLICATED":
            replicated = axes
        else:
            unreduced = axes
            kind = _reduction_kind(group)
    return TensorSharding(on_mesh, dims, replicated or (), unreduced or (), kind)


def _reduction_kind(group: ParseNode) -> ReductionKind:
    kinds = [token for token in group.tokens() if token.type == "REDUCTION_KIND"]
    return ReductionKind(str(kinds[0])) if kinds else ReductionKind.SUM


def sharding_list(node: ParseNode, aliases: Aliases = no_aliases) -> tuple[TensorSharding, ...]:
    """Build `sharding_list`."""
    return tuple(_sharding_item(child, aliases) for child in node.nodes())


def sharding_per_value(node: ParseNode, aliases: Aliases = no_aliases) -> tuple[TensorSharding, ...]:
    """Build `sharding_per_value`."""
    return sharding_list(node.node(0), aliases)


def _sharding_item(node: ParseNode, aliases: Aliases) -> TensorSharding:
    if node.data == "sharding_alias":
        value = aliases(node.token(0)[1:])
        if not isinstance(value, TensorSharding):
            raise _bad_alias(node.token(0), "a sharding", value)
        return value
    return tensor_sharding(node.node(1) if node.data == "long" else node, aliases)


def _mesh_item(node: ParseNode, aliases: Aliases) -> Mesh:
    if node.data == "mesh_alias":
        value = aliases(node.token(0)[1:])
        if not isinstance(value, Mesh):
            raise _bad_alias(node.token(0), "a mesh", value)
        return value
    return mesh(node.node(1) if node.data == "long" else node)


def _bad_alias(alias: Token, expected: str, value: object) -> NotationError:
    if value is None:
        return error_at(alias, "SDY-P108", f"alias {alias} is not defined")
    return error_at(alias, "SDY-P108", f"expected alias {alias} to stand for {expected}")


# Collectives


def all_to_all_param(node: ParseNode, _: Aliases = no_aliases) -> AllToAllParam:
    """Build `all_to_all_param`."""
    *axes, source, target = node.nodes()
    return AllToAllParam(tuple(axis_ref(axis) for axis in axes), integer(source), integer(target))


def all_to_all_params(node: ParseNode, _: Aliases = no_aliases) -> tuple[AllToAllParam, ...]:
    """Build `all_to_all_params`."""
    return tuple(all_to_all_param(child) for child in node.nodes())


# Propagation edges


def propagation_edges(node: ParseNode, _: Aliases = no_aliases) -> PropagationEdges:
    """Build `propagation_edges`. Raises: NotationError if they are not valid."""
    edges = tuple(propagation_step(child) for child in node.nodes())
    _require_valid(check_propagation_edges(edges), node)
    return edges


def propagation_step(node: ParseNode, _: Aliases = no_aliases) -> PropagationStep:
    """Build `propagation_step`."""
    index, *flows = node.nodes()
    return PropagationStep(integer(index), tuple(axis_flow(flow) for flow in flows))


def axis_flow(node: ParseNode, _: Aliases = no_aliases) -> AxisFlow:
    """Build `axis_flow`."""
    axis, source, *targets = node.nodes()
    return AxisFlow(axis_ref(axis), _edge_node(source), tuple(_edge_node(target) for target in targets))


def _edge_node(node: ParseNode) -> EdgeNode:
    return EdgeNode(EdgeNodeKind(str(node.token(0))), integer(node.node(1)))


def op_sharding_rule(node: ParseNode, _: Aliases = no_aliases) -> OpShardingRule:
    """Build `op_sharding_rule`."""
    operands, results = (tuple(tensor_mapping(child) for child in node.node(index).nodes()) for index in (0, 1))
    sizes = _factor_sizes(node.node(2)) if node.has(2) else ()
    sets = node.node(3)
    reduction, need_replication, permutation, blocked = (
        _factor_set(sets.node(index)) if sets.has(index) else () for index in range(4)
    )
    return OpShardingRule(
        sizes, operands, results, reduction, need_replication, permutation, blocked, is_custom=node.has(4)
    )


def tensor_mapping(node: ParseNode, _: Aliases = no_aliases) -> TensorMapping:
    """Build `tensor_mapping`. The text may have a dim without factors; verification rejects it."""
    if node.tokens():
        return (_factors(node.token(0)),)
    return tuple(_factors(dim.token(0)) if dim.tokens() else () for dim in node.nodes())


def _factor_sizes(node: ParseNode) -> tuple[int, ...]:
    sizes: list[int] = []
    for child in node.nodes():
        symbols = child.token(0)
        if _factors(symbols) != (len(sizes),):
            expected = factor_symbol(len(sizes))
            raise error_at(symbols, "SDY-P107", f"expected the size of factor `{expected}`, got `{symbols}`")
        sizes.append(integer(child.node(1)))
    return tuple(sizes)


def _factor_set(node: ParseNode) -> tuple[FactorIndex, ...]:
    # If an entry has several symbols, only the first one counts, as in Shardy.
    return tuple(_factors(symbols)[0] for symbols in node.tokens())


def _factors(symbols: Token) -> DimMapping:
    factors = parse_factor_symbols(symbols)
    if factors is None:
        raise _not_factors(symbols)
    return tuple(FactorIndex(factor) for factor in factors)


def _not_factors(symbols: Token) -> NotationError:
    hint = "write factors as `i` to `z`, then `z_1`, `z_2` and so on"
    return error_at(symbols, "SDY-P106", f"expected factor symbols, got `{symbols}`", hint)


BUILDERS: dict[str, Callable[[ParseNode, Aliases], object]] = {
    builder.__name__: builder
    for builder in (
        mesh,
        mesh_axis,
        axis_ref,
        sub_axis,
        axis_list,
        axes_per_dim,
        manual_axes,
        dim_sharding,
        tensor_sharding,
        sharding_list,
        sharding_per_value,
        op_sharding_rule,
        tensor_mapping,
        all_to_all_param,
        all_to_all_params,
        propagation_edges,
        propagation_step,
        axis_flow,
    )
}


def read(rule: str, text: str, aliases: Aliases) -> object:
    """Return the value of a text that matches a grammar rule. Raises: NotationError if it does not."""
    return BUILDERS[rule](parse_tree(rule, text, tuple(BUILDERS)), aliases)
