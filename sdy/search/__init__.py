"""Search for the shardings with which a program takes the least time, sends the fewest bytes or needs the least memory.

Imports `sdy.passes` and packages below.
"""
