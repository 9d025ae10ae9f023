"""Kernels, one file a family of ops."""
