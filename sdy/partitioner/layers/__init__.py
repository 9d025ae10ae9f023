"""Find the repeated layers of a program."""
