"""Choose the shardings of a program: search plans, and apply tactics."""
