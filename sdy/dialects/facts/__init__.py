"""Facts about ops that hold in every stage, as traits of their classes: what an op does with elements and operands."""
