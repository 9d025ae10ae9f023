"""The values that everything else is about: meshes, axes, shardings, factors, sharding rules.

Pure data and pure algorithms: frozen dataclasses of tuples, hashed once, equal by content. Imports the
standard library and `sdy.diagnostics`, and knows no IR, no grammar and no arrays.
"""
