"""The structured attributes of StableHLO ops: named tuples, each wrapped by an xDSL attribute.

Most are printed as a list of fields, `#stablehlo.dot<lhs_batching_dimensions = [0], ...>`, which is derived from the
names, defaults and types of the fields.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, TypeVar, cast

from xdsl.ir import Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.dialects.constants.float_formats import FLOAT_FORMATS, bits_of, float_text
from sdy.dialects.stablehlo.attributes.enums import ResultAccuracyMode

DimNumbers = tuple[int, ...]
StructT = TypeVar("StructT")


class StructAttr(Data[StructT]):
    """An attribute with the syntax `<field = value, ...>`, in any order; omitted fields have their default.

    Every field of the named tuple `VALUE` is an int or a tuple of ints.
    """

    VALUE: ClassVar[type[NamedTuple]]
    PRINTS_DEFAULTS: ClassVar[bool] = False

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> StructT:
        names = cls.VALUE._fields
        values: dict[str, int | DimNumbers] = {}

        def parse_field() -> None:
            position = parser.pos
            name = parser.parse_keyword_in(names, f" in {cls.name}")
            if name in values:
                parser.raise_error(f"duplicate field {name} in {cls.name}", position, position + len(name))
            parser.parse_punctuation("=")
            values[name] = parse_int_or_ints(parser, is_list=isinstance(cls.default_of(name), tuple))

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field)
        return cast(StructT, cls.VALUE._make(values.get(name, cls.default_of(name)) for name in names))

    @classmethod
    def default_of(cls, name: str) -> int | DimNumbers:
        return cast("int | DimNumbers", cls.VALUE._field_defaults[name])

    def print_parameter(self, printer: Printer) -> None:
        printed: list[str] = []
        for name in self.VALUE._fields:
            value: int | DimNumbers = getattr(self.data, name)
            if self.PRINTS_DEFAULTS or value != self.default_of(name):
                text = f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
                printed.append(f"{name} = {text}")
        printer.print_string(f"<{', '.join(printed)}>")


def parse_key(parser: AttrParser, name: str) -> None:
    """Parse `name =`, before a value."""
    parser.parse_keyword(name)
    parser.parse_punctuation("=")


def parse_int_or_ints(parser: AttrParser, is_list: bool) -> int | DimNumbers:
    """Parse an integer, or a list of integers in square brackets."""
    return parse_ints(parser) if is_list else parse_int(parser)


def parse_ints(parser: AttrParser) -> DimNumbers:
    """Parse a list of integers in square brackets."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_int(parser)))


def parse_int(parser: AttrParser) -> int:
    """Parse a 64-bit integer."""
    start = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if not -(2**63) <= value < 2**63:
        parser.raise_error(f"expected a 64-bit integer, got {value}", start, parser.pos)
    return value


class DotDimensionNumbers(NamedTuple):
    """The batching and contracting dims of both operands of `dot_general`, in corresponding order."""

    lhs_batching_dimensions: DimNumbers = ()
    rhs_batching_dimensions: DimNumbers = ()
    lhs_contracting_dimensions: DimNumbers = ()
    rhs_contracting_dimensions: DimNumbers = ()


class GatherDimensionNumbers(NamedTuple):
    """The roles of the dims of operand, indices and result of a `gather`."""

    offset_dims: DimNumbers = ()
    collapsed_slice_dims: DimNumbers = ()
    operand_batching_dims: DimNumbers = ()
    start_indices_batching_dims: DimNumbers = ()
    start_index_map: DimNumbers = ()
    index_vector_dim: int = 0


class ScatterDimensionNumbers(NamedTuple):
    """The roles of the dims of input, indices and updates of a `scatter`."""

    update_window_dims: DimNumbers = ()
    inserted_window_dims: DimNumbers = ()
    input_batching_dims: DimNumbers = ()
    scatter_indices_batching_dims: DimNumbers = ()
    scatter_dims_to_operand_dims: DimNumbers = ()
    index_vector_dim: int = 0


class ChannelHandle(NamedTuple):
    """The channel of a communication: a number, and a type: 1 is device to device, 2 and 3 are host transfers."""

    handle: int = 0
    type: int = 0


