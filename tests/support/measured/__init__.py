"""Published measurements, priced by `sdy`: the programs of their rows, their predicted times and the table of errors.

`python -m support.measured FOLDER` prints the errors; `--write PAGE` writes docs/measured.md. A folder holds
`collectives.csv`, `rooflines.csv` and `steps.csv`, or some of them.
"""
