"""Writers from model values to the canonical text, byte for byte as Shardy prints it. The inverse of `build`.

Meshes, axes, and shardings of dims are written by `str`.

Source: docs/spec/01, 1.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sdy.model.axis import AxisRef, quoted
from sdy.model.collective import AllToAllParam, AxesPerDim
from sdy.model.propagation_edges import AxisFlow, PropagationEdges, PropagationStep
from sdy.model.rule import DimMapping, FactorIndex, OpShardingRule, TensorMapping, factor_symbol
from sdy.model.sharding import TensorSharding


def write_axis_list(axes: Iterable[AxisRef]) -> str:
    """Write `{"x", "y":(1)2}`."""
    return f"{{{_joined(map(str, axes))}}}"


def write_axes_per_dim(axes: AxesPerDim) -> str:
    """Write `[{"x"}, {}]`."""
    return f"[{_joined(map(write_axis_list, axes))}]"


def write_manual_axes(axes: Iterable[str]) -> str:
    """Write `{"x", "y"}`."""
    return f"{{{_joined(map(quoted, axes))}}}"


@lru_cache(maxsize=65536)
def write_sharding(sharding: TensorSharding) -> str:
    """Write `<@mesh, [{"x", ?}, {}], replicated={"y"}, unreduced=max{"z"}>`."""
    return str(sharding)


def write_sharding_list(shardings: Iterable[TensorSharding]) -> str:
    """Write `[<@mesh, [{}]>, <@mesh, [{?}]>]`."""
    return f"[{_joined(map(write_sharding, shardings))}]"


def write_sharding_per_value(shardings: Iterable[TensorSharding]) -> str:
    """Write `<[<@mesh, [{}]>, <@mesh, [{?}]>]>`."""
    return f"<{write_sharding_list(shardings)}>"


@lru_cache(maxsize=65536)
def write_rule(rule: OpShardingRule) -> str:
    """Write `<([i, k], [k, j])->([i, j]) {i=2, j=4, k=8} reduction={k}, custom>`."""
    parts = [f"({_mappings(rule.operands)})->({_mappings(rule.results)})"]
    if rule.factor_sizes:
        sizes = (f"{factor_symbol(factor)}={size}" for factor, size in enumerate(rule.factor_sizes))
        parts.append(f"{{{_joined(sizes)}}}")
    parts += _factor_set("reduction", rule.reduction)
    parts += _factor_set("need_replication", rule.need_replication)
    parts += _factor_set("permutation", rule.permutation)
    parts += _factor_set("blocked_propagation", rule.blocked)
    return f"<{' '.join(parts)}{', custom' if rule.is_custom else ''}>"


def write_tensor_mapping(mapping: TensorMapping) -> str:
    """Write `[i, jk]`."""
    return f"[{_joined(map(write_dim_mapping, mapping))}]"


def write_dim_mapping(dim: DimMapping) -> str:
    """Write `jk`. A dim without factors is invalid; it is written as Shardy prints it, and does not parse."""
    return "".join(map(factor_symbol, dim)) if dim else "#sdy.dim_mapping"


def _mappings(mappings: Iterable[TensorMapping]) -> str:
    return _joined(map(write_tensor_mapping, mappings))


def _factor_set(name: str, factors: Iterable[FactorIndex]) -> list[str]:
    symbols = _joined(map(factor_symbol, factors))
    return [f"{name}={{{symbols}}}"] if symbols else []


def write_all_to_all_param(param: AllToAllParam) -> str:
    """Write `{"x"}: 0->1`."""
    return f"{write_axis_list(param.axes)}: {param.source}->{param.target}"


def write_all_to_all_params(params: Iterable[AllToAllParam]) -> str:
    """Write `[{"x"}: 0->1, {"y"}: 2->3]`."""
    return f"[{_joined(map(write_all_to_all_param, params))}]"


def write_propagation_edges(edges: PropagationEdges) -> str:
    """Write `<[{step-0 = [{"x" = operand-0 -> [result-0]}]}]>`."""
    return f"<[{_joined(map(write_propagation_step, edges))}]>"


def write_propagation_step(step: PropagationStep) -> str:
    """Write `{step-0 = [{"x" = operand-0 -> [result-0]}]}`."""
    return f"{{step-{step.index} = [{_joined(map(write_axis_flow, step.flows))}]}}"


def write_axis_flow(flow: AxisFlow) -> str:
    """Write `{"x" = operand-0 -> [result-0]}`."""
    return f"{{{flow.axis} = {flow.source} -> [{_joined(map(str, flow.targets))}]}}"


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts)