@irdl_attr_definition
class DotDimensionNumbersAttr(StructAttr[DotDimensionNumbers]):
    """`#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>`."""

    name = "stablehlo.dot"
    VALUE = DotDimensionNumbers


@irdl_attr_definition
class GatherDimensionNumbersAttr(StructAttr[GatherDimensionNumbers]):
    """`#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], ...>`."""

    name = "stablehlo.gather"
    VALUE = GatherDimensionNumbers


@irdl_attr_definition
class ScatterDimensionNumbersAttr(StructAttr[ScatterDimensionNumbers]):
    """`#stablehlo.scatter<update_window_dims = [1], ...>`."""

    name = "stablehlo.scatter"
    VALUE = ScatterDimensionNumbers


@irdl_attr_definition
class ChannelHandleAttr(StructAttr[ChannelHandle]):
    """`#stablehlo.channel_handle<handle = 1, type = 0>`."""

    name = "stablehlo.channel_handle"
    VALUE = ChannelHandle
    PRINTS_DEFAULTS = True


def has_channel(collective: Operation) -> bool:
    """Return whether a collective has a channel, so that it may cross partitions."""
    channel = collective.properties.get("channel_handle")
    return isinstance(channel, ChannelHandleAttr) and channel.data.handle > 0


class ResultAccuracy(NamedTuple):
    """The tolerated error of a result: absolute, relative, and in units in the last place."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0
    mode: ResultAccuracyMode = ResultAccuracyMode.DEFAULT


@irdl_attr_definition
class ResultAccuracyModeAttr(Data[ResultAccuracyMode]):
    """`#stablehlo.result_accuracy_mode<HIGHEST>`."""

    name = "stablehlo.result_accuracy_mode"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ResultAccuracyMode:
        with parser.in_angle_brackets():
            return ResultAccuracyMode(parser.parse_keyword_in([mode.value for mode in ResultAccuracyMode]))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")


@irdl_attr_definition
class ResultAccuracyAttr(Data[ResultAccuracy]):
    """`#stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>`."""

    name = "stablehlo.result_accuracy"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ResultAccuracy:
        tolerances = {"atol": 0.0, "rtol": 0.0}
        ulps = 0
        with parser.in_angle_brackets():
            for name in tolerances:
                if parser.parse_optional_keyword(name) is not None:
                    parser.parse_punctuation("=")
                    tolerances[name] = float(parser.parse_number())
                    parser.parse_punctuation(",")
            if parser.parse_optional_keyword("ulps") is not None:
                parser.parse_punctuation("=")
                ulps = parser.parse_integer(allow_boolean=False)
                parser.parse_punctuation(",")
            parse_key(parser, "mode")
            position = parser.pos
            mode = parser.parse_attribute()
            if not isinstance(mode, ResultAccuracyModeAttr):
                parser.raise_error("expected #stablehlo.result_accuracy_mode<...>", position, parser.pos)
        return ResultAccuracy(tolerances["atol"], tolerances["rtol"], ulps, mode.data)

    def print_parameter(self, printer: Printer) -> None:
        accuracy = self.data
        printed = [
            f"{name} = {float_text(bits_of(value, FLOAT_FORMATS['f64']), FLOAT_FORMATS['f64'])}, "
            for name, value in (("atol", accuracy.atol), ("rtol", accuracy.rtol))
            if value
        ]
        if accuracy.ulps:
            printed.append(f"ulps = {accuracy.ulps}, ")
        printer.print_string(f"<{''.join(printed)}mode = ")
        printer.print_attribute(ResultAccuracyModeAttr(accuracy.mode))
        printer.print_string(">")


DEFAULT_ACCURACY = ResultAccuracyAttr(ResultAccuracy())


class OutputOperandAlias(NamedTuple):
    """An alias of a custom call: a result, or an element of a tuple result, shares memory with an operand."""

    output_tuple_indices: DimNumbers = ()
    operand_index: int = 0
    operand_tuple_indices: DimNumbers = ()


@irdl_attr_definition
class OutputOperandAliasAttr(StructAttr[OutputOperandAlias]):
    """`#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>`."""

    name = "stablehlo.output_operand_alias"
    VALUE = OutputOperandAlias
    PRINTS_DEFAULTS = True
