"""Checks of model values that need more than the value itself, such as a mesh, a shape or an operand's sharding."""
