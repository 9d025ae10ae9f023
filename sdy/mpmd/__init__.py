"""Shardy's dialect `mpmd`: programs whose parts run on different groups of devices, and their passes."""
