"""Draw programs of one StableHLO op each, on random constants, from a seed."""
