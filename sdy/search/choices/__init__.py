"""The places that a search may give the axes of a mesh: all or a few, and those that annotations fix."""
