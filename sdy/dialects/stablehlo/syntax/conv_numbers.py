"""The dimension numbers of convolutions: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from sdy.dialects.stablehlo.attributes.attrs import DimNumbers, parse_int, parse_ints

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
