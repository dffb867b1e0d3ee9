"""Ways to make a release other than applying a rule, and what they promise."""
