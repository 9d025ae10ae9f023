"""The former place of `Elementwise`: import it from `sdy.dialects.facts.traits`. Goes with the next release."""

from sdy.dialects.facts.traits import Elementwise

__all__ = ["Elementwise"]
