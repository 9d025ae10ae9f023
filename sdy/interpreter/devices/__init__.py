"""The grid of simulated devices, what each of them holds, and which of them communicate."""
