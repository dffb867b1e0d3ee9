"""How many dictionary entities are consistent with a disclosed record: the question asked most often."""
