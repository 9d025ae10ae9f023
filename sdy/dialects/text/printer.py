"""The printer of MLIR text, byte for byte as MLIR prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import StringIO

from xdsl.dialects.builtin import (
    UnregisteredOp,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.printer import Printer

from sdy.dialects.constants.dense import RESOURCE
from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.walk import ops_in
from sdy.dialects.text.attribute_printer import AttributePrinter
from sdy.dialects.text.debug_locations import LocationNames, ParsedLocations
from sdy.dialects.text.func_syntax import CUSTOM_SYNTAX, DEFAULT_DIALECTS
from sdy.dialects.text.ssa_names import name_values

_NAME_MARK = "\0"  # in place of the name of an operand


Offsets = dict[Operation | BlockArgument, int]  # in a text, of the name of each op and block argument that it lists


def print_operation(
    op: Operation,
    generic: bool = False,
    locations: ParsedLocations | None = None,
    offsets: Offsets | None = None,
    *,
    local_scope: bool = False,
) -> str:
    """Return the text of an op and all ops inside it, without a final newline. `generic` selects the generic form.

    The offsets of ops and block arguments in the text are added to `offsets`. With `local_scope`, `locations` are
    printed in full where they are used, without aliases.
    """
    stream = StringIO()
    printer = MlirPrinter(stream, op, generic)
    printer.offsets = offsets
    if locations is not None:
        return printer.with_locations(op, locations, is_local=local_scope)
    printer.print_op(op)
    text = stream.getvalue()
    if RESOURCE not in text:
        return text
    from sdy.dialects.text.text_parser import resource_section  # imported here, because few programs need it

    return f"{text}\n\n{resource_section(op)}".rstrip("\n")


class MlirPrinter(AttributePrinter):
    """A printer of `root` and the ops inside it."""

    def __init__(self, stream: StringIO, root: Operation, generic: bool = False) -> None:
        super().__init__(stream, generic)
        self.offsets: Offsets | None = None
        self._stream = stream
        self._names = name_values(root, unique=generic)
        self._default_dialects = ["builtin"]
        # The text of ops by what it depends on, with `%s` for the name of each operand; None if that is not all.
        # The ids of attributes are part of the keys; the attributes are kept alive so that no id is reused.
        self._op_texts: dict[tuple[type[Operation] | str | int, ...], tuple[str | None, tuple[Attribute, ...]]] = {}
        self._printed_values: list[SSAValue] | None = None  # since the text of an op is recorded
        self._locations: LocationNames | None = None

    def with_locations(self, root: Operation, parsed: ParsedLocations, *, is_local: bool = False) -> str:
        """Return the text of `root` with the locations of all ops and block arguments, and their aliases."""
        self._locations = names = LocationNames(parsed, self._attribute_text, is_local=is_local)
        self.print_op(root)  # collects the locations
        names.number()
        stream = StringIO()
        self._append = stream.write
        self._texts.clear()
        self._op_texts.clear()
        self.print_op(root)
        early, late = ("\n".join(names.definitions(is_early=is_early)) for is_early in (True, False))
        return f"{early}\n{stream.getvalue()}\n{late}".lstrip("\n")

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        super().print_block_argument(arg, print_type)
        self.print_argument_location(arg)

    def print_argument_location(self, argument: BlockArgument) -> None:
        if self._locations is not None:
            location = self._locations.parsed.of_argument(argument)
            self._locations.collect(location, is_early=True)
            self._append(f" loc({self._locations.text(location)})")

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._names[value]
        if self.offsets is not None and isinstance(value, BlockArgument):
            self.offsets.setdefault(value, self._stream.tell())  # it is first printed where it is defined
        if self._printed_values is None:
            self._append(f"%{name}")
        else:
            self._printed_values.append(value)
            self._append(_NAME_MARK)
        return name

    def print_op(self, op: Operation) -> None:
        if self._locations is None:
            self._print_op(op)
            return
        location = self._locations.parsed.of_op(op)
        self._locations.collect(location)
        self._print_op(op)
        self._append(f" loc({self._locations.name(location)})")

    def _print_op(self, op: Operation) -> None:
        if op.results:
            self._append(f"{self._names.results(op)} = ")
        if self.offsets is not None:
            self.offsets[op] = self._stream.tell()
        text = None if op.regions or op.successors else self._text_with_names(op)
        if text is None:
            self._print_after_results(op)
        else:
            self._append(text)

    def _text_with_names(self, op: Operation) -> str | None:
        """Return the text of an op without regions; None if it does not follow from that of a similar op.

        The text depends on the class, the types, the properties, the attributes and the names of the operands.
        """
        operands, properties, attributes = operands_of(op), op.properties, op.attributes
        parts = (*map(type_of, operands), *map(type_of, op.results), *properties.values(), *attributes.values())
        counts = (len(operands), len(op.results), len(properties))
        key = (type(op), self._default_dialects[-1], *counts, *properties, *attributes, *map(id, parts))
        known = self._op_texts.get(key)
        if known is None:
            known = self._op_texts[key] = self._text_without_names(op), parts
        return known[0] and known[0] % tuple([self._names[operand] for operand in operands])

    def _text_without_names(self, op: Operation) -> str | None:
        """Return the text of an op with `%s` in place of names; None if it has several lines or names other values."""
        parts: list[str] = []
        outer, self._append, self._printed_values = self._append, parts.append, []
        self._print_after_results(op)
        printed, self._append, self._printed_values = self._printed_values, outer, None
        text = "".join(parts)
        if printed != list(operands_of(op)) or text.count(_NAME_MARK) != len(printed) or "\n" in text:
            return None
        return text.replace("%", "%%").replace(_NAME_MARK, "%%%s")

    def _print_after_results(self, op: Operation) -> None:
        custom = None if self.print_generic_format else _custom_print(op)
        if custom is None:
            self._append(f'"{op_name(op)}"')
            self._print_generic(op)
            return
        default = self._default_dialects[-1]
        name = op.name.removeprefix(f"{default}.") if op.name.count(".") == 1 else op.name
        self._append(name)
        self._default_dialects.append(DEFAULT_DIALECTS.get(type(op), ""))
        custom(op, self)
        self._default_dialects.pop()

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        self._append("{")
        for index, block in enumerate(region.blocks):
            is_labelled = bool(index or (block.args and print_entry_block_args))
            is_labelled |= bool(print_empty_block and not index and not block.args and block.is_empty)
            self._print_block(block, index, is_labelled, print_block_terminators)
        self.print_string("\n}")

    def _print_block(self, block: Block, index: int, is_labelled: bool, print_terminator: bool) -> None:
        if is_labelled:
            self.print_string(f"\n^bb{index}")
            if block.args:
                with self.in_parens():
                    self.print_list(block.args, self.print_block_argument)
            self._append(":")
        self._depth += 1
        line_break = "\n" + "  " * self._depth
        for op in ops_in(block):
            if print_terminator or op is not block.last_op:
                self._append(line_break)
                self.print_op(op)
        self._depth -= 1

    def print_block_name(self, block: Block) -> str:
        region = block.parent
        index = region.get_block_index(block) if region is not None else 0
        self._append(f"^bb{index}")
        return f"bb{index}"

    def _print_generic(self, op: Operation) -> None:
        self.print_operands(op.operands)
        if op.successors:
            with self.in_square_brackets():
                self.print_list(op.successors, self.print_block_name)
        if op.properties:
            self._append(" <")
            self.print_attr_dict(op.properties)
            self._append(">")
        self._default_dialects.append("")
        self.print_regions(op.regions)
        self._default_dialects.pop()
        self.print_op_attributes(_discardable(op))
        self._append(" : ")
        self.print_operation_type(op)


def op_name(op: Operation) -> str:
    """Return the name of an op; that of an unregistered op is stored in an attribute."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def _discardable(op: Operation) -> Mapping[str, Attribute]:
    if not isinstance(op, UnregisteredOp):
        return op.attributes
    return {name: attribute for name, attribute in op.attributes.items() if name != "op_name__"}


def _custom_print(op: Operation) -> Callable[[Operation, Printer], None] | None:
    """Return the printer of the op's custom syntax, or None if it has none."""
    custom = CUSTOM_SYNTAX.get(type(op))
    if custom is not None:
        return custom.print
    return None if type(op).print is Operation.print else type(op).print
