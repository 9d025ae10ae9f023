"""Modules in Python: parse, build, verify and print them, read and write the shardings of their values.

The names are listed in __init__.pyi: functions, and the ops of the dialect `sdy`. Those of StableHLO are in
`sdy.ir.stablehlo`. docs/embedding.md shows how to use them.
"""

from __future__ import annotations

from sdy.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
