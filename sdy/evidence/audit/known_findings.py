"""Findings of audits about the rules of StableHLO and CHLO, and the reasons why the rules are so all the same."""

from __future__ import annotations

_PROPAGATION = "Only propagation uses this rule; the partitioner has a form of its own, which is right."
# Rules with a factor that is not sound on some programs.
UNSOUND = {
    "chlo.top_k": f"As in Shardy, the last dim passes through if all of its elements are kept. {_PROPAGATION}",
    "stablehlo.convolution": (
        "As in Shardy, the larger factor of a spatial dim is the major one. If windows do not overlap and are longer "
        f"than their number, it is the position in a window, though the window is major. {_PROPAGATION}"
    ),
}

_WINDOWS = "As in Shardy, which lets devices exchange elements. Windows within a slice need no exchange."
_LOOKUPS = "As in Shardy, which gathers the operand. Adding what the slices give sends less if the window is smaller."
# Rules that could tie further dims on some programs.
INCOMPLETE = {
    "stablehlo.bitcast_convert": "As in Shardy. The parts of an integer could be converted apart, and added.",
    "stablehlo.convolution": _WINDOWS,
    "stablehlo.dynamic_slice": _LOOKUPS,
    "stablehlo.dynamic_update_slice": "As in Shardy. An update at a constant position may coincide with slices.",
    "stablehlo.fft": "As in Shardy. A transform is the sum of those of slices, and half of a real one is small.",
    "stablehlo.gather": _LOOKUPS,
    "stablehlo.pad": "As in Shardy, which lets devices exchange elements. Some amounts change each slice alike.",
    "stablehlo.reduce_window": _WINDOWS,
    "stablehlo.rng_bit_generator": "As in Shardy. The state has two elements, a key and a counter: nothing to gain.",
    "stablehlo.scatter": "As in Shardy. A device could write the part of a window that is in its slice.",
    "stablehlo.select_and_scatter": f"{_WINDOWS} The partitioner shards windows that do not overlap.",
    "stablehlo.slice": "As in Shardy, which lets devices exchange elements. Some strides divide the slices.",
    "stablehlo.triangular_solve": "As in Shardy. The partitioner shards the columns of the right side.",
}
