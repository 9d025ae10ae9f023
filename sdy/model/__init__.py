"""Meshes, axes, shardings, factors and sharding rules as plain values.

Everything here is a frozen dataclass of tuples, hashed once and compared by content, or a pure function on such values.
The package imports only the standard library and `sdy.diagnostics`; it knows no IR, no grammar and no arrays.
"""
