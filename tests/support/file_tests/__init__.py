"""File tests: `.mlir` files whose RUN lines call our tools and whose CHECK lines match their output."""
