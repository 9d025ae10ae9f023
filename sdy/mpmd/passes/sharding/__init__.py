"""Passes around sharding propagation, which move shardings from attributes into the types of mesh tensors."""
