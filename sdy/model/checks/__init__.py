"""Checks of model values that need more than the value itself: a mesh, a shape, or an operand's sharding."""
