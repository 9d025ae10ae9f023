"""Padding of uneven dims by Shardy's rules, for `sdy-pad-for-divisibility`."""
