"""Parsers from the sharding notation to model values: the public interface of the grammar.

Results are cached by text, since programs repeat few shardings many times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from sdy.diagnostics.user_code import require_type
from sdy.grammar import common_forms
from sdy.grammar.common_forms import Aliases, no_aliases
from sdy.grammar.errors import NotationError, SourceText

if TYPE_CHECKING:
    from sdy.model.axis import AxisList, AxisRef, SubAxis
    from sdy.model.collective import AllToAllParam, AxesPerDim
    from sdy.model.mesh import Mesh, MeshAxis
    from sdy.model.propagation_edges import AxisFlow, PropagationEdges, PropagationStep
    from sdy.model.rule import OpShardingRule, TensorMapping
    from sdy.model.sharding import DimSharding, TensorSharding

T_co = TypeVar("T_co", covariant=True)


class Notation(Generic[T_co]):
    """One kind of text: the grammar rule that it matches, and perhaps a reader of its common form.

    The reader returns None for other forms.
    """

    def __init__(self, rule: str, common_form: Callable[[str], T_co | None] | None = None) -> None:
        self.rule = rule
        self._common_form = common_form

    def read(self, text: str, aliases: Aliases = no_aliases) -> T_co:
        """Return the value of `text`. Raises: NotationError if it does not match the rule."""
        if "#" in text:  # it may refer to an alias, which is defined elsewhere
            return self._read_any_form(text, aliases)
        return self._read_once(text)

    @lru_cache(maxsize=65536)  # noqa: B019 - notations are constants of this module, alive as long as their texts
    def _read_once(self, text: str) -> T_co:
        value = None if self._common_form is None else self._common_form(text)
        return self._read_any_form(text, no_aliases) if value is None else value

    def _read_any_form(self, text: str, aliases: Aliases) -> T_co:
        any_form = import_module("sdy.grammar.any_form")  # imported here, because Lark takes long
        return cast("T_co", any_form.read(self.rule, text, aliases))

    def parse(self, text: str, file: str = "<text>") -> T_co:
        """Return the value of `text`. Diagnostics refer to it as `file`. Raises: SdyError if it does not match the
        rule.
        """
        try:
            return self.read(text)
        except NotationError as error:
            raise SourceText(file, text).error(error) from None


MESH: Notation[Mesh] = Notation("mesh", common_forms.mesh)
MESH_AXIS: Notation[MeshAxis] = Notation("mesh_axis")
AXIS_REF: Notation[AxisRef] = Notation("axis_ref")
SUB_AXIS: Notation[SubAxis] = Notation("sub_axis")
AXIS_LIST: Notation[AxisList] = Notation("axis_list")
AXES_PER_DIM: Notation[AxesPerDim] = Notation("axes_per_dim")
MANUAL_AXES: Notation[tuple[str, ...]] = Notation("manual_axes")
DIM_SHARDING: Notation[DimSharding] = Notation("dim_sharding")
TENSOR_SHARDING: Notation[TensorSharding] = Notation("tensor_sharding", common_forms.tensor_sharding)
SHARDING_LIST: Notation[tuple[TensorSharding, ...]] = Notation("sharding_list")
SHARDING_PER_VALUE: Notation[tuple[TensorSharding, ...]] = Notation(
    "sharding_per_value", common_forms.sharding_per_value
)
OP_SHARDING_RULE: Notation[OpShardingRule] = Notation("op_sharding_rule")
TENSOR_MAPPING: Notation[TensorMapping] = Notation("tensor_mapping")
ALL_TO_ALL_PARAM: Notation[AllToAllParam] = Notation("all_to_all_param")
ALL_TO_ALL_PARAMS: Notation[tuple[AllToAllParam, ...]] = Notation("all_to_all_params")
PROPAGATION_EDGES: Notation[PropagationEdges] = Notation("propagation_edges")
PROPAGATION_STEP: Notation[PropagationStep] = Notation("propagation_step")
AXIS_FLOW: Notation[AxisFlow] = Notation("axis_flow")


def parse_mesh(text: str) -> Mesh:
    """Parse a mesh.

    >>> parse_mesh('<["x"=2, "y"=4]>').device_count
    8
    """
    require_type(text, str, "sdy.parse_mesh: text", """write <["x"=4, "y"=2]>""")
    return MESH.parse(text, "<mesh>")


def parse_axis_ref(text: str) -> AxisRef:
    """Parse an axis ref.

    >>> parse_axis_ref('"x":(1)2')
    AxisRef(name='x', sub_axis=SubAxis(pre_size=1, size=2))
    """
    return AXIS_REF.parse(text, "<axis>")


def parse_sharding(text: str) -> TensorSharding:
    """Parse a tensor sharding.

    >>> parse_sharding('<@mesh, [{"x"}, {?}]>').dims[1].is_closed
    False
    """
    require_type(text, str, "sdy.parse_sharding: text", """write <@mesh, [{"x"}, {}]>""")
    return TENSOR_SHARDING.parse(text, "<sharding>")


def parse_rule(text: str) -> OpShardingRule:
    """Parse a sharding rule.

    >>> parse_rule("<([i, k], [k, j])->([i, j]) {i=2, j=4, k=8} reduction={k}>").reduction
    (2,)
    """
    return OP_SHARDING_RULE.parse(text, "<rule>")
