"""Tools for passes that rewrite a module: insertion and replacement, the order of ops, call graphs, unique names.

The lowest room of `sdy.passes`: it imports no pass.
"""
