"""The results of a sweep over meshes and machines, as a table and as an HTML page."""
