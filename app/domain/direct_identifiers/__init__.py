"""What of a column names a person directly: recognised by pattern, by check digits and by lists of names."""
