"""Random programs of tests, ways to run and partition them, and Shardy itself to compare with."""
