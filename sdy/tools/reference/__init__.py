"""Generates the reference pages of the command line: arguments, exit codes, environment, and JSON documents."""
