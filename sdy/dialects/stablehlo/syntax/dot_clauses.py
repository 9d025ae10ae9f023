"""Clauses of contractions and convolutions: dimension numbers, precision, algorithm."""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from sdy.dialects.stablehlo.attributes.attrs import (
    DimNumbers,
    DotDimensionNumbers,
    DotDimensionNumbersAttr,
    parse_int,
    parse_ints,
    parse_key,
)
from sdy.dialects.stablehlo.attributes.enums import EnumDataAttr, Precision, PrecisionAttr
from sdy.dialects.stablehlo.syntax.clauses import Clause, KeywordClause, PropertyDict

DimTag = str | int  # a letter for a batch or feature dim, a number for a spatial dim


class ConvDimensionNumbers(NamedTuple):
    """The batch, feature and spatial dims of input, kernel and output; spatial dims in corresponding order."""

    input_batch_dimension: int
    input_feature_dimension: int
    input_spatial_dimensions: DimNumbers
    kernel_input_feature_dimension: int
    kernel_output_feature_dimension: int
    kernel_spatial_dimensions: DimNumbers
    output_batch_dimension: int
    output_feature_dimension: int
    output_spatial_dimensions: DimNumbers

    def __str__(self) -> str:
        data = _tags_text(self.input_spatial_dimensions, b=self.input_batch_dimension, f=self.input_feature_dimension)
        kernel = _tags_text(
            self.kernel_spatial_dimensions,
            i=self.kernel_input_feature_dimension,
            o=self.kernel_output_feature_dimension,
        )
        output = _tags_text(
            self.output_spatial_dimensions, b=self.output_batch_dimension, f=self.output_feature_dimension
        )
        return f"{data}x{kernel}->{output}"


@irdl_attr_definition
class ConvDimensionNumbersAttr(Data[ConvDimensionNumbers]):
    """`#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`."""

    name = "stablehlo.conv"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ConvDimensionNumbers:
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("raw") is not None:
                return _parse_raw(parser)
            return parse_conv_numbers(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


def parse_conv_numbers(parser: AttrParser) -> ConvDimensionNumbers:
    """Parse `[b, 0, f]x[0, i, o]->[b, 0, f]`.

    Raises: ParseError if a letter or a number is missing or repeated.
    """
    data, data_dims = _parse_tags(parser, "bf")
    parser.parse_keyword("x")
    kernel, kernel_dims = _parse_tags(parser, "io")
    parser.parse_punctuation("->")
    output, output_dims = _parse_tags(parser, "bf")
    return ConvDimensionNumbers(
        *(data["b"], data["f"], data_dims),
        *(kernel["i"], kernel["o"], kernel_dims),
        *(output["b"], output["f"], output_dims),
    )


def _parse_tags(parser: AttrParser, letters: str) -> tuple[dict[str, int], DimNumbers]:
    """Parse the dims of one tensor; return the dims of both letters, and the spatial dims in order."""
    start = parser.pos
    tags = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_tag(parser, letters))
    spatial = range(len(tags) - len(letters))
    if {*tags} != {*letters, *spatial}:
        expected = ", ".join([*letters, *map(str, spatial)])
        parser.raise_error(f"expected each of {expected} exactly once", start, parser.pos)
    return {letter: tags.index(letter) for letter in letters}, tuple(tags.index(index) for index in spatial)


def _parse_tag(parser: AttrParser, letters: str) -> DimTag:
    index = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    return parser.parse_keyword_in(tuple(letters)) if index is None else index


def _parse_raw(parser: AttrParser) -> ConvDimensionNumbers:
    """Parse `input_batch_dimension = 0, ...`: all fields by name, in any order."""
    lists = {name for name in ConvDimensionNumbers._fields if name.endswith("dimensions")}
    values: dict[str, int | DimNumbers] = {}

    def parse_field() -> None:
        name = parser.parse_keyword_in(ConvDimensionNumbers._fields)
        parser.parse_punctuation("=")
        values[name] = parse_ints(parser) if name in lists else parse_int(parser)

    start = parser.pos
    parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_field)
    missing = [name for name in ConvDimensionNumbers._fields if name not in values]
    if missing:
        parser.raise_error(f"missing fields {', '.join(missing)}", start, parser.pos)
    return ConvDimensionNumbers(**values)  # pyright: ignore[reportArgumentType] -- parse_field reads each field's type


