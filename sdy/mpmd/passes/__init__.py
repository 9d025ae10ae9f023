"""The passes on programs of several meshes: import, optimization, sharding propagation and export."""
