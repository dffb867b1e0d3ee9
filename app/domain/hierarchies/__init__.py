"""Value generalisation hierarchies: what they are, and how they are made."""
