"""Gates: what the criteria of a policy amount to for one release, from found values to a verdict."""
