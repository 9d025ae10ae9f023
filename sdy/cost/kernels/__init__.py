"""The kernels that a compiler makes of the ops of a program, and what each op adds to their work."""
