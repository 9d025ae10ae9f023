"""Everything for dialects, sharding rules, kernels, passes and propagation strategies of your own.

The names are listed in extend.pyi; docs/extending.md and docs/propagation.md show how to use them.
"""

from __future__ import annotations

from sdy.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
