"""Choose other shardings inside the program where that sends fewer bytes."""
