"""A program of several meshes as it runs: on one device without names, and mesh by mesh with transfers between them."""
