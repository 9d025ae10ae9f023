"""Resource constants: `dense_resource<name> : type`, with bytes in a section at the end of the file.

The section `{-# ... #-}` comes after its uses, so all text is searched for it when the first constant refers to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Operation

from sdy.dialects.constants.dense import DenseElements, DenseElementsAttr, DenseResource
from sdy.dialects.ir.walk import op_and_nested_ops

_SECTION = re.compile(r"\{-#(.*)#-\}", re.DOTALL)
_BLOBS = re.compile(r"\bbuiltin\s*:\s*\{([^{}]*)\}")
_BLOB = re.compile(r'(?P<name>"[^"\n]*"|[\w$.-]+)\s*:\s*"0x(?P<digits>[0-9A-Fa-f]*)"')
ALIGNMENT_BYTES = 4


def parse_blobs(text: str) -> dict[str, tuple[DenseResource, bytes]]:
    """Return the blobs of a text by name: alignment and bytes."""
    section = _SECTION.search(text)
    blobs_text = None if section is None else _BLOBS.search(section[1])
    blobs: dict[str, tuple[DenseResource, bytes]] = {}
    for entry in _BLOB.finditer(blobs_text[1] if blobs_text is not None else ""):
        name = entry["name"].strip('"')
        raw = bytes.fromhex(entry["digits"]) if len(entry["digits"]) % 2 == 0 else b""
        if len(raw) >= ALIGNMENT_BYTES:
            alignment = int.from_bytes(raw[:ALIGNMENT_BYTES], "little")
            blobs[name] = DenseResource(name, alignment), raw[ALIGNMENT_BYTES:]
    return blobs


def resource_section(root: Operation) -> str:
    """Return the text of the section with the blobs of the constants inside `root`, in order of first use."""
    blobs: dict[str, tuple[str, str]] = {}
    for op in op_and_nested_ops(root):
        for constant in _constants_in((*op.properties.values(), *op.attributes.values())):
            resource = constant.data.resource
            if resource is not None:
                blobs[resource.name] = resource.key, _blob_text(constant.data, resource)
    lines = ",\n".join(f"      {key}: {digits}" for key, digits in blobs.values())
    return f"{{-#\n  dialect_resources: {{\n    builtin: {{\n{lines}\n    }}\n  }}\n#-}}"


def _constants_in(attributes: Iterable[Attribute]) -> Iterator[DenseElementsAttr]:
    for attribute in attributes:
        if isinstance(attribute, DenseElementsAttr):
            yield attribute
        elif isinstance(attribute, ArrayAttr):
            yield from _constants_in(cast("ArrayAttr[Attribute]", attribute))
        elif isinstance(attribute, DictionaryAttr):
            yield from _constants_in(attribute.data.values())


def _blob_text(elements: DenseElements, resource: DenseResource) -> str:
    raw = elements.raw * elements.count if elements.is_splat else elements.raw
    return f'"0x{(resource.alignment.to_bytes(ALIGNMENT_BYTES, "little") + raw).hex().upper()}"'
