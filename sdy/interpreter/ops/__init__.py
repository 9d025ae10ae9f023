"""Kernels, one file per family of ops."""
