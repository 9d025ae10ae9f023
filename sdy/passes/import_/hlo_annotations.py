"""Readers of the annotations that XLA writes beside StableHLO: HLO shardings, and Shardy's attributes as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.grammar.errors import NotationError
from sdy.grammar.hlo_text import read_hlo_sharding
from sdy.model.devices.hlo_sharding import HloSharding

HLO_SHARDING = "mhlo.sharding"
FRONTEND = "mhlo.frontend_attributes"
SHARDY = "xla.sdy."  # begins the names of frontend attributes that hold an attribute of `sdy` as text
_METADATA = re.compile(r"\s+metadata=\{(?:[^{}]|\{[^{}]*\})*\}")
_SHARD_GROUP = re.compile(r"\s+shard_as (\d+)")
_ELEMENT = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")

Attributes = Mapping[str, Attribute]


def hlo_shardings(attributes: Attributes) -> tuple[HloSharding, ...]:
    """Return the HLO sharding among some attributes, one per element of a tuple; nothing if there is none.

    A malformed one counts as none.
    """
    written = attributes.get(HLO_SHARDING)
    return _read_shardings(written.data) if isinstance(written, StringAttr) else ()


@cache
def _read_shardings(text: str) -> tuple[HloSharding, ...]:
    text = _METADATA.sub("", text.strip())
    elements = _ELEMENT.findall(text[1:-1]) if re.match(r"\{\s*\{", text) else [text]
    try:
        return tuple(map(read_hlo_sharding, elements))
    except NotationError:
        return ()


def without_shard_group(attributes: Attributes) -> tuple[Attributes, int | None]:
    """Return the attributes with an HLO sharding without its `shard_as N`, and the number of this group, if it has one.

    All tensors of the group are sharded alike.
    """
    written = attributes.get(HLO_SHARDING)
    match = _SHARD_GROUP.search(written.data) if isinstance(written, StringAttr) else None
    if match is None:
        return attributes, None
    return {**attributes, HLO_SHARDING: StringAttr(_SHARD_GROUP.sub("", match.string))}, int(match[1])


def shardy_attribute(attributes: Attributes, name: str) -> Attribute | None:
    """Return the attribute of `sdy` that a frontend attribute holds as text: `xla.sdy.sharding` for `sharding`.

    If that is malformed, return the text.
    """
    frontend = attributes.get(FRONTEND)
    written = frontend.data.get(f"{SHARDY}{name}") if isinstance(frontend, DictionaryAttr) else None
    return _read_attribute(written) if isinstance(written, StringAttr) else None


@cache
def _read_attribute(written: StringAttr) -> Attribute:
    try:
        module = parse_module(f"module attributes {{sdy.text = {written.data}}} {{}}")
    except SdyError:
        return written
    return module.attributes["sdy.text"]


def without_annotations(attributes: Attributes, *read: str) -> dict[str, Attribute]:
    """Return the attributes without the HLO sharding, and without the frontend attributes that were read."""
    rest = {name: attribute for name, attribute in attributes.items() if name != HLO_SHARDING}
    frontend = rest.get(FRONTEND)
    if isinstance(frontend, DictionaryAttr):
        kept = {name: each for name, each in frontend.data.items() if name not in {f"{SHARDY}{key}" for key in read}}
        rest[FRONTEND] = DictionaryAttr(kept)
        if not kept:
            del rest[FRONTEND]
    return rest
