"""What the attacker can look up, and what its cells are taken to agree with."""
