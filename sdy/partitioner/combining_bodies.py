"""Which ops a region combines its arguments by: for each result one op on the two arguments for it, or not."""

from __future__ import annotations

from xdsl.ir import Operation, Region, SSAValue


def combiners_of(body: Region) -> tuple[type[Operation], ...] | None:
    """The class of the op behind each returned value; None where one is no binary op on its two arguments alone.

    The arguments are the values so far, one per result, then the new ones.
    """
    terminator = body.block.last_op
    arguments = tuple(body.block.args)
    if terminator is None or 2 * len(terminator.operands) != len(arguments):
        return None
    found: list[type[Operation]] = []
    for index, returned in enumerate(terminator.operands):
        pair = (arguments[index], arguments[index + len(terminator.operands)])
        combiner = _combiner_of(returned, pair)
        if combiner is None:
            return None
        found.append(combiner)
    return tuple(found)


def _combiner_of(returned: SSAValue, arguments: tuple[SSAValue, SSAValue]) -> type[Operation] | None:
    op = returned.owner
    if not isinstance(op, Operation) or len(op.operands) != 2 or set(op.operands) != set(arguments):
        return None
    return type(op)
