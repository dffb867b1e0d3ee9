"""Table-level rules: the risk of many or few of them, and the search for the best."""
