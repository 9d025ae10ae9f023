"""From a program on global shapes to the program of one device."""