def _tags_text(spatial: DimNumbers, **letters: int) -> str:
    tags: dict[int, DimTag] = {dim: letter for letter, dim in letters.items()}
    tags |= {dim: index for index, dim in enumerate(spatial)}
    return f"[{', '.join(str(tags.get(dim, '?')) for dim in range(len(tags)))}]"


class DotAlgorithm(NamedTuple):
    """The number formats of a dot product, and the decomposition of its operands into components."""

    lhs_precision_type: Attribute
    rhs_precision_type: Attribute
    accumulation_type: Attribute
    lhs_component_count: int
    rhs_component_count: int
    num_primitive_operations: int
    allow_imprecise_accumulation: bool


@irdl_attr_definition
class DotAlgorithmAttr(Data[DotAlgorithm]):
    """`#stablehlo.dot_algorithm<lhs_precision_type = bf16, ...>`."""

    name = "stablehlo.dot_algorithm"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DotAlgorithm:
        def parse_field(name: str, is_last: bool) -> Attribute | int:
            parse_key(parser, name)
            value: Attribute | int
            if name.endswith("_type"):
                value = parser.parse_type()
            elif name.startswith("allow"):
                value = parser.parse_boolean()
            else:
                value = parse_int(parser)
            if not is_last:
                parser.parse_punctuation(",")
            return value

        names = DotAlgorithm._fields
        with parser.in_angle_brackets():
            values = [parse_field(name, name is names[-1]) for name in names]
        return DotAlgorithm(*values)  # pyright: ignore[reportArgumentType] -- parse_field reads each field's own type

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.text())

    def text(self) -> str:
        """Return the attribute without its name."""
        printed: list[str] = []
        for name in DotAlgorithm._fields:
            value: Attribute | int = getattr(self.data, name)
            text = str(value).lower() if isinstance(value, bool) else str(value)
            printed.append(f"{name} = {text}")
        return f"<{', '.join(printed)}>"


class DotDimsClause(Clause):
    """`batching_dims = [0] x [0], contracting_dims = [2] x [1]`; the first part may be omitted."""

    properties = ("dot_dimension_numbers",)
    start = "contracting_dims ="

    def parse(self, parser: Parser, into: PropertyDict) -> bool:
        batching: tuple[DimNumbers, DimNumbers] = ((), ())
        if parser.parse_optional_keyword("batching_dims") is not None:
            batching = _parse_pair(parser)
            parser.parse_punctuation(",")
        parser.parse_keyword("contracting_dims")
        contracting = _parse_pair(parser)
        into["dot_dimension_numbers"] = DotDimensionNumbersAttr(DotDimensionNumbers(*batching, *contracting))
        return True

    def text(self, op: Operation) -> str:
        numbers = cast(DotDimensionNumbersAttr, op.properties["dot_dimension_numbers"]).data
        contracting = _pair_text(numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)
        text = f"contracting_dims = {contracting}"
        if numbers.lhs_batching_dimensions or numbers.rhs_batching_dimensions:
            batching = _pair_text(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions)
            text = f"batching_dims = {batching}, {text}"
        return text


class PrecisionClause(KeywordClause):
    """`precision = [HIGH, DEFAULT]`: one member per operand."""

    def __init__(self) -> None:
        super().__init__("precision", "precision_config", is_optional=True)

    def parse_value(self, parser: Parser) -> Attribute:
        square = parser.Delimiter.SQUARE
        return ArrayAttr(
            parser.parse_comma_separated_list(square, lambda: PrecisionAttr(PrecisionAttr.parse_parameter(parser)))
        )

    def value_text(self, value: Attribute) -> str:
        return f"[{', '.join(item.data.value for item in cast('ArrayAttr[EnumDataAttr[Precision]]', value))}]"


class DotAlgorithmClause(KeywordClause):
    """`algorithm = <lhs_precision_type = bf16, ...>`."""

    def __init__(self) -> None:
        super().__init__("algorithm", "algorithm", is_optional=True)

    def parse_value(self, parser: Parser) -> Attribute:
        return DotAlgorithmAttr(DotAlgorithmAttr.parse_parameter(parser))

    def value_text(self, value: Attribute) -> str:
        return cast(DotAlgorithmAttr, value).text()


def _parse_pair(parser: Parser) -> tuple[DimNumbers, DimNumbers]:
    parser.parse_punctuation("=")
    lhs = parse_ints(parser)
    parser.parse_keyword("x")
    return lhs, parse_ints(parser)


def _pair_text(lhs: DimNumbers, rhs: DimNumbers) -> str:
    return f"{list(lhs)} x {list(rhs)}"
