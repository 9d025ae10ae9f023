"""Shardy's dialect `mpmd`: programs whose parts run on different groups of devices, and their passes.

The names for users are listed in __init__.pyi, and imported on first use: `sdy.mpmd.load(path)`.
"""

from __future__ import annotations

from sdy.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
