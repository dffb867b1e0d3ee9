"""Finding the best disclosure rule: problems and exact solvers (Definitions: optimisation problems)."""
