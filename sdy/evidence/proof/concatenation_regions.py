"""Windows of a value as windows of the concatenations in which the global program puts it together with others."""

from __future__ import annotations

from collections.abc import Iterator

from sdy.evidence.proof.concatenation_layouts import Layout, Region, layout_of, unsliced
from sdy.evidence.proof.offsets import Offset, is_inside, plus
from sdy.evidence.proof.relations import FREE, Digit, View, dim_of, is_plain, tidy
from sdy.evidence.proof.terms import TermTable

CONCATENATE = "stablehlo.concatenate"


def in_concatenations(view: View, table: TermTable, except_along: int = FREE) -> Iterator[View]:
    """Yield the window as one of each concatenation in the global program that has it, along all local dims but one."""
    if view.outside is not None or not is_plain(view):
        return
    rooted = unsliced(view)
    terms = dict.fromkeys(each.term for term in (view.term, rooted.term) for each in table.derived(term))
    for term in terms:
        if term.op == CONCATENATE:
            layouts = (layout_of(term, dim, len(view.dims)) for dim in range(len(view.dims)) if dim != except_along)
            for layout in layouts:
                for region in () if layout is None else layout.regions:
                    found = None if layout is None else _in_region(rooted, layout, region)
                    if found is not None:
                        yield found


def _in_region(view: View, layout: Layout, region: Region) -> View | None:
    """Return a window as one of the term of a layout; None if not all of it is in a region of the term."""
    content, base, dims = region.content, list[Offset](), list(view.dims)
    if content.term is not view.term:
        return None
    used: set[int] = set()
    for position, local in enumerate(layout.local_dims):
        number, is_joined = dim_of(view.dims[local]), position == layout.dim
        own = next(iter(content.dims[position]), None)
        if own is None or number == FREE or (own.dim, own.stride) != (number, 1):
            return None
        size = region.size if is_joined else layout.term.shape[position]
        extent = view.dims[local][0].size
        start = plus(view.base[number], content.base[number], -1)
        if not is_inside(start, extent, size):
            return None
        used.add(number)
        base.append(plus(start, region.start) if is_joined else start)
        dims[local] = (Digit(extent, position, 1),)
    rest = set(range(len(view.base))) - used
    is_same = all(view.base[each] == content.base[each] for each in rest)
    return View(layout.term, tuple(base), tidy(dims), None, view.partial) if is_same else None
