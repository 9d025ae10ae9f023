"""Programs of libraries on PyPI, built at small sizes from the code of the libraries, for tests/corpus."""
