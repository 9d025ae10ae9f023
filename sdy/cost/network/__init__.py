"""The time of collectives on the links of a machine."""
