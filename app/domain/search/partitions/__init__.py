"""Classes of records made by partitioning the table: BUREL and median cuts, with nodes as cells."""
