"""The machines that programs can be costed on: the table of known ones, and files that describe others."""
