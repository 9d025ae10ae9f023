"""Codes of text that does not parse."""

from __future__ import annotations

from sdy.diagnostics.code_tables import Code

PARSING: dict[str, Code] = {
    "SDY-P001": Code(
        "The text does not follow the MLIR syntax at this location.", "Write one of the tokens that the hint lists."
    ),
    "SDY-P002": Code(
        "The op is not registered, and unregistered dialects are not allowed.",
        "Check the op name, or pass -allow-unregistered-dialect.",
    ),
    "SDY-P003": Code(
        "The text uses a value, a block or an alias that it does not define.", "Define it, or correct the name."
    ),
    "SDY-P004": Code("The same name is defined twice.", "Rename one of the two definitions."),
    "SDY-P005": Code(
        "A value is used with a type other than the one it was defined with.", "Correct the type, or convert the value."
    ),
    "SDY-P006": Code(
        "The attribute or type is not registered, and unregistered dialects are not allowed.",
        "Check the name, or pass -allow-unregistered-dialect.",
    ),
    "SDY-P007": Code("Brackets or regions are nested too deeply.", "Reduce the nesting depth."),
    "SDY-P008": Code("The file is not valid UTF-8.", "Pass MLIR in text form; MLIR bytecode is not supported."),
    "SDY-P009": Code("The number of result names differs from the number of results.", "Write one name per result."),
    "SDY-P010": Code("The number of operands differs from the number of operand types.", "Write one type per operand."),
    "SDY-P011": Code(
        "The dialect sdy has no attribute of this name, so it is ignored.",
        "Correct the name, as the hint shows, or use the prefix of another dialect.",
    ),
    "SDY-P012": Code(
        "An attribute or a custom call looks like a sharding, but cannot be read or expressed, so it is ignored.",
        "Write its meaning with `sdy.mesh` and `sdy.sharding`, or remove it.",
    ),
    "SDY-P101": Code(
        "The sharding notation contains an unexpected token.", "Write one of the tokens that the hint lists."
    ),
    "SDY-P102": Code("The sharding notation ends too early.", "Add one of the tokens that the hint lists."),
    "SDY-P103": Code(
        "The token after a dim sharding is not a priority.",
        "Write `p` and a number without leading zeros, such as `p0` or `p12`.",
    ),
    "SDY-P104": Code(
        "An integer in the sharding notation does not fit in 64 bits.", "Write a number between -2^63 and 2^63 - 1."
    ),
    "SDY-P105": Code(
        "A sharding has two lists of replicated axes, or two lists of unreduced axes.", "Merge the two lists."
    ),
    "SDY-P106": Code(
        "A token of a sharding rule is not a sequence of factor symbols.",
        "Use the symbols `i` to `z`, then `z_1`, `z_2` and so on.",
    ),
    "SDY-P107": Code(
        "The factor sizes of a sharding rule do not name the factors in order.",
        "List every factor once, in the order `i`, `j`, `k` and so on.",
    ),
    "SDY-P108": Code(
        "An alias in the sharding notation is undefined, or refers to another kind of attribute.",
        "Define the alias before its first use, or write the attribute instead of the alias.",
    ),
    "SDY-P110": Code(
        "The body of a sharding attribute does not start as its kind requires.",
        "Write the body directly after the name of the attribute.",
    ),
    "SDY-P111": Code(
        "A sharding in HLO, PartitionSpec or subscript notation is malformed.", "See the hint of the message."
    ),
    "SDY-P112": Code(
        "The numbers of an HLO sharding are inconsistent.",
        "List every device once; the number of devices must equal the number of shards times the number of copies.",
    ),
}
