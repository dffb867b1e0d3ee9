"""Single records on lattices that are too large to be enumerated, as chains of levels."""
