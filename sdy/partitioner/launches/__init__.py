"""Which collectives are launched together, and where. Knows no IR: ops are numbers."""
