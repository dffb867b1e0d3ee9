"""Records grouped by what is disclosed of their quasi-identifiers, and what the groups tell of a value."""
