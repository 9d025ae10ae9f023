"""From a program to the plan of a search, or to the program after tactics."""
