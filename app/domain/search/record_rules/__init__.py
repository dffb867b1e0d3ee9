"""Record-level rules: counts and lattices of distinct records, alone or coupled by a mean."""
