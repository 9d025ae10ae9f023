"""What we say to people whose input is wrong, and where. Imports the standard library alone."""
