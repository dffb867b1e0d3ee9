"""What the catalogues say: what can be chosen, what fields of questions are, what numbers of results mean."""
