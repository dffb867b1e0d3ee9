"""Finding the best disclosure rule: the problems of section 11 and the exact solvers of section 12."""
